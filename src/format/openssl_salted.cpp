// SPDX-License-Identifier: Apache-2.0
#include "format/openssl_salted.hpp"

#include <algorithm>
#include <cassert>

#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::openssl_salted {

namespace {

constexpr std::string_view magic = "Salted__";
constexpr std::string_view magic_in_base64 = "U2FsdGVkX1";

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
                libcrypto::text_of(head).starts_with(magic_in_base64)
                    ? "it is such a file in Base 64: add -a"
                    : "it begins with Salted__, unless it was made with -nosalt, or by "
                      "OpenSSL 3 with -S, which leaves the salt out: put Salted__ and the salt's "
                      "8 bytes before it");
  }
  Salt salt;
  std::copy_n(head.begin() + magic.size(), salt_bytes, salt.begin());
  return salt;
}

const char* find_digest(const std::string& name) {
  std::string names;
  for (const char* const digest : digests) {
    if (name == digest) {
      return digest;
    }
    names += (names.empty() ? "there are: " : ", ") + std::string(digest);
  }
  throw Error(ErrorCode::usage, "digest: unknown name '" + name + "'", names);
}

SecretBytes derive(Bytes passphrase, const Salt& salt, const Derivation& derivation,
                   std::size_t key_and_iv_bytes, const WaitReady& wait) {
  assert(!derivation.iterations ||
         (*derivation.iterations >= 1 && *derivation.iterations <= max_iterations));
  return derive_apart(
      passphrase, salt, key_and_iv_bytes,
      [derivation](Bytes secret, Bytes salted, MutableBytes out) {
        if (derivation.iterations) {
          libcrypto::pbkdf2_hmac(derivation.digest, secret, salted, *derivation.iterations, out);
        } else {
          libcrypto::bytes_to_key(derivation.digest, secret, salted, out);
        }
      },
      wait);
}

}  // namespace paes::openssl_salted
