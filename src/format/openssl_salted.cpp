#include "format/openssl_salted.hpp"

#include <algorithm>
#include <cassert>

#include "format/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::openssl_salted {

namespace {

constexpr std::string_view magic = "Salted__";

}  // namespace

std::array<std::uint8_t, head_bytes> encode(const Salt& salt) {
  std::array<std::uint8_t, head_bytes> head;
  std::copy(magic.begin(), magic.end(), head.begin());
  std::copy(salt.begin(), salt.end(), head.begin() + magic.size());
  return head;
}

Salt parse(Bytes head) {
  if (head.size() < head_bytes || !std::equal(magic.begin(), magic.end(), head.begin())) {
    throw Error(ErrorCode::corrupt, "header: not a file of openssl enc with a salt",
                "it begins with Salted__, unless it was made with -nosalt or -a");
  }
  Salt salt;
  std::copy_n(head.begin() + magic.size(), salt_bytes, salt.begin());
  return salt;
}

SecretBytes derive(Bytes passphrase, const Salt& salt, std::uint32_t iterations,
                   std::size_t key_and_iv_bytes, const WaitReadable& wait) {
  assert(iterations >= 1 && iterations <= max_iterations);
  return derive_apart(
      passphrase, salt, key_and_iv_bytes,
      [iterations](Bytes secret, Bytes salted, MutableBytes out) {
        libcrypto::pbkdf2_hmac_sha256(secret, salted, iterations, out);
      },
      wait);
}

}  // namespace paes::openssl_salted
