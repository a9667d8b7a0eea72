// SPDX-License-Identifier: Apache-2.0
// AES by tables: four look-ups of 32 bits compute SubBytes, ShiftRows and MixColumns for one column
// (Daemen and Rijmen, "The Design of Rijndael", section 4.2). Decryption is the equivalent inverse
// cipher (FIPS 197, section 5.3.5). This is the fast form for processors without AES instructions;
// the studies compare others with it. Its look-ups depend on secrets and leave traces in the cache,
// so never use it with a real key.
#pragma once

#include <bit>

#include "cipher/aes_compute.hpp"
#include "cipher/aes_key.hpp"
#include "core/bytes.hpp"
#include "core/secret.hpp"

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges
namespace aes_tables {

// entry[r][b] is what byte b in row r adds to its new column. A column is a word, with row 0 in the
// least significant byte.
struct Tables {
  std::uint32_t entry[4][256];
};

// `column` is the first column of the matrix that (Inv)MixColumns multiplies by.
constexpr Tables make_tables(const aes_compute::Sbox& sbox,
                             const std::uint8_t (&column)[4]) noexcept {
  Tables tables = {};
  for (unsigned b = 0; b < 256; ++b) {
    std::uint32_t word = 0;
    for (unsigned row = 0; row < 4; ++row) {
      word |= std::uint32_t{aes_compute::multiply(sbox.image[b], column[row])} << (8 * row);
    }
    for (unsigned row = 0; row < 4; ++row) {
      tables.entry[row][b] = std::rotl(word, static_cast<int>(8 * row));
    }
  }
  return tables;
}

inline constexpr Tables forward = make_tables(aes_compute::sbox, {2, 1, 1, 3});
inline constexpr Tables inverse = make_tables(aes_compute::inverse_sbox, {14, 9, 13, 11});

// Round keys as columns, in the order in which each direction uses them.
struct Keys {
  std::uint32_t forward[4 * (RoundKeys::max_rounds + 1)];
  std::uint32_t inverse[4 * (RoundKeys::max_rounds + 1)];
  unsigned rounds;
};

inline void prepare(const RoundKeys& round_keys, Keys& keys) noexcept {
  keys.rounds = round_keys.rounds;
  for (unsigned round = 0; round <= keys.rounds; ++round) {
    Block mixed = round_keys.key[keys.rounds - round];
    if (round != 0 && round != keys.rounds) {
      aes_compute::inv_mix_columns(mixed);
    }
    for (unsigned column = 0; column < 4; ++column) {
      keys.forward[4 * round + column] =
          load_le<std::uint32_t>(round_keys.key[round].bytes + std::size_t{4} * column);
      keys.inverse[4 * round + column] =
          load_le<std::uint32_t>(mixed.bytes + std::size_t{4} * column);
    }
    wipe(mixed.bytes);
  }
}

[[nodiscard]] inline std::uint8_t row_of(std::uint32_t column, unsigned row) noexcept {
  return static_cast<std::uint8_t>(column >> (8 * row));
}

// The old column from which ShiftRows (+1) or InvShiftRows (-1) takes `row` of the new `column`.
template <int Step>
[[nodiscard]] constexpr unsigned source(unsigned column, unsigned row) noexcept {
  return (column + (Step > 0 ? row : 4 - row)) % 4;
}

template <int Step, unsigned Blocks>
inline void crypt(const Tables& tables, const aes_compute::Sbox& sbox, const std::uint32_t* key,
                  unsigned rounds, const std::uint8_t* in, std::uint8_t* out) noexcept {
  std::uint32_t state[Blocks][4];
  for (unsigned block = 0; block < Blocks; ++block) {
    for (unsigned column = 0; column < 4; ++column) {
      state[block][column] =
          load_le<std::uint32_t>(in + block_bytes * block + std::size_t{4} * column) ^ key[column];
    }
  }
  for (unsigned round = 1; round < rounds; ++round) {
    key += 4;
    for (auto& s : state) {
      std::uint32_t next[4];
      for (unsigned column = 0; column < 4; ++column) {
        next[column] = key[column];
        for (unsigned row = 0; row < 4; ++row) {
          next[column] ^= tables.entry[row][row_of(s[source<Step>(column, row)], row)];
        }
      }
      for (unsigned column = 0; column < 4; ++column) {
        s[column] = next[column];
      }
    }
  }
  key += 4;
  for (unsigned block = 0; block < Blocks; ++block) {
    for (unsigned column = 0; column < 4; ++column) {
      std::uint32_t last = 0;
      for (unsigned row = 0; row < 4; ++row) {
        const std::uint8_t from = row_of(state[block][source<Step>(column, row)], row);
        last |= std::uint32_t{sbox.image[from]} << (8 * row);
      }
      store_le(out + block_bytes * block + std::size_t{4} * column, last ^ key[column]);
    }
  }
}

// `in` may be `out`.
template <unsigned Blocks>
inline void encrypt_blocks(const Keys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
  crypt<1, Blocks>(forward, aes_compute::sbox, keys.forward, keys.rounds, in, out);
}

template <unsigned Blocks>
inline void decrypt_blocks(const Keys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
  crypt<-1, Blocks>(inverse, aes_compute::inverse_sbox, keys.inverse, keys.rounds, in, out);
}

}  // namespace aes_tables
}  // namespace
}  // namespace paes
