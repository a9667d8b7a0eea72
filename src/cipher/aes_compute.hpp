// SPDX-License-Identifier: Apache-2.0
// AES step by step, in the words of FIPS 197, section 5, and GHASH's product (SP 800-38D): a
// reference to read, and to test other code against. Every step of AES is a function that computes
// on the state. Only the S-box is a table, which the compiler computes from its definition.
// Look-ups in it and the branch in xtime depend on secrets, so never use this code with a real key.
// Everything is constexpr and plain, so that a device compiler takes it too.
#pragma once

#include "cipher/aes_key.hpp"
#include "cipher/block.hpp"

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges
namespace aes_compute {

// Section 4.2.1: times x, modulo x^8 + x^4 + x^3 + x + 1.
[[nodiscard]] constexpr std::uint8_t xtime(std::uint8_t b) noexcept {
  const unsigned doubled = unsigned{b} << 1;
  return static_cast<std::uint8_t>((b & 0x80) != 0 ? doubled ^ 0x11b : doubled);
}

// Section 4.2: the product in GF(2^8).
[[nodiscard]] constexpr std::uint8_t multiply(std::uint8_t a, std::uint8_t b) noexcept {
  std::uint8_t product = 0;
  for (; b != 0; b = static_cast<std::uint8_t>(b >> 1)) {
    if ((b & 1) != 0) {
      product = static_cast<std::uint8_t>(product ^ a);
    }
    a = xtime(a);
  }
  return product;
}

// Section 5.1.1: the inverse (b^254, which sends 0 to 0), then the affine map.
[[nodiscard]] constexpr std::uint8_t sub_byte_computed(std::uint8_t b) noexcept {
  // 254 = 2 + 4 + ... + 128, so b^254 is the product of seven squares. Multiplying 254 times would
  // exceed what compilers allow in a constant expression.
  std::uint8_t inverse = 1;
  std::uint8_t power = b;
  for (unsigned i = 0; i < 7; ++i) {
    power = multiply(power, power);
    inverse = multiply(inverse, power);
  }
  unsigned image = 0x63;
  for (unsigned rotation = 0; rotation < 5; ++rotation) {
    image ^= (unsigned{inverse} << rotation) | (unsigned{inverse} >> (8 - rotation));
  }
  return static_cast<std::uint8_t>(image);
}

struct Sbox {
  std::uint8_t image[256];
};

constexpr Sbox make_sbox() noexcept {
  Sbox sbox = {};
  for (unsigned b = 0; b < 256; ++b) {
    sbox.image[b] = sub_byte_computed(static_cast<std::uint8_t>(b));
  }
  return sbox;
}

inline constexpr Sbox sbox = make_sbox();

[[nodiscard]] constexpr Sbox make_inverse_sbox() noexcept {
  Sbox inverse = {};
  for (unsigned i = 0; i < 256; ++i) {
    inverse.image[sbox.image[i]] = static_cast<std::uint8_t>(i);
  }
  return inverse;
}

inline constexpr Sbox inverse_sbox = make_inverse_sbox();

// Sections 5.1.1 and 5.3.2. `box` is a parameter because devices keep S-boxes in their own memory.
constexpr void sub_bytes(Block& state, const Sbox& box) noexcept {
  for (std::uint8_t& byte : state.bytes) {
    byte = box.image[byte];
  }
}

// Section 5.1.2. The state's byte s[r][c] is byte r + 4c of the block (section 3.4).
constexpr void shift_rows(Block& state) noexcept {
  const Block before = state;
  for (unsigned row = 0; row < 4; ++row) {
    for (unsigned column = 0; column < 4; ++column) {
      state.bytes[row + 4 * column] = before.bytes[row + 4 * ((column + row) % 4)];
    }
  }
}

// Section 5.1.3: each column times {03}x^3 + {01}x^2 + {01}x + {02}.
constexpr void mix_columns(Block& state) noexcept {
  for (unsigned column = 0; column < 4; ++column) {
    std::uint8_t* const s = state.bytes + std::size_t{4} * column;
    const std::uint8_t before[4] = {s[0], s[1], s[2], s[3]};
    for (unsigned row = 0; row < 4; ++row) {
      const std::uint8_t a = before[row];
      const std::uint8_t b = before[(row + 1) % 4];
      s[row] = static_cast<std::uint8_t>(xtime(a) ^ xtime(b) ^ b ^ before[(row + 2) % 4] ^
                                         before[(row + 3) % 4]);
    }
  }
}

// Section 5.1.4.
constexpr void add_round_key(Block& state, const Block& key) noexcept {
  for (unsigned i = 0; i < block_bytes; ++i) {
    state.bytes[i] = static_cast<std::uint8_t>(state.bytes[i] ^ key.bytes[i]);
  }
}

// Section 5.1, algorithm 1: Cipher.
constexpr void encrypt_block(const RoundKeys& keys, Block& state, const Sbox& box = sbox) noexcept {
  add_round_key(state, keys.key[0]);
  for (unsigned round = 1; round < keys.rounds; ++round) {
    sub_bytes(state, box);
    shift_rows(state);
    mix_columns(state);
    add_round_key(state, keys.key[round]);
  }
  sub_bytes(state, box);
  shift_rows(state);
  add_round_key(state, keys.key[keys.rounds]);
}

// Section 5.3.1.
constexpr void inv_shift_rows(Block& state) noexcept {
  const Block before = state;
  for (unsigned row = 0; row < 4; ++row) {
    for (unsigned column = 0; column < 4; ++column) {
      state.bytes[row + 4 * ((column + row) % 4)] = before.bytes[row + 4 * column];
    }
  }
}

// Section 5.3.3: each column times {0b}x^3 + {0d}x^2 + {09}x + {0e}, which is MixColumns after a
// column has been multiplied by {04}x^2 + {05}.
constexpr void inv_mix_columns(Block& state) noexcept {
  for (unsigned column = 0; column < 4; ++column) {
    std::uint8_t* const s = state.bytes + std::size_t{4} * column;
    for (unsigned row = 0; row < 2; ++row) {
      const std::uint8_t times4 = xtime(xtime(static_cast<std::uint8_t>(s[row] ^ s[row + 2])));
      s[row] = static_cast<std::uint8_t>(s[row] ^ times4);
      s[row + 2] = static_cast<std::uint8_t>(s[row + 2] ^ times4);
    }
  }
  mix_columns(state);
}

// Section 5.3, algorithm 3: InvCipher.
constexpr void decrypt_block(const RoundKeys& keys, Block& state,
                             const Sbox& box = inverse_sbox) noexcept {
  add_round_key(state, keys.key[keys.rounds]);
  for (unsigned round = keys.rounds - 1; round > 0; --round) {
    inv_shift_rows(state);
    sub_bytes(state, box);
    add_round_key(state, keys.key[round]);
    inv_mix_columns(state);
  }
  inv_shift_rows(state);
  sub_bytes(state, box);
  add_round_key(state, keys.key[0]);
}

// SP 800-38D, section 6.3, algorithm 1: x * y, one bit of x after the other.
[[nodiscard]] constexpr Block ghash_multiply(const Block& x, const Block& y) noexcept {
  Block z = {};
  Block v = y;
  for (unsigned i = 0; i < 128; ++i) {
    if (((x.bytes[i / 8] >> (7 - i % 8)) & 1) != 0) {
      add_round_key(z, v);
    }
    const bool carry = (v.bytes[15] & 1) != 0;
    for (unsigned j = block_bytes - 1; j > 0; --j) {
      v.bytes[j] = static_cast<std::uint8_t>((v.bytes[j] >> 1) | (v.bytes[j - 1] << 7));
    }
    v.bytes[0] = static_cast<std::uint8_t>(v.bytes[0] >> 1);
    if (carry) {
      v.bytes[0] ^= 0xe1;  // R = 11100001 || 0^120
    }
  }
  return z;
}

}  // namespace aes_compute
}  // namespace
}  // namespace paes
