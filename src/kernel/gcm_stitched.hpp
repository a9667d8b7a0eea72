// SPDX-License-Identifier: Apache-2.0
// AES-GCM with the cipher's and the hash's instructions interleaved, for x86 processors that have
// AES and carry-less multiply on registers of one, two or four blocks. A kernel file supplies a
// `Vector` (one instruction set) and gets every operation from `StitchedGcm`.
//
// Three ideas carry the speed:
// - A flight of eight registers goes through the cipher at once, enough to hide the latency of the
//   AES round. The hash of the previous flight (encryption) or of the same flight (decryption) runs
//   between the rounds.
// - The hash is deferred. Each lane of a register is its own Horner chain with step H^lanes.
//   Products are added unreduced over a group of flights (Karatsuba, three multiplications a
//   register), one reduction serves a group, and the lanes are joined only at the end of the piece.
// - Counters of one flight differ only in the last byte, so after the first AES round they differ
//   only in one column. That column is a function of key and last counter byte. A table of it, with
//   256 entries made once per key, replaces counter arithmetic and the first round by one XOR with
//   memory. Its index is the counter, never the key or the data; where the counter itself is secret
//   (Piece, is_counter_public) the table is not used. The table starts at counter 2, the first of a
//   message with a 96-bit IV. So a carry never parts a flight, except before its last two blocks.
//
// Hash values inside are byte-reversed blocks, so that bit i of the register is the coefficient of
// x^(127-i); powers of H are kept multiplied by x, which absorbs the shift that a product of two
// reflected values needs (Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction and its
// Usage for Computing the GCM Mode", 2010).
#pragma once

#include "kernel/gcm_from_parts.hpp"
#include "kernel/short_message.hpp"
#include "kernel/stitched_ends.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// fn(0), fn(1), ... as straight-line code: compilers do not unroll bodies this large themselves.
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
  using Ends = StitchedEnds<Vector>;
  using Counters = typename Ends::Counters;
  static constexpr unsigned flight = Vector::flight;
  static constexpr unsigned lanes = Vector::blocks;
  static constexpr std::size_t vector_bytes = std::size_t{lanes} * block_bytes;
  static constexpr unsigned flight_blocks = Keys::flight_blocks;
  static constexpr std::size_t flight_bytes = flight * vector_bytes;
  static_assert(256 % flight_blocks == 0);
  static_assert(flight <= 8, "AES-128 leaves room for eight steps of the hash between its rounds");

  static void prepare(const RoundKeys& round_keys, KernelKeys& kernel_keys) noexcept {
    (new (kernel_keys.bytes) Keys{})->prepare(round_keys);
  }

  // Where the counters of a text begin, small enough for registers.
  struct FirstCounter {
    const CounterBlock* block = nullptr;  // all but the count
    std::uint32_t count = 0;
    bool is_public = false;

    // `ahead` blocks after `block`.
    PAES_INLINE static FirstCounter of(const CounterBlock& block, std::uint32_t ahead,
                                       bool is_public) noexcept {
      return {&block, load_be32(block.bytes + block_bytes - 4) + ahead, is_public};
    }
  };

  // What blocks share after the first round if their counters differ only in the last byte.
  struct FirstRound {
    Register body;  // for all registers of a flight but those that hold its last two blocks
    Register last;

    PAES_INLINE static Register shared(const Keys& keys, const Counters& counters,
                                       std::uint32_t count) noexcept {
      const Register block = Counters::blocks(counters.reversed, count & ~std::uint32_t{0xff});
      // Lanes 1.. of `block` already count on, so only lane 0 has a last byte of zero.
      const Register state = Vector::xor2(Vector::broadcast(Vector::first_block(block)),
                                          Vector::load(&keys.round_key[0]));
      return Vector::aes_round(state, Vector::load(&keys.round_key[1]));
    }
  };

  // Hashes a flight of ciphertext step by step, while something else runs. It takes two registers
  // at a time: sorting their halves costs as much as swapping them, but afterwards one XOR makes
  // Karatsuba's middle factors of both, and products are added three at a time.
  struct FlightHash {
    const Keys& keys;
    const std::uint8_t* text;
    unsigned place;  // of the flight's first register, in its group
    Product<Vector> sum;
    Register low;   // the low halves of the pair's values
    Register high;  // the high halves

    PAES_INLINE static void add(FlightHash& hash, unsigned index, Register chain) noexcept {
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
        const Register halves = Vector::load(&hash.keys.step_halves[(hash.place + index) / 2]);
        const Register middle = Vector::xor2(hash.low, hash.high);
        hash.sum.middle =
            Vector::xor3(hash.sum.middle, Vector::template multiply<0x00>(middle, halves),
                         Vector::template multiply<0x11>(middle, halves));
      } else {
        const Register even = Vector::load(&hash.keys.step_power[hash.place + index - 1]);
        const Register odd = Vector::load(&hash.keys.step_power[hash.place + index]);
        hash.sum.low = Vector::xor3(hash.sum.low, Vector::template multiply<0x00>(hash.low, even),
                                    Vector::template multiply<0x01>(hash.low, odd));
        hash.sum.high =
            Vector::xor3(hash.sum.high, Vector::template multiply<0x10>(hash.high, even),
                         Vector::template multiply<0x11>(hash.high, odd));
      }
    }
  };

  // Encrypts one flight of counters and XORs the text. Between the rounds, calls `between(i)` once
  // for each i below `flight`.
  template <unsigned Rounds, bool SharedRound, typename Between>
  PAES_INLINE static void crypt_flight(const Keys& keys, const Counters& counters,
                                       const FirstRound& first, const std::uint8_t* in,
                                       std::uint8_t* out, Between&& between) noexcept {
    Register state[flight];
    if constexpr (SharedRound) {
      constexpr unsigned last_registers = (first_text_counter + lanes - 1) / lanes;
      const Block* differences = keys.first_round + (counters.next & 0xff);
      for (unsigned i = 0; i < flight; ++i) {
        state[i] = Vector::xor2(Vector::load(differences + std::size_t{i} * lanes),
                                i < flight - last_registers ? first.body : first.last);
      }
    } else {
      const Register whitening = Vector::load(&keys.round_key[0]);
      const Register key = Vector::load(&keys.round_key[1]);
      for (unsigned i = 0; i < flight; ++i) {
        state[i] =
            Vector::xor2(Counters::blocks(counters.reversed, counters.next + i * lanes), whitening);
        state[i] = Vector::aes_round(state[i], key);
      }
    }
    unrolled<Rounds - 2>([&](unsigned step) __attribute__((always_inline)) {
      const Register key = Vector::load(&keys.round_key[step + 2]);
      for (unsigned i = 0; i < flight; ++i) {
        state[i] = Vector::aes_round(state[i], key);
      }
      if (step < flight) {
        between(step);
      }
    });
    const Register key = Vector::load(&keys.round_key[Rounds]);
    for (unsigned i = 0; i < flight; ++i) {
      // XORed to the last round's key, so that the last round adds the text, too.
      const Register mask = Vector::xor2(key, Vector::load(in + i * vector_bytes));
      Vector::store(out + i * vector_bytes, Vector::aes_last_round(state[i], mask));
    }
  }

  enum class Direction { encrypt, decrypt, verify, keystream };

  // A run over a text: its state between flights, and its steps. All steps are inlined into
  // run_text, where the members become registers; so nothing may take a member's address.
  template <unsigned Rounds, Direction Which, bool SharedRound>
  struct TextRun {  // NOLINT(clang-analyzer-optin.performance.Padding): nothing of it is in memory
    const Keys& keys;
    Counters& counters;
    const std::uint8_t* in;
    std::uint8_t* out;
    std::size_t left;
    Register chain;  // the hash so far, one chain per lane
    FirstRound first{Vector::zero(), Vector::zero()};
    Product<Vector> sum{Vector::zero(), Vector::zero(), Vector::zero()};  // of the group so far
    unsigned place = 0;  // of the next flight's first register, in its group

    static constexpr auto nothing = [](unsigned) {};

    PAES_INLINE void step() noexcept {
      in += flight_bytes;
      out += Which == Direction::verify ? 0 : flight_bytes;
      left -= flight_bytes;
    }

    template <typename Between>
    PAES_INLINE void crypt(Between&& between) noexcept {
      bool carries = false;
      Register next_body = first.body;
      if constexpr (SharedRound) {
        carries = (counters.next & 0xff) == 256 - flight_blocks + first_text_counter;
        if (carries) {
          next_body = FirstRound::shared(keys, counters, counters.next + flight_blocks);
          first.last = Vector::last_two(first.body, next_body);
        }
      }
      crypt_flight<Rounds, SharedRound>(keys, counters, first, in, out, between);
      if (SharedRound && carries) {
        first.body = first.last = next_body;
      }
      counters.next += flight_blocks;
    }

    // Less than a flight.
    PAES_INLINE void crypt_rest() const noexcept {
      if (left != 0) {
        Ends::template crypt_rest<Rounds>(keys, counters.reversed, counters.next, in, out, left);
      }
    }

    // If a group is incomplete, it is the first.
    PAES_INLINE void start_groups(std::size_t flights) noexcept {
      const std::size_t incomplete = flights % Vector::group_flights;
      place =
          incomplete == 0 ? 0 : static_cast<unsigned>(Vector::group_flights - incomplete) * flight;
    }

    // Hashes a flight, and meanwhile encrypts the next one or decrypts this one. If Which is
    // verify, it only hashes.
    PAES_INLINE void hash_flight(const std::uint8_t* hashed) noexcept {
      FlightHash flight_hash{keys, hashed, place, sum, Vector::zero(), Vector::zero()};
      const auto add = [&](unsigned index) __attribute__((always_inline)) {
        FlightHash::add(flight_hash, index, chain);
      };
      if constexpr (Which == Direction::verify) {
        for (unsigned index = 0; index < flight; ++index) {
          add(index);
        }
      } else {
        crypt(add);
      }
      place += flight;
      if (Vector::group_flights == 1 || place == Keys::group) {
        chain = reduce<Vector>(flight_hash.sum, Vector::broadcast(reduction_block()));
        sum = {Vector::zero(), Vector::zero(), Vector::zero()};
        place = 0;
      } else {
        sum = flight_hash.sum;
        chain = Vector::zero();
      }
    }

    PAES_INLINE void keystream() noexcept {
      while (left >= flight_bytes) {
        crypt(nothing);
        step();
      }
      crypt_rest();
    }

    // The hash stays one flight behind; the last flight is hashed at the end.
    PAES_INLINE __m128i encrypt(const Block* length) noexcept {
      std::size_t behind = 0;
      if (left >= flight_bytes) {
        crypt(nothing);
        step();
        behind = flight_bytes;
      }
      start_groups(left / flight_bytes);
      while (left >= flight_bytes) {
        hash_flight(out - flight_bytes);
        step();
      }
      crypt_rest();
      return Ends::hash_end(keys, chain, out - behind, behind + left, length);
    }

    // Decryption in place overwrites what the hash reads. So each flight is hashed while it is
    // decrypted, and the rest before it is decrypted.
    PAES_INLINE __m128i decrypt(const Block* length) noexcept {
      start_groups(left / flight_bytes - (left >= flight_bytes));  // one is kept for the end
      while (left >= 2 * flight_bytes) {
        hash_flight(in);
        step();
      }
      const __m128i value = Ends::hash_end(keys, chain, in, left, length);
      if constexpr (Which == Direction::decrypt) {
        if (left >= flight_bytes) {
          crypt(nothing);
          step();
        }
        crypt_rest();
      }
      return value;
    }
  };

  // Transforms a text and, unless Which is keystream, hashes it; then `length`, if given.
  template <unsigned Rounds, Direction Which, bool SharedRound>
  PAES_NOINLINE static __m128i run_text(const Keys& keys, FirstCounter first, __m128i hash,
                                        const Text& text, const Block* length) noexcept {
    Counters counters = {Vector::zero(), 0};
    if constexpr (Which != Direction::verify) {
      counters = Counters::at(*first.block, first.count);
    }
    TextRun<Rounds, Which, SharedRound> run{keys,     counters,   text.in,
                                            text.out, text.bytes, Vector::only_first(hash)};
    if constexpr (SharedRound) {
      run.first.body = run.first.last = FirstRound::shared(keys, counters, counters.next);
    }
    if constexpr (Which == Direction::keystream) {
      run.keystream();
      return hash;
    } else if constexpr (Which == Direction::encrypt) {
      return run.encrypt(length);
    } else {
      return run.decrypt(length);
    }
  }

  PAES_INLINE static __m128i encrypt_block(const Keys& keys, const CounterBlock& block) noexcept {
    __m128i state = _mm_xor_si128(load_block(block.bytes), load_block(keys.round_key[0]));
    for (unsigned round = 1; round < keys.rounds; ++round) {
      state = _mm_aesenc_si128(state, load_block(keys.round_key[round]));
    }
    return _mm_aesenclast_si128(state, load_block(keys.round_key[keys.rounds]));
  }

  template <unsigned Rounds, Direction Which>
  PAES_INLINE static __m128i run_rounds(const Keys& keys, FirstCounter first, __m128i hash,
                                        const Text& text, const Block* length) noexcept {
    if (Which != Direction::verify && first.is_public &&
        first.count % flight_blocks == first_text_counter) {
      return run_text<Rounds, Which, true>(keys, first, hash, text, length);
    }
    return run_text<Rounds, Which, false>(keys, first, hash, text, length);
  }

  template <Direction Which>
  PAES_INLINE static __m128i run(const Keys& keys, FirstCounter first, __m128i hash,
                                 const Text& text, const Block* length) noexcept {
    if constexpr (Which == Direction::verify) {  // no cipher in it
      return run_text<10, Which, false>(keys, first, hash, text, length);
    }
    switch (keys.rounds) {
      case 10:
        return run_rounds<10, Which>(keys, first, hash, text, length);
      case 12:
        return run_rounds<12, Which>(keys, first, hash, text, length);
      default:
        return run_rounds<14, Which>(keys, first, hash, text, length);
    }
  }

  // Compilers do this, except after a function that takes a wide register, such as hash_end.
  PAES_INLINE static void leave_registers_clean() noexcept {
#ifdef __AVX__
    if constexpr (lanes > 1) {
      _mm256_zeroupper();
    }
#endif
  }

  PAES_NOINLINE static void ctr(const KernelKeys& kernel_keys, const Piece& piece) noexcept {
    (void)run<Direction::keystream>(kernel_keys.as<Keys>(),
                                    FirstCounter::of(*piece.counter, 0, piece.is_counter_public),
                                    _mm_setzero_si128(), piece.text, nullptr);
    leave_registers_clean();
  }

  static void hash(const KernelKeys& kernel_keys, const std::uint8_t* in, std::size_t bytes,
                   HashValue& hash) noexcept {
    const __m128i value = run<Direction::verify>(kernel_keys.as<Keys>(), FirstCounter{},
                                                 reverse_block(load_block(hash.bytes)),
                                                 Text{in, nullptr, bytes}, nullptr);
    store_block(hash.bytes, reverse_block(value));
    leave_registers_clean();
  }

  template <Direction Which>
  static void run_piece(const KernelKeys& kernel_keys, const GcmPiece& piece,
                        HashValue& hash) noexcept {
    const __m128i value = run<Which>(kernel_keys.as<Keys>(),
                                     FirstCounter::of(*piece.counter, 0, piece.is_counter_public),
                                     reverse_block(load_block(hash.bytes)), piece.text, nullptr);
    store_block(hash.bytes, reverse_block(value));
    leave_registers_clean();
  }

  template <Direction Which>
  static void run_message(const KernelKeys& kernel_keys, const WholeMessage& message,
                          Tag& tag) noexcept {
    const Keys& keys = kernel_keys.as<Keys>();
    if constexpr (ShortMessage<Vector>::is_there) {
      if (message.text.bytes <= ShortMessage<Vector>::max_bytes) {
        ShortMessage<Vector>::template run<Which == Direction::encrypt, Which == Direction::verify>(
            keys, message, tag);
        return leave_registers_clean();
      }
    }
    const Block length = gcm::length_block(message.aad.size(), message.text.bytes);
    const __m128i mask = encrypt_block(keys, *message.pre_counter);
    const __m128i value =
        run<Which>(keys, FirstCounter::of(*message.pre_counter, 1, message.is_counter_public),
                   reverse_block(load_block(message.aad_hash->bytes)), message.text, &length);
    store_block(tag.bytes, _mm_xor_si128(reverse_block(value), mask));
    leave_registers_clean();
  }

  static constexpr GcmRuns runs = {.hash = hash,
                                   .encrypt = run_piece<Direction::encrypt>,
                                   .decrypt = run_piece<Direction::decrypt>,
                                   .seal = run_message<Direction::encrypt>,
                                   .open = run_message<Direction::decrypt>,
                                   .verify = run_message<Direction::verify>};
};

}  // namespace
}  // namespace paes
