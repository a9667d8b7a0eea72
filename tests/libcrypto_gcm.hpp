// AES-GCM by libcrypto, called directly: what the kernels' bytes are compared with.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "core/bytes.hpp"

namespace paes::test {

struct Sealed {
  std::vector<std::uint8_t> ciphertext;
  std::vector<std::uint8_t> tag;  // all 16 bytes
};

inline const EVP_CIPHER* libcrypto_gcm(std::size_t key_bytes) {
  return key_bytes == 16   ? EVP_aes_128_gcm()
         : key_bytes == 24 ? EVP_aes_192_gcm()
                           : EVP_aes_256_gcm();
}

inline Sealed libcrypto_seal(Bytes key, Bytes iv, Bytes aad, Bytes plaintext) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
      EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Sealed sealed{std::vector<std::uint8_t>(plaintext.size()), std::vector<std::uint8_t>(16)};
  int written = 0;
  const auto length = [](Bytes bytes) { return static_cast<int>(bytes.size()); };
  const bool done =
      EVP_EncryptInit_ex(context.get(), libcrypto_gcm(key.size()), nullptr, nullptr, nullptr) ==
          1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_IVLEN, length(iv), nullptr) == 1 &&
      EVP_EncryptInit_ex(context.get(), nullptr, nullptr, key.data(), iv.data()) == 1 &&
      (aad.empty() ||
       EVP_EncryptUpdate(context.get(), nullptr, &written, aad.data(), length(aad)) == 1) &&
      (plaintext.empty() || EVP_EncryptUpdate(context.get(), sealed.ciphertext.data(), &written,
                                              plaintext.data(), length(plaintext)) == 1) &&
      EVP_EncryptFinal_ex(context.get(), nullptr, &written) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, 16, sealed.tag.data()) == 1;
  if (!done) {
    throw std::runtime_error("libcrypto refused to seal");
  }
  return sealed;
}

// E(block) for each whole block: AES-ECB without padding.
inline std::vector<std::uint8_t> libcrypto_ecb(Bytes key, Bytes blocks) {
  const EVP_CIPHER* const cipher = key.size() == 16   ? EVP_aes_128_ecb()
                                   : key.size() == 24 ? EVP_aes_192_ecb()
                                                      : EVP_aes_256_ecb();
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
      EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::vector<std::uint8_t> out(blocks.size() + 16);
  int written = 0;
  if (EVP_EncryptInit_ex(context.get(), cipher, nullptr, key.data(), nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1 ||
      EVP_EncryptUpdate(context.get(), out.data(), &written, blocks.data(),
                        static_cast<int>(blocks.size())) != 1) {
    throw std::runtime_error("libcrypto refused to encrypt");
  }
  out.resize(blocks.size());
  return out;
}

}  // namespace paes::test
