// SPDX-License-Identifier: Apache-2.0
// AES-128 encryption as people often write it from the standard, in variants that each differ in
// one habit: how MixColumns multiplies, where the S-box comes from, how often the key is expanded,
// how data gets in and out. Compiled twice, without and with optimization (unoptimized.cpp,
// optimized.cpp), hence the unnamed namespace. It serves to find out what makes a program slow;
// nothing here is for use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "aes_ci/aes_ci_rows.hpp"

namespace paes::bench {
namespace {  // NOLINT: each of the two files has its own, compiled its own way

using Byte = std::uint8_t;

Byte xtime(Byte b) { return static_cast<Byte>((b << 1) ^ ((b & 0x80) != 0 ? 0x1b : 0)); }

// FIPS 197, section 4.2, bit by bit: always eight steps, whatever the factor.
Byte multiply(Byte a, Byte b) {
  Byte product = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if ((b & 1) != 0) {
      product = static_cast<Byte>(product ^ a);
    }
    a = xtime(a);
    b = static_cast<Byte>(b >> 1);
  }
  return product;
}

// Section 5.1.1, by its definition: searches for the inverse.
Byte computed_sbox(Byte b) {
  Byte inverse = 0;
  for (int candidate = 1; candidate < 256; ++candidate) {
    if (multiply(b, static_cast<Byte>(candidate)) == 1) {
      inverse = static_cast<Byte>(candidate);
      break;
    }
  }
  Byte image = 0;
  for (int bit = 0; bit < 8; ++bit) {
    const int sum = (inverse >> bit) ^ (inverse >> ((bit + 4) % 8)) ^ (inverse >> ((bit + 5) % 8)) ^
                    (inverse >> ((bit + 6) % 8)) ^ (inverse >> ((bit + 7) % 8)) ^ (0x63 >> bit);
    image = static_cast<Byte>(image | ((sum & 1) << bit));
  }
  return image;
}

struct SboxTable {
  Byte image[256];
};
const SboxTable& sbox_table() {
  static const SboxTable table = [] {
    SboxTable made = {};
    for (int b = 0; b < 256; ++b) {
      made.image[b] = computed_sbox(static_cast<Byte>(b));
    }
    return made;
  }();
  return table;
}

enum class Sbox { table, computed };
enum class Mix { xtime, multiply };
enum class Keys { once, each_block };
enum class Data { memory, each_block_by_stdio };

using State = Byte[4][4];  // rows of the standard's figures

template <Sbox Box>
Byte substitute(Byte b) {
  if constexpr (Box == Sbox::computed) {
    return computed_sbox(b);
  } else {
    return sbox_table().image[b];
  }
}

template <Sbox Box>
void expand(const Byte* key, Byte (&words)[176]) {
  std::memcpy(words, key, 16);
  Byte round_constant = 1;
  for (int i = 16; i < 176; i += 4) {
    Byte word[4];
    std::memcpy(word, words + i - 4, 4);
    if (i % 16 == 0) {
      const Byte first = word[0];
      word[0] = static_cast<Byte>(substitute<Box>(word[1]) ^ round_constant);
      word[1] = substitute<Box>(word[2]);
      word[2] = substitute<Box>(word[3]);
      word[3] = substitute<Box>(first);
      round_constant = xtime(round_constant);
    }
    for (int j = 0; j < 4; ++j) {
      words[i + j] = static_cast<Byte>(words[i + j - 16] ^ word[j]);
    }
  }
}

void add_round_key(State& state, const Byte* round_key) {
  for (int column = 0; column < 4; ++column) {
    for (int row = 0; row < 4; ++row) {
      state[row][column] = static_cast<Byte>(state[row][column] ^ round_key[4 * column + row]);
    }
  }
}

template <Sbox Box>
void sub_bytes(State& state) {
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      state[row][column] = substitute<Box>(state[row][column]);
    }
  }
}

void shift_rows(State& state) {
  for (int row = 1; row < 4; ++row) {
    Byte before[4];
    std::memcpy(before, state[row], 4);
    for (int column = 0; column < 4; ++column) {
      state[row][column] = before[(column + row) % 4];
    }
  }
}

template <Mix How>
Byte times(Byte factor, Byte b) {
  if constexpr (How == Mix::multiply) {
    return multiply(b, factor);
  } else {
    return factor == 1 ? b : static_cast<Byte>(xtime(b) ^ (factor == 3 ? b : 0));
  }
}

// Section 5.1.3 as a matrix product.
template <Mix How>
void mix_columns(State& state) {
  static const Byte matrix[4][4] = {{2, 3, 1, 1}, {1, 2, 3, 1}, {1, 1, 2, 3}, {3, 1, 1, 2}};
  for (int column = 0; column < 4; ++column) {
    Byte mixed[4];
    for (int row = 0; row < 4; ++row) {
      mixed[row] = 0;
      for (int i = 0; i < 4; ++i) {
        mixed[row] = static_cast<Byte>(mixed[row] ^ times<How>(matrix[row][i], state[i][column]));
      }
    }
    for (int row = 0; row < 4; ++row) {
      state[row][column] = mixed[row];
    }
  }
}

template <Sbox Box, Mix How>
void encrypt_block(const Byte* words, const Byte* in, Byte* out) {
  State state;
  for (int i = 0; i < 16; ++i) {
    state[i % 4][i / 4] = in[i];
  }
  add_round_key(state, words);
  for (int round = 1; round <= 10; ++round) {
    sub_bytes<Box>(state);
    shift_rows(state);
    if (round < 10) {
      mix_columns<How>(state);
    }
    add_round_key(state, words + std::ptrdiff_t{16} * round);
  }
  for (int i = 0; i < 16; ++i) {
    out[i] = state[i % 4][i / 4];
  }
}

template <Sbox Box, Mix How, Keys When>
void encrypt_one(const Byte* key, Byte (&words)[176], const Byte* in, Byte* out) {
  if constexpr (When == Keys::each_block) {
    expand<Box>(key, words);
  }
  encrypt_block<Box, How>(words, in, out);
}

template <Sbox Box, Mix How, Keys When, Data Where>
void encrypt(const Byte* key, const Byte* in, Byte* out, std::size_t blocks) {
  Byte words[176];
  expand<Box>(key, words);
  if constexpr (Where == Data::memory) {
    for (std::size_t i = 0; i < blocks; ++i) {
      encrypt_one<Box, How, When>(key, words, in + 16 * i, out + 16 * i);
    }
    return;
  }
  // From one file to another, one block at a time, like the main loop of many programs. Both files
  // are in memory, so no disk is measured.
  std::FILE* const from = fmemopen(const_cast<Byte*>(in), 16 * blocks, "rb");
  std::FILE* const to = fmemopen(out, 16 * blocks + 1, "wb");  // it writes a zero byte at the end
  if (from == nullptr || to == nullptr) {
    return;  // the check notices that nothing was encrypted
  }
  Byte block[16];
  while (std::fread(block, 1, 16, from) == 16) {
    encrypt_one<Box, How, When>(key, words, block, block);
    if (std::fwrite(block, 1, 16, to) != 16) {
      break;
    }
  }
  (void)std::fclose(from);
  (void)std::fclose(to);
}

std::vector<AesCiRow> make_rows(const char* compiled) {
  return {
      {"plain", compiled, encrypt<Sbox::table, Mix::xtime, Keys::once, Data::memory>},
      {"stdio", compiled, encrypt<Sbox::table, Mix::xtime, Keys::once, Data::each_block_by_stdio>},
      {"key", compiled, encrypt<Sbox::table, Mix::xtime, Keys::each_block, Data::memory>},
      {"multiply", compiled, encrypt<Sbox::table, Mix::multiply, Keys::once, Data::memory>},
      {"multiply+key", compiled,
       encrypt<Sbox::table, Mix::multiply, Keys::each_block, Data::memory>},
      {"multiply+key+stdio", compiled,
       encrypt<Sbox::table, Mix::multiply, Keys::each_block, Data::each_block_by_stdio>},
      {"sbox", compiled, encrypt<Sbox::computed, Mix::xtime, Keys::once, Data::memory>},
  };
}

}  // namespace
}  // namespace paes::bench
