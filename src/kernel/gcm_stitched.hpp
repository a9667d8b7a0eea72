// AES-GCM with the cipher's and the hash's instructions interleaved, for any processor that has AES
// and carry-less multiply on registers of one, two or four blocks. A kernel file supplies a
// `Vector` (one instruction set) and gets every operation from `StitchedGcm`.
//
// Three ideas carry the speed:
// - A batch of `batch` registers is in flight, enough to hide the latency of the AES round, and the
//   hash of the previous batch (encryption) or of the same batch (decryption) runs between the
//   rounds.
// - The hash is deferred: each lane of a register is a Horner chain of its own with step H^lanes,
//   products are added unreduced over a batch (Karatsuba, three multiplications a register), one
//   reduction serves a batch, and the lanes are joined only at the end of the piece.
// - Counters of one batch differ in the last byte only, so after the first AES round they differ in
//   one column only. That column is a function of key and last counter byte: a table of 256 entries
//   made once per key replaces counter arithmetic and the first round by one XOR with memory. Its
//   index is the counter, never the key or the data; where the counter itself is secret (ModeState,
//   is_counter_public) the table is not used. The table starts at counter 2, the
//   first of a message with a 96-bit IV, so that a batch never straddles a carry except in its last
//   two blocks.
//
// Hash values inside are byte-reversed blocks, so that bit i of the register is the coefficient of
// x^(127-i); powers of H are kept multiplied by x, which absorbs the shift that a product of two
// reflected values needs (Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction and its
// Usage for Computing the GCM Mode", 2010).
//
// Everything lives in an unnamed namespace: see run_piece.hpp.
#pragma once

// GCC 12 and 13 take the deliberately undefined operands inside its own intrinsics for a mistake of
// ours (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "kernel/run_piece.hpp"

#define PAES_INLINE __attribute__((always_inline)) inline
#define PAES_NOINLINE __attribute__((noinline))

namespace paes {
namespace {  // NOLINT

inline constexpr std::uint32_t first_text_counter =
    2;  // J0 = IV || 1, and text starts at inc32(J0)

PAES_INLINE __m128i load_block(const void* from) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

PAES_INLINE void store_block(void* to, __m128i block) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(to), block);
}

PAES_INLINE __m128i reverse_block(__m128i block) noexcept {
  return _mm_shuffle_epi8(block,
                          _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

// An unreduced product or sum of products: low + middle * x^64 + high * x^128, where `middle` still
// holds low and high as well (Karatsuba).
template <class Vector>
struct Product {
  typename Vector::Register low;
  typename Vector::Register middle;
  typename Vector::Register high;
};

// The field's reduction constant in reflected order: x^63 + x^62 + x^57 of the upper half.
inline constexpr std::uint64_t reduction_constant = 0xc200000000000000;

template <class Vector>
PAES_INLINE typename Vector::Register reduce(const Product<Vector>& sum,
                                             typename Vector::Register constant) noexcept {
  // Each step clears the lowest 64 bits by adding a multiple of the field polynomial and moves on
  // by 64 bits; what remains is the product divided by x^128, as the reflected order wants it.
  auto middle = Vector::xor3(sum.middle, sum.low, sum.high);
  middle = Vector::xor3(middle, Vector::swap_halves(sum.low),
                        Vector::template multiply<0x00>(sum.low, constant));
  return Vector::xor3(sum.high, Vector::swap_halves(middle),
                      Vector::template multiply<0x00>(middle, constant));
}

// One-block registers: key set-up and the ends of messages need them under every instruction set.
struct OneBlock {
  using Register = __m128i;
  template <int Halves>
  PAES_INLINE static Register multiply(Register a, Register b) noexcept {
    return _mm_clmulepi64_si128(a, b, Halves);
  }
  PAES_INLINE static Register xor3(Register a, Register b, Register c) noexcept {
    return _mm_xor_si128(_mm_xor_si128(a, b), c);
  }
  PAES_INLINE static Register swap_halves(Register a) noexcept {
    return _mm_shuffle_epi32(a, 0x4e);
  }
};

PAES_INLINE __m128i reduction_block() noexcept {
  return _mm_set_epi64x(0, static_cast<long long>(reduction_constant));
}

// value * power for single blocks; `power` is a power of H times x.
PAES_INLINE __m128i multiply_blocks(__m128i value, __m128i power) noexcept {
  const __m128i value_halves = _mm_xor_si128(value, OneBlock::swap_halves(value));
  const __m128i power_halves = _mm_xor_si128(power, OneBlock::swap_halves(power));
  const Product<OneBlock> product{_mm_clmulepi64_si128(value, power, 0x00),
                                  _mm_clmulepi64_si128(value_halves, power_halves, 0x00),
                                  _mm_clmulepi64_si128(value, power, 0x11)};
  return reduce<OneBlock>(product, reduction_block());
}

// value * x in reflected order: a shift left by one bit, and the polynomial where a bit fell out.
PAES_INLINE __m128i times_x(__m128i value) noexcept {
  const __m128i carries = _mm_srli_epi64(value, 63);
  const __m128i shifted = _mm_or_si128(_mm_slli_epi64(value, 1), _mm_slli_si128(carries, 8));
  const __m128i top = _mm_shuffle_epi32(_mm_srai_epi32(value, 31), 0xff);
  const __m128i polynomial = _mm_set_epi64x(static_cast<long long>(reduction_constant), 1);
  return _mm_xor_si128(shifted, _mm_and_si128(top, polynomial));
}

// What one kernel keeps of a key, in KernelKeys. Padded on purpose: each table starts a cache line.
template <class Vector>
struct StitchedKeys {  // NOLINT(clang-analyzer-optin.performance.Padding)
  static constexpr unsigned batch_blocks = Vector::batch * Vector::blocks;
  // The end of a piece may hold a whole batch, another one but for a block, and the length block.
  static constexpr unsigned end_powers = 2 * batch_blocks + 1;

  alignas(64) std::uint8_t round_key[RoundKeys::max_rounds + 1][Vector::blocks][16];
  // For the equivalent inverse cipher, in the order of its use (FIPS 197, section 5.3.5).
  alignas(64) std::uint8_t inverse_key[RoundKeys::max_rounds + 1][Vector::blocks][16];
  // Registers whose products are added before a reduction.
  static constexpr unsigned group = Vector::group_batches * Vector::batch;
  // H^(lanes * (group - i)) * x in every lane; and the sums of the halves of two of them each.
  alignas(64) std::uint8_t step_power[group][Vector::blocks][16];
  alignas(64) std::uint8_t step_halves[group / 2][Vector::blocks][2][8];
  // H^(end_powers - i) * x, and in both halves the sum of its halves; the zeros behind them meet
  // the zeros behind a text.
  static constexpr unsigned end_entries = end_powers + 2 * Vector::blocks - 1;
  alignas(64) Block end_power[end_entries];
  alignas(64) Block end_halves[end_entries];
  // First-round differences: entry c is at first_round[c], the first used one on a cache line.
  alignas(64) Block padding_before_first_round[2];
  Block first_round[256 + first_text_counter];
  unsigned rounds;
};

// fn(0), fn(1), ... as straight-line code: the compilers' own unrolling gives up on bodies this
// large.
template <unsigned Count, typename Fn>
PAES_INLINE void unrolled(Fn&& fn) noexcept {
  if constexpr (Count != 0) {
    unrolled<Count - 1>(fn);
    fn(Count - 1);
  }
}

template <class Vector>
struct StitchedGcm {
  using Register = typename Vector::Register;
  using Keys = StitchedKeys<Vector>;
  static constexpr unsigned batch = Vector::batch;
  static constexpr unsigned lanes = Vector::blocks;
  static constexpr std::size_t vector_bytes = std::size_t{lanes} * block_bytes;
  static constexpr unsigned batch_blocks = Keys::batch_blocks;
  static constexpr std::size_t batch_bytes = batch * vector_bytes;

  static_assert(sizeof(Keys) <= sizeof(KernelKeys));
  static_assert(alignof(Keys) <= alignof(KernelKeys));
  static_assert(256 % batch_blocks == 0);
  static_assert(batch <= 8, "AES-128 leaves room for eight steps of the hash between its rounds");

  PAES_INLINE static const Keys& keys_in(const KernelKeys& keys) noexcept {
    return *reinterpret_cast<const Keys*>(keys.bytes);
  }

  static void prepare(const RoundKeys& round_keys, KernelKeys& kernel_keys) noexcept {
    Keys& keys = *new (kernel_keys.bytes) Keys{};
    keys.rounds = round_keys.rounds;
    for (unsigned round = 0; round <= round_keys.rounds; ++round) {
      const __m128i key = load_block(round_keys.key[round].bytes);
      const bool is_outer = round == 0 || round == round_keys.rounds;
      const __m128i inverse = is_outer ? key : _mm_aesimc_si128(key);
      for (unsigned lane = 0; lane < lanes; ++lane) {
        store_block(keys.round_key[round][lane], key);
        store_block(keys.inverse_key[round_keys.rounds - round][lane], inverse);
      }
    }
    prepare_powers(round_keys, keys);
    prepare_first_round(round_keys, keys);
  }

  static void prepare_powers(const RoundKeys& round_keys, Keys& keys) noexcept {
    __m128i h = load_block(round_keys.key[0].bytes);  // E(0), section 6.4
    for (unsigned round = 1; round < round_keys.rounds; ++round) {
      h = _mm_aesenc_si128(h, load_block(round_keys.key[round].bytes));
    }
    h = reverse_block(_mm_aesenclast_si128(h, load_block(round_keys.key[round_keys.rounds].bytes)));
    const __m128i h_times_x = times_x(h);
    __m128i power = h;
    constexpr unsigned all_powers = std::max(Keys::end_powers, Keys::group * lanes);
    for (unsigned exponent = 1; exponent <= all_powers; ++exponent) {
      const __m128i power_times_x = times_x(power);
      const __m128i halves = _mm_xor_si128(power_times_x, OneBlock::swap_halves(power_times_x));
      if (exponent <= Keys::end_powers) {
        store_block(keys.end_power[Keys::end_powers - exponent].bytes, power_times_x);
        store_block(keys.end_halves[Keys::end_powers - exponent].bytes, halves);
      }
      if (exponent % lanes == 0 && exponent <= Keys::group * lanes) {
        const unsigned index = Keys::group - exponent / lanes;
        for (unsigned lane = 0; lane < lanes; ++lane) {
          store_block(keys.step_power[index][lane], power_times_x);
          _mm_storel_epi64(reinterpret_cast<__m128i*>(keys.step_halves[index / 2][lane][index % 2]),
                           halves);
        }
      }
      power = multiply_blocks(power, h_times_x);
    }
  }

  static void prepare_first_round(const RoundKeys& round_keys, Keys& keys) noexcept {
    const __m128i whitening = load_block(round_keys.key[0].bytes);
    const __m128i zero = _mm_setzero_si128();
    const __m128i at_zero = _mm_aesenc_si128(whitening, zero);
    for (unsigned entry = 0; entry < 256 + first_text_counter; ++entry) {
      const __m128i counter = _mm_insert_epi8(zero, static_cast<int>(entry & 0xff), 15);
      const __m128i state = _mm_aesenc_si128(_mm_xor_si128(counter, whitening), zero);
      store_block(keys.first_round[entry].bytes, _mm_xor_si128(state, at_zero));
    }
  }

  // The counters of one message: everything but the running count is fixed.
  struct Counters {
    Register reversed;  // the counter block, byte-reversed, count 0, in every lane
    std::uint32_t next;
    bool is_public;

    PAES_INLINE static Counters at(const ModeState& state, std::uint64_t first_block) noexcept {
      const __m128i reversed = reverse_block(load_block(state.counter.bytes));
      const __m128i fixed = _mm_and_si128(reversed, _mm_set_epi32(-1, -1, -1, 0));
      return {Vector::broadcast(fixed),
              static_cast<std::uint32_t>(_mm_cvtsi128_si32(reversed)) +
                  static_cast<std::uint32_t>(first_block),
              state.is_counter_public};
    }
    // Counter blocks count, count + 1, ... as the cipher takes them.
    [[nodiscard]] PAES_INLINE static Register blocks(Register reversed_block,
                                                     std::uint32_t count) noexcept {
      return Vector::reverse_bytes(Vector::add_count(reversed_block, count));
    }
  };

  // What blocks of equal counter but for the last byte share after the first round.
  struct FirstRound {
    Register body;  // for all registers of a batch but those that hold its last two blocks
    Register last;

    PAES_INLINE static Register shared(const Keys& keys, const Counters& counters,
                                       std::uint32_t count) noexcept {
      const Register block = Counters::blocks(counters.reversed, count & ~std::uint32_t{0xff});
      // Lanes 1.. of `block` already count on; only lane 0 has a last byte of zero.
      const Register state =
          Vector::xor2(Vector::broadcast(Vector::first_block(block)), load(keys.round_key[0]));
      return Vector::aes_round(state, load(keys.round_key[1]));
    }
  };

  template <typename Bytes>
  PAES_INLINE static Register load(const Bytes& from) noexcept {
    return Vector::load(&from);
  }

  // Hashing of `batch` registers of ciphertext, step by step, while something else runs. Two
  // registers go together: sorting their halves costs what swapping them would, but then one XOR
  // makes Karatsuba's middle factors of both, and products are added three at a time.
  struct BatchHash {
    const Keys& keys;
    const std::uint8_t* text;
    unsigned place;  // of the batch's first register in its group
    Product<Vector> sum;
    Register low;   // the low halves of the pair's values
    Register high;  // the high halves

    PAES_INLINE static void add(BatchHash& hash, unsigned index, Register chain) noexcept {
      if (index % 2 == 0) {
        const std::uint8_t* at = hash.text + index * vector_bytes;
        const Register even = Vector::load(at);
        const Register odd = Vector::load(at + vector_bytes);
        hash.low = Vector::reversed_low_halves(even, odd);
        hash.high = Vector::reversed_high_halves(even, odd);
        if (index == 0) {
          hash.low = Vector::xor2(hash.low, Vector::low_half(chain));
          hash.high = Vector::xor2(hash.high, Vector::high_half(chain));
        }
        const Register halves = load(hash.keys.step_halves[(hash.place + index) / 2]);
        const Register middle = Vector::xor2(hash.low, hash.high);
        hash.sum.middle =
            Vector::xor3(hash.sum.middle, Vector::template multiply<0x00>(middle, halves),
                         Vector::template multiply<0x11>(middle, halves));
      } else {
        const Register even = load(hash.keys.step_power[hash.place + index - 1]);
        const Register odd = load(hash.keys.step_power[hash.place + index]);
        hash.sum.low = Vector::xor3(hash.sum.low, Vector::template multiply<0x00>(hash.low, even),
                                    Vector::template multiply<0x01>(hash.low, odd));
        hash.sum.high =
            Vector::xor3(hash.sum.high, Vector::template multiply<0x10>(hash.high, even),
                         Vector::template multiply<0x11>(hash.high, odd));
      }
    }
  };

  // Encrypts one batch of counters and XORs the text; between the rounds, `between(i)` is called
  // once for each i below `batch`.
  template <unsigned Rounds, bool SharedRound, typename Between>
  PAES_INLINE static void crypt_batch(const Keys& keys, const Counters& counters,
                                      const FirstRound& first, const std::uint8_t* in,
                                      std::uint8_t* out, Between&& between) noexcept {
    Register state[batch];
    if constexpr (SharedRound) {
      constexpr unsigned last_registers = (first_text_counter + lanes - 1) / lanes;
      const Block* differences = keys.first_round + (counters.next & 0xff);
      for (unsigned i = 0; i < batch; ++i) {
        state[i] = Vector::xor2(Vector::load(differences + std::size_t{i} * lanes),
                                i < batch - last_registers ? first.body : first.last);
      }
    } else {
      const Register whitening = load(keys.round_key[0]);
      const Register key = load(keys.round_key[1]);
      for (unsigned i = 0; i < batch; ++i) {
        state[i] =
            Vector::xor2(Counters::blocks(counters.reversed, counters.next + i * lanes), whitening);
        state[i] = Vector::aes_round(state[i], key);
      }
    }
    unrolled<Rounds - 2>([&](unsigned step) __attribute__((always_inline)) {
      const Register key = load(keys.round_key[step + 2]);
      for (unsigned i = 0; i < batch; ++i) {
        state[i] = Vector::aes_round(state[i], key);
      }
      if (step < batch) {
        between(step);
      }
    });
    const Register key = load(keys.round_key[Rounds]);
    for (unsigned i = 0; i < batch; ++i) {
      // The last round's key addition takes the text along.
      const Register mask = Vector::xor2(key, Vector::load(in + i * vector_bytes));
      Vector::store(out + i * vector_bytes, Vector::aes_last_round(state[i], mask));
    }
  }

  // Fewer registers than a batch; the last may be partial. `bytes` is at most Count registers.
  template <unsigned Rounds, unsigned Count>
  PAES_INLINE static void crypt_few(const Keys& keys, const Counters& counters,
                                    const std::uint8_t* in, std::uint8_t* out,
                                    std::size_t bytes) noexcept {
    Register state[Count];
    const Register whitening = load(keys.round_key[0]);
    for (unsigned i = 0; i < Count; ++i) {
      state[i] =
          Vector::xor2(Counters::blocks(counters.reversed, counters.next + i * lanes), whitening);
    }
    for (unsigned round = 1; round < Rounds; ++round) {
      const Register key = load(keys.round_key[round]);
      for (unsigned i = 0; i < Count; ++i) {
        state[i] = Vector::aes_round(state[i], key);
      }
    }
    const Register key = load(keys.round_key[Rounds]);
    for (unsigned i = 0; i < Count; ++i) {
      const std::size_t at = i * vector_bytes;
      if (at + vector_bytes <= bytes) {
        const Register mask = Vector::xor2(key, Vector::load(in + at));
        Vector::store(out + at, Vector::aes_last_round(state[i], mask));
      } else if (at < bytes) {
        alignas(64) std::uint8_t partial[vector_bytes] = {};
        std::memcpy(partial, in + at, bytes - at);
        const Register mask = Vector::xor2(key, Vector::load(partial));
        Vector::store(partial, Vector::aes_last_round(state[i], mask));
        std::memcpy(out + at, partial, bytes - at);
        forget(partial);
      }
    }
  }

  template <unsigned Rounds>
  PAES_NOINLINE static void crypt_rest(const Keys& keys, const Counters& counters,
                                       const std::uint8_t* in, std::uint8_t* out,
                                       std::size_t bytes) noexcept {
    if (bytes > batch_bytes / 2) {
      crypt_few<Rounds, batch>(keys, counters, in, out, bytes);
    } else if (bytes > vector_bytes) {
      crypt_few<Rounds, batch / 2>(keys, counters, in, out, bytes);
    } else {
      crypt_few<Rounds, 1>(keys, counters, in, out, bytes);
    }
  }

  // Overwrites text left on the stack, in a way the compiler may not drop.
  PAES_INLINE static void forget(std::uint8_t (&text)[vector_bytes]) noexcept {
    std::memset(text, 0, sizeof text);
    asm volatile("" : : "r"(text) : "memory");
  }

  // A register of text[at, bytes), zeros where the text has ended.
  PAES_INLINE static Register load_padded(const std::uint8_t* text, std::size_t at,
                                          std::size_t bytes) noexcept {
    if (at + vector_bytes <= bytes) {
      return Vector::load(text + at);
    }
    if (at >= bytes) {
      return Vector::zero();
    }
    alignas(64) std::uint8_t partial[vector_bytes] = {};
    std::memcpy(partial, text + at, bytes - at);
    const Register value = Vector::load(partial);
    forget(partial);
    return value;
  }

  // Hashes what is left when no whole batch follows: at most two batches of text, the last block
  // padded with zeros, then `length` where there is one, and joins the lanes. `chain` holds the
  // lanes' sums so far; it may be zero in lanes beyond the text only, which holds because either a
  // batch is left or nothing was hashed before but a single block's value in lane 0.
  PAES_NOINLINE static __m128i hash_end(const Keys& keys, Register chain, const std::uint8_t* text,
                                        std::size_t bytes, const Block* length) noexcept {
    const std::size_t blocks = (bytes + block_bytes - 1) / block_bytes + (length != nullptr);
    const Block* power = keys.end_power + (Keys::end_powers - blocks);
    Product<Vector> sum{Vector::zero(), Vector::zero(), Vector::zero()};
    const auto* halves = keys.end_halves + (power - keys.end_power);
    for (std::size_t at = 0; at < bytes; at += 2 * vector_bytes) {
      const Register even = load_padded(text, at, bytes);
      const Register odd = load_padded(text, at + vector_bytes, bytes);
      Register low = Vector::reversed_low_halves(even, odd);
      Register high = Vector::reversed_high_halves(even, odd);
      if (at == 0) {
        low = Vector::xor2(low, Vector::low_half(chain));
        high = Vector::xor2(high, Vector::high_half(chain));
      }
      const Register middle = Vector::xor2(low, high);
      const Register even_power = load(power[0]);
      const Register odd_power = load(power[lanes]);
      sum.low = Vector::xor3(sum.low, Vector::template multiply<0x00>(low, even_power),
                             Vector::template multiply<0x01>(low, odd_power));
      sum.high = Vector::xor3(sum.high, Vector::template multiply<0x10>(high, even_power),
                              Vector::template multiply<0x11>(high, odd_power));
      sum.middle =
          Vector::xor3(sum.middle, Vector::template multiply<0x00>(middle, load(halves[0])),
                       Vector::template multiply<0x01>(middle, load(halves[lanes])));
      power += std::size_t{2} * lanes;
      halves += std::size_t{2} * lanes;
    }
    Product<OneBlock> joined{Vector::join(sum.low), Vector::join(sum.middle),
                             Vector::join(sum.high)};
    if (length != nullptr) {
      __m128i value = reverse_block(load_block(length->bytes));
      if (bytes == 0) {
        value = _mm_xor_si128(value, Vector::first_block(chain));
      }
      const __m128i h = load_block(keys.end_power[Keys::end_powers - 1].bytes);
      const __m128i value_halves = _mm_xor_si128(value, OneBlock::swap_halves(value));
      const __m128i h_halves = _mm_xor_si128(h, OneBlock::swap_halves(h));
      joined.low = _mm_xor_si128(joined.low, _mm_clmulepi64_si128(value, h, 0x00));
      joined.high = _mm_xor_si128(joined.high, _mm_clmulepi64_si128(value, h, 0x11));
      joined.middle =
          _mm_xor_si128(joined.middle, _mm_clmulepi64_si128(value_halves, h_halves, 0x00));
    } else if (bytes == 0) {
      return Vector::first_block(chain);
    }
    return reduce<OneBlock>(joined, reduction_block());
  }

  enum class Direction { encrypt, decrypt, verify, keystream };

  // The one loop. Text and, unless Which is keystream, its hash; `length` is hashed last if given.
  template <unsigned Rounds, Direction Which, bool SharedRound>
  PAES_NOINLINE static __m128i run_text(const Keys& keys, Counters counters, __m128i hash,
                                        const Piece& piece, const Block* length) noexcept {
    const Register constant = Vector::broadcast(reduction_block());
    const std::uint8_t* in = piece.in;
    std::uint8_t* out = piece.out;
    std::size_t left = piece.bytes;
    Register chain = Vector::only_first(hash);
    FirstRound first{Vector::zero(), Vector::zero()};
    if constexpr (SharedRound) {
      first.body = first.last = FirstRound::shared(keys, counters, counters.next);
    }

    const auto crypt = [&](auto&& between) __attribute__((always_inline)) {
      bool carries = false;
      Register next_body = first.body;
      if constexpr (SharedRound) {
        carries = (counters.next & 0xff) == 256 - batch_blocks + first_text_counter;
        if (carries) {
          next_body = FirstRound::shared(keys, counters, counters.next + batch_blocks);
          first.last = Vector::last_two(first.body, next_body);
        }
      }
      crypt_batch<Rounds, SharedRound>(keys, counters, first, in, out, between);
      if (SharedRound && carries) {
        first.body = first.last = next_body;
      }
      counters.next += batch_blocks;
    };
    // The first group has as many batches as leave whole groups behind it.
    Product<Vector> sum{Vector::zero(), Vector::zero(), Vector::zero()};
    unsigned place = 0;
    const auto start_groups = [&](std::size_t batches) {
      const std::size_t incomplete = batches % Vector::group_batches;
      place =
          incomplete == 0 ? 0 : static_cast<unsigned>(Vector::group_batches - incomplete) * batch;
    };
    const auto hash_batch = [&](const std::uint8_t* text, auto&& run)
        __attribute__((always_inline)) {
      BatchHash batch_hash{keys, text, place, sum, Vector::zero(), Vector::zero()};
      run([&](unsigned index)
              __attribute__((always_inline)) { BatchHash::add(batch_hash, index, chain); });
      place += batch;
      if (Vector::group_batches == 1 || place == Keys::group) {
        chain = reduce<Vector>(batch_hash.sum, constant);
        sum = {Vector::zero(), Vector::zero(), Vector::zero()};
        place = 0;
      } else {
        sum = batch_hash.sum;
        chain = Vector::zero();
      }
    };
    const auto step = [&]() __attribute__((always_inline)) {
      in += batch_bytes;
      out += Which == Direction::verify ? 0 : batch_bytes;
      left -= batch_bytes;
    };
    constexpr auto nothing = [](unsigned) {};

    if constexpr (Which == Direction::keystream) {
      while (left >= batch_bytes) {
        crypt(nothing);
        step();
      }
      if (left != 0) {
        crypt_rest<Rounds>(keys, counters, in, out, left);
      }
      return hash;
    } else if constexpr (Which == Direction::encrypt) {
      // The hash follows one batch behind; a batch is left for the end.
      std::size_t behind = 0;
      if (left >= batch_bytes) {
        crypt(nothing);
        step();
        behind = batch_bytes;
      }
      start_groups(left / batch_bytes);
      while (left >= batch_bytes) {
        hash_batch(out - batch_bytes, crypt);
        step();
      }
      if (left != 0) {
        crypt_rest<Rounds>(keys, counters, in, out, left);
      }
      return hash_end(keys, chain, out - behind, behind + left, length);
    } else {
      // The hash reads what decryption in place overwrites, so it runs with it, and the end before
      // it.
      start_groups(left / batch_bytes - (left >= batch_bytes));  // one is kept for the end
      while (left >= 2 * batch_bytes) {
        if constexpr (Which == Direction::decrypt) {
          hash_batch(in, crypt);
        } else {
          hash_batch(
              in, [](auto&& add) __attribute__((always_inline)) {
                for (unsigned index = 0; index < batch; ++index) {
                  add(index);
                }
              });
        }
        step();
      }
      const __m128i value = hash_end(keys, chain, in, left, length);
      if constexpr (Which == Direction::decrypt) {
        if (left >= batch_bytes) {
          crypt(nothing);
          step();
        }
        if (left != 0) {
          crypt_rest<Rounds>(keys, counters, in, out, left);
        }
      }
      return value;
    }
  }

  PAES_INLINE static __m128i encrypt_block(const Keys& keys, const Block& block) noexcept {
    __m128i state = _mm_xor_si128(load_block(block.bytes), load_block(keys.round_key[0]));
    for (unsigned round = 1; round < keys.rounds; ++round) {
      state = _mm_aesenc_si128(state, load_block(keys.round_key[round]));
    }
    return _mm_aesenclast_si128(state, load_block(keys.round_key[keys.rounds]));
  }

  template <unsigned Rounds, Direction Which>
  PAES_INLINE static __m128i run_rounds(const Keys& keys, const Counters& counters, __m128i hash,
                                        const Piece& piece, const Block* length) noexcept {
    if (Which != Direction::verify && counters.is_public &&
        counters.next % batch_blocks == first_text_counter) {
      return run_text<Rounds, Which, true>(keys, counters, hash, piece, length);
    }
    return run_text<Rounds, Which, false>(keys, counters, hash, piece, length);
  }

  template <Direction Which>
  PAES_INLINE static __m128i run(const Keys& keys, const Counters& counters, __m128i hash,
                                 const Piece& piece, const Block* length) noexcept {
    if constexpr (Which == Direction::verify) {  // no cipher in it
      return run_text<10, Which, false>(keys, counters, hash, piece, length);
    }
    switch (keys.rounds) {
      case 10:
        return run_rounds<10, Which>(keys, counters, hash, piece, length);
      case 12:
        return run_rounds<12, Which>(keys, counters, hash, piece, length);
      default:
        return run_rounds<14, Which>(keys, counters, hash, piece, length);
    }
  }

  // Operations on pieces.
  template <Direction Which>
  static void piece_run(const KernelKeys& kernel_keys, const ModeState& state,
                        const Piece& piece) noexcept {
    const Keys& keys = keys_in(kernel_keys);
    const __m128i hash = Which == Direction::keystream
                             ? _mm_setzero_si128()
                             : reverse_block(load_block(piece.hash->bytes));
    const __m128i value =
        run<Which>(keys, Counters::at(state, piece.first_block), hash, piece, nullptr);
    if (Which != Direction::keystream) {
      store_block(piece.hash->bytes, reverse_block(value));
    }
  }

  // Operations on whole messages: *hash becomes the tag.
  template <Direction Which>
  static void message_run(const KernelKeys& kernel_keys, const ModeState& state,
                          const Piece& piece) noexcept {
    const Keys& keys = keys_in(kernel_keys);
    const Block length = gcm::length_block(state.aad_bytes, piece.bytes);
    const __m128i mask = encrypt_block(keys, state.counter);
    const __m128i value = run<Which>(keys, Counters::at(state, 1),
                                     reverse_block(load_block(piece.hash->bytes)), piece, &length);
    store_block(piece.hash->bytes, _mm_xor_si128(reverse_block(value), mask));
  }

  static constexpr GcmRuns runs = {{piece_run<Direction::verify>, piece_run<Direction::encrypt>,
                                    piece_run<Direction::decrypt>, message_run<Direction::encrypt>,
                                    message_run<Direction::decrypt>,
                                    message_run<Direction::verify>}};
  static constexpr RunFunction ctr = piece_run<Direction::keystream>;
};

}  // namespace
}  // namespace paes
