// SPDX-License-Identifier: Apache-2.0
// One message through the C++ interface: encrypted, decrypted, and the same again.
#include <paes/cipher.hpp>

#include <cstdint>
#include <vector>

int main() {
  const paes::RawCipher cipher("aes-256-ctr", std::vector<std::uint8_t>(32, 1));
  const std::vector<std::uint8_t> iv(cipher.iv_bytes(), 2);
  const std::vector<std::uint8_t> text(100'000, 3);
  std::vector<std::uint8_t> ciphertext(text.size());
  std::vector<std::uint8_t> opened(text.size());
  cipher.encrypt(iv, text, ciphertext);
  cipher.decrypt(iv, ciphertext, opened);
  return opened == text && ciphertext != text ? 0 : 1;
}
