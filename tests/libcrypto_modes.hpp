// The modes of SP 800-38A and XTS by libcrypto, called directly: what the kernels' bytes are
// compared with. No padding; all of a message in one call.
#pragma once

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "kernel/kernel.hpp"

namespace paes::test {

// `name` is libcrypto's, such as "AES-256-CBC" or "DES-EDE3-CFB". `iv` is empty where the mode
// takes none. XTS: both keys in `key`, the data unit's number as 16 bytes in `iv`.
inline std::vector<std::uint8_t> libcrypto_crypt(const std::string& name, bool encrypt, Bytes key,
                                                 Bytes iv, Bytes in) {
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(
      EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), EVP_CIPHER_free);
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
      EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::vector<std::uint8_t> out(in.size() + 32);
  int written = 0;
  int last = 0;
  if (cipher == nullptr ||
      EVP_CipherInit_ex2(context.get(), cipher.get(), key.data(), iv.empty() ? nullptr : iv.data(),
                         encrypt ? 1 : 0, nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1 ||
      (!in.empty() && EVP_CipherUpdate(context.get(), out.data(), &written, in.data(),
                                       static_cast<int>(in.size())) != 1) ||
      EVP_CipherFinal_ex(context.get(), out.data() + written, &last) != 1) {
    throw std::runtime_error("libcrypto refused " + name);
  }
  out.resize(in.size());
  return out;
}

// A message given in parts, which libcrypto carries on from one to the next.
class LibcryptoStream {
 public:
  LibcryptoStream(const std::string& name, bool encrypt, Bytes key, Bytes iv)
      : cipher_(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr), EVP_CIPHER_free),
        context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
    if (cipher_ == nullptr ||
        EVP_CipherInit_ex2(context_.get(), cipher_.get(), key.data(),
                           iv.empty() ? nullptr : iv.data(), encrypt ? 1 : 0, nullptr) != 1 ||
        EVP_CIPHER_CTX_set_padding(context_.get(), 0) != 1) {
      throw std::runtime_error("libcrypto refused " + name);
    }
  }
  std::vector<std::uint8_t> next(Bytes in) {
    std::vector<std::uint8_t> out(in.size() + 32);
    int written = 0;
    if (EVP_CipherUpdate(context_.get(), out.data(), &written, in.data(),
                         static_cast<int>(in.size())) != 1 ||
        static_cast<std::size_t>(written) != in.size()) {
      throw std::runtime_error("libcrypto refused a part");
    }
    out.resize(in.size());
    return out;
  }

 private:
  std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher_;
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_;
};

// "AES-128", "AES-192", "AES-256" or "DES-EDE3": the key's length tells AES's.
inline std::string libcrypto_name(bool is_aes, std::size_t key_bytes, const std::string& mode) {
  return (is_aes ? "AES-" + std::to_string(key_bytes * 8) : std::string("DES-EDE3")) + "-" + mode;
}

// "CBC" for Mode::cbc.
inline std::string libcrypto_mode(Mode mode) {
  std::string name = row_of(mode).name;
  for (char& letter : name) {
    letter = static_cast<char>(letter - 'a' + 'A');
  }
  return name;
}

// A whole message in a raw mode. libcrypto has no counter mode for 3DES: there its counters go
// through ECB. XTS with data units: their numbers count up, least significant byte first.
inline std::vector<std::uint8_t> libcrypto_raw(Cipher cipher, Mode mode, Direction direction,
                                               Bytes key, Bytes iv, Bytes in,
                                               std::size_t unit_bytes = 0) {
  const bool is_aes = cipher == Cipher::aes;
  if (!is_aes && mode == Mode::ctr) {
    std::vector<std::uint8_t> counters((in.size() + 7) / 8 * 8);
    for (std::size_t at = 0; at < counters.size(); at += 8) {
      store_be64(counters.data() + at, load_be64(iv.data()) + at / 8);
    }
    std::vector<std::uint8_t> out = libcrypto_crypt("DES-EDE3-ECB", true, key, {}, counters);
    out.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] ^= in[i];
    }
    return out;
  }
  const std::size_t key_bytes = mode == Mode::xts ? key.size() / 2 : key.size();
  const std::string name = libcrypto_name(is_aes, key_bytes, libcrypto_mode(mode));
  const bool encrypt = direction == Direction::encrypt;
  if (mode != Mode::xts || unit_bytes == 0) {
    return libcrypto_crypt(name, encrypt, key, iv, in);
  }
  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> number(iv.begin(), iv.end());
  for (std::size_t at = 0; at < in.size(); at += unit_bytes) {
    const std::vector<std::uint8_t> unit = libcrypto_crypt(
        name, encrypt, key, number, in.subspan(at, std::min(unit_bytes, in.size() - at)));
    out.insert(out.end(), unit.begin(), unit.end());
    for (std::size_t i = 0; i < number.size() && ++number[i] == 0; ++i) {
    }
  }
  return out;
}

}  // namespace paes::test
