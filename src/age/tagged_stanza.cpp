// SPDX-License-Identifier: Apache-2.0
#include "age/tagged_stanza.hpp"

#include <array>

#include "age/wrap.hpp"
#include "crypto/ml_kem.hpp"
#include "crypto/p256.hpp"
#include "encoding/encodings.hpp"

namespace paes::age {

void check_tagged(const Stanza& stanza) {
  std::array<std::uint8_t, recipient_tag_bytes> tag;
  std::array<std::uint8_t, libcrypto::ml_kem_768_ciphertext_bytes + libcrypto::p256_point_bytes>
      encapsulation;
  const std::size_t ml_kem_bytes =
      stanza.type() == tagged_type ? 0 : libcrypto::ml_kem_768_ciphertext_bytes;
  WrappedFileKey wrapped;
  const auto arguments = stanza.split_arguments();
  if (arguments.size() != 3 || !base64::decode(arguments[1], tag) ||
      !base64::decode(
          arguments[2],
          MutableBytes(encapsulation).first(ml_kem_bytes + libcrypto::p256_point_bytes)) ||
      !stanza.decode_body(wrapped)) {
    throw corrupt("malformed " + std::string(stanza.type()) + " stanza");
  }
}

}  // namespace paes::age
