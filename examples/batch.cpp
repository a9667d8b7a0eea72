// SPDX-License-Identifier: Apache-2.0
// A thousand short records, each under its own IV, in one call. CBC chains the blocks of a message,
// so a single one cannot be spread over the processor, but many can.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "paes/cipher.hpp"
#include "random.hpp"

int main() {
  constexpr std::size_t records = 1000;
  constexpr std::size_t record_bytes = 256;
  const paes::RawCipher cipher("aes-128-cbc", random_bytes(16), {.threads = 2});
  const std::vector<std::uint8_t> ivs = random_bytes(records * cipher.iv_bytes());
  const std::vector<std::uint8_t> texts(records * record_bytes, 'x');
  std::vector<std::uint8_t> sealed(texts.size());

  std::vector<paes::RawCipher::Message> messages;
  for (std::size_t i = 0; i < records; ++i) {
    messages.push_back({std::span(ivs).subspan(i * cipher.iv_bytes(), cipher.iv_bytes()),
                        std::span(texts).subspan(i * record_bytes, record_bytes),
                        std::span(sealed).subspan(i * record_bytes, record_bytes)});
  }
  cipher.encrypt_batch(messages);

  // Each of them is an ordinary CBC message.
  std::vector<std::uint8_t> opened(record_bytes);
  cipher.decrypt(messages[500].iv, messages[500].out, opened);
  std::printf("%zu records of %zu bytes\n", records, record_bytes);
  return std::equal(opened.begin(), opened.end(), messages[500].in.begin()) &&
                 !std::equal(opened.begin(), opened.end(), messages[500].out.begin())
             ? 0
             : 1;
}
