// SPDX-License-Identifier: Apache-2.0
#include "vault/content_cipher.hpp"

namespace paes::vault {

std::unique_ptr<ContentKey> make_content_key(ContentCipher cipher, Bytes key,
                                             const Kernel& kernel) {
  switch (cipher) {
    case ContentCipher::aes_256_gcm:
      return make_aes_256_gcm(key, kernel);
    case ContentCipher::xchacha20_poly1305:
      return make_xchacha20_poly1305(key, kernel);
    case ContentCipher::aes_siv:
      return make_aes_siv(key, kernel);
  }
  __builtin_unreachable();
}

}  // namespace paes::vault
