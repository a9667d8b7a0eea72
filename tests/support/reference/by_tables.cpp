// SPDX-License-Identifier: Apache-2.0
// The reference of builds without libcrypto.
#include "reference/by_tables.hpp"

namespace paes::test {

std::vector<std::uint8_t> reference_crypt(const std::string& name, bool encrypt, Bytes key,
                                          Bytes iv, Bytes in) {
  return by_tables::crypt(name, encrypt, key, iv, in);
}

ReferenceStream reference_stream(const std::string& name, bool encrypt, Bytes key, Bytes iv) {
  return by_tables::stream(name, encrypt, key, iv);
}

Sealed reference_seal(Bytes key, Bytes iv, Bytes aad, Bytes plaintext) {
  return by_tables::seal(key, iv, aad, plaintext);
}

}  // namespace paes::test
