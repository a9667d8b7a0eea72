// SPDX-License-Identifier: Apache-2.0
// KeyExpansion of FIPS 197, section 5.2, for Nk = 4, 6 and 8. SubWord runs the S-box circuit on the
// four bytes of a word at once, so the time depends on the length of the key alone.
#include "cipher/aes_key.hpp"

#include <cassert>

#include "cipher/aes_sbox.hpp"

namespace paes {

namespace {

// Bit 0 of each byte is a lane of the circuit. What the other 28 positions compute is cut off.
std::uint32_t sub_word(std::uint32_t word) noexcept {
  constexpr std::uint32_t lanes = 0x01010101;
  std::uint32_t bits[8];
  for (unsigned i = 0; i < 8; ++i) {
    bits[i] = word >> i;
  }
  sbox_circuit(bits);
  std::uint32_t substituted = 0;
  for (unsigned i = 0; i < 8; ++i) {
    substituted |= (bits[i] & lanes) << i;
  }
  return substituted;
}

}  // namespace

void expand_key(Bytes key, RoundKeys& round_keys) noexcept {
  assert(key.size() == 16 || key.size() == 24 || key.size() == 32);
  const std::size_t nk = key.size() / 4;
  round_keys.rounds = static_cast<unsigned>(nk) + 6;
  const std::size_t words = 4 * (std::size_t{round_keys.rounds} + 1);
  std::uint8_t* const w = round_keys.key[0].bytes;
  std::memcpy(w, key.data(), key.size());
  // Words are little-endian here: the standard's first byte is the lowest, so RotWord is a rotation
  // to the right and Rcon stands in the low byte.
  std::uint32_t rcon = 1;
  for (std::size_t i = nk; i < words; ++i) {
    std::uint32_t word = load_le<std::uint32_t>(w + 4 * (i - 1));
    if (i % nk == 0) {
      word = sub_word(std::rotr(word, 8)) ^ rcon;
      rcon = (rcon << 1) ^ ((rcon >> 7) * 0x11b);
    } else if (nk == 8 && i % nk == 4) {
      word = sub_word(word);
    }
    store_le(w + 4 * i, word ^ load_le<std::uint32_t>(w + 4 * (i - nk)));
  }
  std::memset(w + 4 * words, 0, sizeof round_keys.key - 4 * words);
}

}  // namespace paes
