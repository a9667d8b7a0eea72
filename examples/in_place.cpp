// SPDX-License-Identifier: Apache-2.0
// A buffer encrypted in place: 64 sectors of a disk with AES-256 in XTS mode. Each is a data unit,
// whose number is its place on the disk.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "paes/cipher.hpp"
#include "random.hpp"

int main() {
  constexpr std::size_t sector_bytes = 4096;
  constexpr std::uint32_t first_sector = 1000;
  const std::vector<std::uint8_t> key = random_bytes(64);  // two keys of AES-256
  const paes::RawCipher disk("aes-256-xts", key, {.unit_bytes = sector_bytes});
  std::vector<std::uint8_t> number(disk.iv_bytes());
  for (unsigned i = 0; i < 4; ++i) {
    number[i] = static_cast<std::uint8_t>(first_sector >> (8 * i));  // little-endian
  }

  const std::vector<std::uint8_t> before = random_bytes(64 * sector_bytes);
  std::vector<std::uint8_t> sectors = before;
  disk.encrypt(number, sectors, sectors);
  const bool has_changed = sectors != before;

  // Decrypts a single sector in the middle.
  number[0] = static_cast<std::uint8_t>(number[0] + 10);
  const std::span<std::uint8_t> tenth = std::span(sectors).subspan(10 * sector_bytes, sector_bytes);
  disk.decrypt(number, tenth, tenth);
  std::printf("64 sectors of %zu bytes\n", sector_bytes);
  return has_changed && std::equal(tenth.begin(), tenth.end(), before.begin() + 10 * sector_bytes)
             ? 0
             : 1;
}
