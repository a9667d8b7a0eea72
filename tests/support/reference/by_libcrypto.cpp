// SPDX-License-Identifier: Apache-2.0
// The reference by libcrypto, called directly.
#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

#include "reference.hpp"

namespace paes::test {

namespace {

using Context = std::shared_ptr<EVP_CIPHER_CTX>;

Context make_context(const std::string& name, bool encrypt, Bytes key, Bytes iv) {
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(
      EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), EVP_CIPHER_free);
  Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (cipher == nullptr ||
      EVP_CipherInit_ex2(context.get(), cipher.get(), key.data(), iv.empty() ? nullptr : iv.data(),
                         encrypt ? 1 : 0, nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1) {
    throw std::runtime_error("libcrypto refused " + name);
  }
  return context;
}

const EVP_CIPHER* gcm_of(std::size_t key_bytes) {
  return key_bytes == 16   ? EVP_aes_128_gcm()
         : key_bytes == 24 ? EVP_aes_192_gcm()
                           : EVP_aes_256_gcm();
}

}  // namespace

std::vector<std::uint8_t> reference_crypt(const std::string& name, bool encrypt, Bytes key,
                                          Bytes iv, Bytes in) {
  const Context context = make_context(name, encrypt, key, iv);
  std::vector<std::uint8_t> out(in.size() + 32);
  int written = 0;
  int last = 0;
  if ((!in.empty() && EVP_CipherUpdate(context.get(), out.data(), &written, in.data(),
                                       static_cast<int>(in.size())) != 1) ||
      EVP_CipherFinal_ex(context.get(), out.data() + written, &last) != 1) {
    throw std::runtime_error("libcrypto refused " + name);
  }
  out.resize(in.size());
  return out;
}

ReferenceStream reference_stream(const std::string& name, bool encrypt, Bytes key, Bytes iv) {
  return [context = make_context(name, encrypt, key, iv)](Bytes in) {
    std::vector<std::uint8_t> out(in.size() + 32);
    int written = 0;
    if (EVP_CipherUpdate(context.get(), out.data(), &written, in.data(),
                         static_cast<int>(in.size())) != 1 ||
        static_cast<std::size_t>(written) != in.size()) {
      throw std::runtime_error("libcrypto refused a part");
    }
    out.resize(in.size());
    return out;
  };
}

Sealed reference_seal(Bytes key, Bytes iv, Bytes aad, Bytes plaintext) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
      EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  Sealed sealed{std::vector<std::uint8_t>(plaintext.size()), std::vector<std::uint8_t>(16)};
  int written = 0;
  const auto length = [](Bytes bytes) { return static_cast<int>(bytes.size()); };
  const bool done =
      EVP_EncryptInit_ex(context.get(), gcm_of(key.size()), nullptr, nullptr, nullptr) == 1 &&
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

}  // namespace paes::test
