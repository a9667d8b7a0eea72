// SPDX-License-Identifier: Apache-2.0
// The kernel `armv8`: AES with the instructions of Armv8's cryptographic extension (AESE with
// AESMC, AESD with AESIMC), GHASH with its carry-less products (PMULL), eight blocks in flight. The
// modes come from block_modes.hpp. See the Arm Architecture Reference Manual for A-profile, section
// C7.2.
#include <arm_neon.h>

#include <cstring>

#include "kernel/block_modes.hpp"
#include "kernel/gcm_from_parts.hpp"
#include "kernel/kernel.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

using Register = uint8x16_t;

constexpr unsigned flight_blocks = 8;

// H^n with the bits of each byte mirrored, and a copy with its halves exchanged, for products with
// the other half of a block.
struct Power {
  Register value;
  Register exchanged;
};

struct Armv8Keys {
  Register encrypt[RoundKeys::max_rounds + 1];
  Register decrypt[RoundKeys::max_rounds + 1];  // of the equivalent inverse cipher
  Power power[flight_blocks];                   // power[i] is H^(i + 1)
  unsigned rounds;
};
// AESE adds its key before it substitutes. So the standard's first AddRoundKey is part of the first
// round, and the last key is added separately.
template <unsigned Rounds>
void encrypt_flight(const Register* key, Register (&text)[flight_blocks]) noexcept {
#pragma GCC unroll 16
  for (unsigned round = 0; round + 1 < Rounds; ++round) {
#pragma GCC unroll 8
    for (Register& block : text) {
      block = vaesmcq_u8(vaeseq_u8(block, key[round]));
    }
  }
#pragma GCC unroll 8
  for (Register& block : text) {
    block = veorq_u8(vaeseq_u8(block, key[Rounds - 1]), key[Rounds]);
  }
}

// FIPS 197, section 5.3.5: the steps in the same order, each replaced by its inverse.
template <unsigned Rounds>
void decrypt_flight(const Register* key, Register (&text)[flight_blocks]) noexcept {
#pragma GCC unroll 16
  for (unsigned round = 0; round + 1 < Rounds; ++round) {
#pragma GCC unroll 8
    for (Register& block : text) {
      block = vaesimcq_u8(vaesdq_u8(block, key[round]));
    }
  }
#pragma GCC unroll 8
  for (Register& block : text) {
    block = veorq_u8(vaesdq_u8(block, key[Rounds - 1]), key[Rounds]);
  }
}

template <unsigned Rounds, bool Inverse>
void crypt_flight(const Armv8Keys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
  Register text[flight_blocks];
#pragma GCC unroll 8
  for (unsigned i = 0; i < flight_blocks; ++i) {
    text[i] = vld1q_u8(in + i * block_bytes);
  }
  if constexpr (Inverse) {
    decrypt_flight<Rounds>(keys.decrypt, text);
  } else {
    encrypt_flight<Rounds>(keys.encrypt, text);
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < flight_blocks; ++i) {
    vst1q_u8(out + i * block_bytes, text[i]);
  }
}

// The number of rounds follows from the key's length, which is public.
template <bool Inverse>
void crypt(const Armv8Keys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
  switch (keys.rounds) {
    case 10:
      return crypt_flight<10, Inverse>(keys, in, out);
    case 12:
      return crypt_flight<12, Inverse>(keys, in, out);
    default:
      return crypt_flight<14, Inverse>(keys, in, out);
  }
}

struct Core {
  static constexpr std::size_t block_bytes = 16;
  static constexpr std::size_t lanes = flight_blocks;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    crypt<false>(keys.as<Armv8Keys>(), in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    crypt<true>(keys.as<Armv8Keys>(), in, out);
  }
};
using Modes = BlockModes<Core>;

// All blocks are computed up to here before any goes on. Otherwise GCC puts one after the other,
// and the processor must wait for each round.
void keep_together(Register (&text)[flight_blocks]) noexcept {
  static_assert(flight_blocks == 8);
  asm(""
      : "+w"(text[0]), "+w"(text[1]), "+w"(text[2]), "+w"(text[3]), "+w"(text[4]), "+w"(text[5]),
        "+w"(text[6]), "+w"(text[7]));
}

// Counter mode without memory between counter, keystream and text: it takes a third fewer
// instructions than that of BlockModes. The last 32 bits count and wrap.
template <unsigned Rounds>
void count_and_add(const Armv8Keys& keys, const Piece& piece) noexcept {
  const uint32x4_t one = {0, 0, 0, 1};
  uint32x4_t counter = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(piece.counter->bytes)));
  const auto next_keystream = [&](Register(&stream)[flight_blocks]) {
#pragma GCC unroll 8
    for (Register& block : stream) {
      block = vrev32q_u8(vreinterpretq_u8_u32(counter));
      counter = vaddq_u32(counter, one);
    }
    keep_together(stream);
    encrypt_flight<Rounds>(keys.encrypt, stream);
    keep_together(stream);
  };
  constexpr std::size_t flight_bytes = flight_blocks * block_bytes;
  const std::uint8_t* in = piece.text.in;
  std::uint8_t* out = piece.text.out;
  std::size_t left = piece.text.bytes;
  for (; left >= flight_bytes; left -= flight_bytes) {
    Register stream[flight_blocks];
    next_keystream(stream);
#pragma GCC unroll 8
    for (unsigned i = 0; i < flight_blocks; ++i) {
      vst1q_u8(out + i * block_bytes, veorq_u8(stream[i], vld1q_u8(in + i * block_bytes)));
    }
    in += flight_bytes;
    out += flight_bytes;
  }
  if (left != 0) {
    Register stream[flight_blocks];
    next_keystream(stream);
    std::uint8_t rest[flight_bytes];
    const WipeOnExit wiped(rest);
    std::memcpy(rest, stream, sizeof rest);
    for (std::size_t i = 0; i < left; i += block_bytes) {
      vst1q_u8(out + i, veorq_u8(vld1q_u8(rest + i), vld1q_u8(in + i)));
    }
  }
}

void run_ctr(const KernelKeys& keys, const Piece& piece) noexcept {
  const auto& ready = keys.as<Armv8Keys>();
  switch (ready.rounds) {
    case 10:
      return count_and_add<10>(ready, piece);
    case 12:
      return count_and_add<12>(ready, piece);
    default:
      return count_and_add<14>(ready, piece);
  }
}

// GHASH's field with the bits of each byte mirrored (RBIT): x^i is then bit i of a little-endian
// number of 128 bits, and a product needs no shift.

Register multiply_low(Register a, Register b) noexcept {
  return vreinterpretq_u8_p128(vmull_p64(vgetq_lane_p64(vreinterpretq_p64_u8(a), 0),
                                         vgetq_lane_p64(vreinterpretq_p64_u8(b), 0)));
}
Register multiply_high(Register a, Register b) noexcept {
  return vreinterpretq_u8_p128(vmull_high_p64(vreinterpretq_p64_u8(a), vreinterpretq_p64_u8(b)));
}

// low + middle * x^64 + high * x^128: a sum of products, not yet reduced.
struct Product {
  Register low = vdupq_n_u8(0);
  Register middle = vdupq_n_u8(0);
  Register high = vdupq_n_u8(0);

  void add(Register a, const Power& b) noexcept {
    low = veorq_u8(low, multiply_low(a, b.value));
    middle =
        veorq_u8(middle, veorq_u8(multiply_low(a, b.exchanged), multiply_high(a, b.exchanged)));
    high = veorq_u8(high, multiply_high(a, b.value));
  }
};

// Adds value * x^64 to a number of two registers.
void add_in_the_middle(Register& low, Register& high, Register value) noexcept {
  const Register zero = vdupq_n_u8(0);
  low = veorq_u8(low, vextq_u8(zero, value, 8));
  high = veorq_u8(high, vextq_u8(value, zero, 8));
}

// Modulo x^128 + x^7 + x^2 + x + 1: 64 bits at a time from the top, each multiplied by x^7 + x^2 +
// x + 1, which equals x^128.
Register reduce(const Product& product) noexcept {
  const Register x128 = vreinterpretq_u8_u64(vdupq_n_u64(0x87));
  Register low = product.low;
  Register high = product.high;
  add_in_the_middle(low, high, product.middle);
  add_in_the_middle(low, high, multiply_high(high, x128));
  return veorq_u8(low, multiply_low(high, x128));
}

Power make_power(Register value) noexcept { return {value, vextq_u8(value, value, 8)}; }

// (value ^ X[0]) * H^count ^ X[1] * H^(count - 1) ^ ...: one reduction for as many blocks as
// powers.
Register hash_blocks(const Power* power, Register value, const std::uint8_t* in,
                     std::size_t count) noexcept {
  Product sum;
  sum.add(veorq_u8(value, vrbitq_u8(vld1q_u8(in))), power[count - 1]);
  for (std::size_t i = 1; i < count; ++i) {
    sum.add(vrbitq_u8(vld1q_u8(in + i * block_bytes)), power[count - 1 - i]);
  }
  return reduce(sum);
}

void ghash(const KernelKeys& keys, const std::uint8_t* in, std::size_t bytes,
           HashValue& hash) noexcept {
  constexpr std::size_t flight_bytes = flight_blocks * block_bytes;
  const Power* const power = keys.as<Armv8Keys>().power;
  Register value = vrbitq_u8(vld1q_u8(hash.bytes));
  std::size_t at = 0;
  for (; bytes - at >= flight_bytes; at += flight_bytes) {
    value = hash_blocks(power, value, in + at, flight_blocks);
  }
  if (at != bytes) {
    value = hash_blocks(power, value, in + at, (bytes - at) / block_bytes);
  }
  vst1q_u8(hash.bytes, vrbitq_u8(value));
}

using Gcm = GcmFromParts<run_ctr, ghash>;

void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  auto& ready = keys.as<Armv8Keys>();
  const unsigned rounds = round_keys.rounds;
  ready.rounds = rounds;
  for (unsigned i = 0; i <= rounds; ++i) {
    const Register key = vld1q_u8(round_keys.key[i].bytes);
    ready.encrypt[i] = key;
    ready.decrypt[rounds - i] = i == 0 || i == rounds ? key : vaesimcq_u8(key);
  }
  // H = E(0), computed as the first of eight blocks.
  alignas(64) std::uint8_t zeros[flight_blocks * block_bytes] = {};
  const WipeOnExit wiped(zeros);
  crypt<false>(ready, zeros, zeros);
  const Register h = vrbitq_u8(vld1q_u8(zeros));
  ready.power[0] = make_power(h);
  for (unsigned i = 1; i < flight_blocks; ++i) {
    Product product;
    product.add(h, ready.power[i - 1]);
    ready.power[i] = make_power(reduce(product));
  }
}

constexpr Kernel row = {
    .name = "armv8",
    .cipher = Cipher::aes,
    .use = Use::automatic,
    .summary = "AESE and PMULL of Armv8, 8 blocks at once",
    .needs = Feature::armv8_aes | Feature::armv8_pmull,
    .lanes = flight_blocks,
    .prepare = prepare_aes<prepare>,
    .modes = Modes::runs().with(Operation::ctr, run_ctr),
    .gcm = Gcm::runs,
};

}  // namespace

extern const Kernel kernel_armv8 =
    wiping<row, StackUse{.prepare = 2048, .pieces = 2560, .chains = 2560, .gcm = 2560}>();

}  // namespace paes
