// SPDX-License-Identifier: Apache-2.0
#include "vault/content_cipher.hpp"

namespace paes::vault {

std::unique_ptr<ContentKey> make_content_key(ContentCipher cipher, Bytes key,
                                             const Kernel& kernel) {
  switch (cipher) {
#define PAES_CONTENT_CIPHER(name) \
  case ContentCipher::name:       \
    return make_##name(key, kernel);
#include "vault/content_ciphers.def"
#undef PAES_CONTENT_CIPHER
  }
  __builtin_unreachable();
}

}  // namespace paes::vault
