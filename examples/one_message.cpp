// SPDX-License-Identifier: Apache-2.0
// One message of any length, encrypted and decrypted again: AES-256 in counter mode.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "paes/cipher.hpp"
#include "random.hpp"

int main() {
  const std::string text = "Attack at dawn. Bring coffee.";
  const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text.data()),
                                            text.size());
  const paes::RawCipher cipher("aes-256-ctr", random_bytes(32));
  const std::vector<std::uint8_t> iv = random_bytes(cipher.iv_bytes());  // a new one each time

  std::vector<std::uint8_t> ciphertext(text.size());
  cipher.encrypt(iv, bytes, ciphertext);

  std::vector<std::uint8_t> opened(text.size());
  cipher.decrypt(iv, ciphertext, opened);

  const std::string result(opened.begin(), opened.end());
  std::printf("%s (kernel %s)\n", result.c_str(), std::string(cipher.kernel()).c_str());
  return result == text && !std::equal(opened.begin(), opened.end(), ciphertext.begin()) ? 0 : 1;
}
