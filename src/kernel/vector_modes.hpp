// SPDX-License-Identifier: Apache-2.0
// The raw modes of cipher/mode/mode.hpp on vector registers with AES instructions: the formula
// table made into code for the same `Vector` that StitchedGcm takes, a flight of registers at a
// time.
//
// - In parallel rows a flight is loaded, enciphered and only then stored, so that it may be in
//   place; what the next flight needs of the ciphertext is kept in a register. Ends shorter than a
//   flight go in flights of four, two and one register, then in a part of one.
// - XTS keeps the tweaks of a whole flight and multiplies each by x^(blocks of a flight): it shifts
//   by bytes and adds the bytes that fall out, times x^7 + x^2 + x + 1 (IEEE 1619, section 5.2).
//   Tweaks do not depend on the text, so this runs between the rounds.
// - Chained rows are those of vector_chains.hpp.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "cipher/mode/xts.hpp"
#include "kernel/gcm_stitched.hpp"
#include "kernel/mode_runs.hpp"
#include "kernel/vector_chains.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

template <class Vector>
struct VectorModes {
  using Gcm = StitchedGcm<Vector>;
  using Keys = typename Gcm::Keys;
  using Register = typename Vector::Register;
  using Counters = typename Gcm::Counters;
  static constexpr std::size_t block_size = block_bytes;
  static constexpr unsigned flight = Vector::flight;
  static constexpr unsigned lanes = Vector::blocks;
  static constexpr unsigned flight_blocks = Gcm::flight_blocks;
  static constexpr std::size_t vector_bytes = Gcm::vector_bytes;
  static constexpr std::size_t flight_bytes = Gcm::flight_bytes;
  static_assert(flight == 8, "ends go in flights of 4, 2 and 1; tweaks move on by whole bytes");

  static consteval ModeRuns runs() noexcept { return mode_runs<VectorModes>(); }

  // A parallel row.
  template <Operation Which>
  static void run(const KernelKeys& kernel_keys, const Piece& piece) noexcept {
    const Keys& keys = kernel_keys.as<Keys>();
    const Text& text = piece.text;
    const auto address = reinterpret_cast<std::uintptr_t>(text.out);
    const bool streams =
        piece.bypasses_caches && address % block_bytes == 0 && text.bytes >= 4 * flight_bytes;
    const WholeRegisters memory = {streams, streams && fetches_far(piece)};
    std::size_t head = streams ? (0 - address) % 64 : 0;
    if constexpr (Which == Operation::ctr) {
      if (!streams) {
        head = before_shared_round(piece) * block_bytes;
      }
    }
    if (head == 0) {
      return run_part<Which>(keys, kernel_keys, piece, memory);
    }
    run_in_two<Which>(keys, kernel_keys, piece, memory, head);
  }

  template <Operation Which>
  static void run_chains(const KernelKeys& keys, std::span<Chain> chains) noexcept {
    VectorChains<Vector>::template run<Which>(keys, chains);
  }

 private:
  struct WholeRegisters {
    bool streams;
    bool fetches_far;
    PAES_INLINE static Register load(const std::uint8_t* from) noexcept {
      return Vector::load(from);
    }
  };
  static constexpr WholeRegisters through_caches = {false, false};
  struct PartOfRegister {
    std::size_t blocks;
    [[nodiscard]] PAES_INLINE Register load(const std::uint8_t* from) const noexcept {
      return Vector::load_some(from, blocks);
    }
  };

  // Asked once a piece.
  static bool fetches_far(const Piece& piece) noexcept {
    const StreamFetch fetch =
        piece.fetch == StreamFetch::as_machine_prefers ? machine_stream_fetch() : piece.fetch;
    return fetch == StreamFetch::far;
  }

  // Blocks up to the first counter at which flights can share their first round; 0 if the rest is
  // too short to make up for one more piece.
  static std::size_t before_shared_round(const Piece& piece) noexcept {
    if (!piece.is_counter_public || piece.text.bytes < 16 * flight_bytes) {
      return 0;
    }
    const std::uint32_t count = load_be32(piece.counter->bytes + block_bytes - 4);
    return (first_text_counter - count) % flight_blocks;
  }

  // The head is a piece of its own, so that the rest is aligned.
  template <Operation Which>
  PAES_NOINLINE static void run_in_two(const Keys& keys, const KernelKeys& kernel_keys,
                                       const Piece& piece, WholeRegisters memory,
                                       std::size_t head) noexcept {
    const Text& text = piece.text;
    Piece first = piece;
    Piece rest = piece;
    first.text.bytes = head;
    rest.text = {text.in + head, text.out + head, text.bytes - head};
    CounterBlock counter = {};
    Tweak tweak = {};
    ChainBlock before = {};
    if constexpr (formula_of(Which).has_counter()) {
      counter = add_low_counter(*piece.counter, head / block_bytes, block_bytes);
      rest.counter = &counter;
    } else if constexpr (formula_of(Which).has_before()) {
      std::memcpy(before.bytes, rest.text.in - block_bytes, block_bytes);
      rest.before = &before;
    } else if constexpr (formula_of(Which).has_tweak()) {
      tweak = *piece.tweak;
      for (std::size_t at = 0; at < head; at += block_bytes) {
        tweak = xts::next_tweak(tweak);
      }
      rest.tweak = &tweak;
    }
    run_part<Which>(keys, kernel_keys, first, through_caches);
    run_part<Which>(keys, kernel_keys, rest, memory);
  }

  template <Operation Which>
  PAES_INLINE static void run_part(const Keys& keys, const KernelKeys& kernel_keys,
                                   const Piece& piece, WholeRegisters memory) noexcept {
    if (Which == Operation::ctr && !memory.streams) {
      return Gcm::ctr(kernel_keys, piece);
    }
    switch (keys.rounds) {
      case 10:
        return run_flights<Which, 10>(keys, piece, memory);
      case 12:
        return run_flights<Which, 12>(keys, piece, memory);
      default:
        return run_flights<Which, 14>(keys, piece, memory);
    }
  }

  // What one flight passes to the next.
  struct FlightState {
    Register before;  // its last block is the one before the flight
    Counters counters;
  };
  // The tweaks of a flight and of the next. In modes without tweaks they take no room on the stack.
  struct Tweaks {
    Register registers[2][flight];
    PAES_INLINE Register* of(unsigned which) noexcept { return registers[which]; }
  };
  struct NoTweaks {
    PAES_INLINE static Register* of(unsigned /*which*/) noexcept { return nullptr; }
  };

  template <Operation Which, unsigned Rounds>
  PAES_NOINLINE static void run_flights(const Keys& keys, const Piece& piece,
                                        WholeRegisters memory) noexcept {
    FlightState carried = {Vector::zero(), {Vector::zero(), 0}};
    std::conditional_t<formula_of(Which).has_tweak(), Tweaks, NoTweaks> tweaks;
    if constexpr (formula_of(Which).has_tweak()) {
      first_tweaks(*piece.tweak, tweaks.of(0));
    } else if constexpr (formula_of(Which).has_before()) {
      carried.before = Vector::broadcast(load_block(piece.before->bytes));
    } else if constexpr (formula_of(Which).pre == Term::counter) {
      carried.counters =
          Counters::at(*piece.counter, load_be32(piece.counter->bytes + block_bytes - 4));
    }
    const std::uint8_t* in = piece.text.in;
    std::uint8_t* out = piece.text.out;
    std::size_t left = piece.text.bytes;
    const Register came_round = Vector::broadcast(_mm_cvtsi64_si128((1LL << (8 * lanes)) - 1));
    unsigned now = 0;
    for (; left >= flight_bytes; left -= flight_bytes, in += flight_bytes, out += flight_bytes) {
      one_flight<Which, Rounds, flight>(
          keys, carried, tweaks.of(now), in, out,
          memory, [&](unsigned index) __attribute__((always_inline)) {
            if constexpr (formula_of(Which).has_tweak()) {
              if (index < flight) {
                tweaks.of(1 - now)[index] = next_flights(tweaks.of(now)[index], came_round);
              }
            }
          });
      now = 1 - now;
    }
    if (memory.streams) {
      _mm_sfence();
    }
    if (left != 0) {
      run_rest<Which>(keys, carried.before, carried.counters.reversed, carried.counters.next,
                      tweaks.of(now), in, out, left);
    }
  }

  // `left` is less than a flight, so one flight's tweaks suffice. What is carried comes in
  // registers, hence member by member.
  template <Operation Which>
  PAES_NOINLINE static void run_rest(const Keys& keys, Register before, Register reversed,
                                     std::uint32_t next, const Register* tweak,
                                     const std::uint8_t* in, std::uint8_t* out,
                                     std::size_t left) noexcept {
    FlightState carried = {before, {reversed, next}};
    const auto part = [&]<unsigned Count>() __attribute__((always_inline)) {
      if (left >= Count * vector_bytes) {
        one_flight<Which, 0, Count>(keys, carried, tweak, in, out, through_caches, nothing_between);
        if constexpr (formula_of(Which).has_tweak()) {
          tweak += Count;
        }
        in += Count * vector_bytes;
        out += Count * vector_bytes;
        left -= Count * vector_bytes;
      }
    };
    part.template operator()<4>();
    part.template operator()<2>();
    part.template operator()<1>();
    if constexpr (lanes > 1) {
      if (left != 0) {
        one_flight<Which, 0, 1>(keys, carried, tweak, in, out, PartOfRegister{left / block_bytes},
                                nothing_between);
      }
    }
  }

  template <Operation Which, unsigned Rounds, unsigned Count, class Memory, typename Between>
  PAES_INLINE static void one_flight(const Keys& keys, FlightState& carried, const Register* tweaks,
                                     const std::uint8_t* in, std::uint8_t* out, Memory memory,
                                     Between between) noexcept {
    constexpr Formula formula = formula_of(Which);
    const auto text_at = [&](unsigned i) __attribute__((always_inline)) {
      return memory.load(in + i * vector_bytes);
    };
    const auto before_at = [&](unsigned i) __attribute__((always_inline)) {
      return i == 0 ? Vector::following(carried.before, text_at(0))
                    : Vector::load(in + i * vector_bytes - block_bytes);
    };
    Register text[Count];
    const Register whitening = key_of<formula.inverse>(keys, 0);
    unrolled<Count>([&](unsigned i) __attribute__((always_inline)) {
      if constexpr (formula.pre == Term::in) {
        text[i] = Vector::xor2(text_at(i), whitening);
      } else if constexpr (formula.pre == Term::in_xor_tweak) {
        text[i] = Vector::xor3(text_at(i), tweaks[i], whitening);
      } else if constexpr (formula.pre == Term::before) {
        text[i] = Vector::xor2(before_at(i), whitening);
      } else {
        static_assert(formula.pre == Term::counter);
        text[i] = Vector::xor2(
            Counters::blocks(carried.counters.reversed, carried.counters.next + i * lanes),
            whitening);
      }
    });
    carried.counters.next += Count * lanes;
    inner_rounds<formula.inverse, Rounds>(keys, text, between);
    // The last round's key also adds what the formula adds to the cipher's output.
    const Register key = key_of<formula.inverse>(keys, Rounds == 0 ? keys.rounds : Rounds);
    unrolled<Count>([&](unsigned i) __attribute__((always_inline)) {
      Register mask = key;
      if constexpr (formula.post == Term::in) {
        mask = Vector::xor2(key, text_at(i));
      } else if constexpr (formula.post == Term::tweak) {
        mask = Vector::xor2(key, tweaks[i]);
      } else if constexpr (formula.post == Term::before) {
        mask = Vector::xor2(key, before_at(i));
      }
      text[i] = last_round<Vector, formula.inverse>(text[i], mask);
    });
    if constexpr (formula_of(Which).has_before()) {
      carried.before = text_at(Count - 1);
    }
    if constexpr (std::is_same_v<Memory, PartOfRegister>) {
      Vector::store_some(out, text[0], memory.blocks);
    } else if (memory.streams) {
      prefetch<Count * vector_bytes>(in, Vector::always_fetches_far || memory.fetches_far);
      unrolled<Count>([&](unsigned i) __attribute__((always_inline)) {
        Vector::stream(out + i * vector_bytes, text[i]);
      });
    } else {
      unrolled<Count>([&](unsigned i) __attribute__((always_inline)) {
        Vector::store(out + i * vector_bytes, text[i]);
      });
    }
  }

  // Prefetches what a later flight reads, because the processor's own prefetching does not reach
  // the memory's full speed. The choice is made once per flight, where a branch that always goes
  // the same way costs nothing.
  template <std::size_t Bytes>
  PAES_INLINE static void prefetch(const std::uint8_t* in, bool is_far) noexcept {
    // Measured (docs/log/kernels.md).
    constexpr std::size_t near_bytes = 768;
    constexpr std::size_t far_bytes = 8192;
    const char* const now = reinterpret_cast<const char*>(in);
    if (is_far) {
      for (std::size_t line = 0; line < Bytes; line += 64) {
        _mm_prefetch(now + far_bytes + line, _MM_HINT_T1);
      }
    } else {
      for (std::size_t line = 0; line < Bytes; line += 64) {
        _mm_prefetch(now + near_bytes + line, _MM_HINT_NTA);
      }
    }
  }

  PAES_INLINE static Register tweak_polynomial() noexcept {
    return Vector::broadcast(_mm_cvtsi32_si128(0x87));
  }

  // The tweaks one flight later: a rotation by `lanes` bytes. A byte y that came round stands for y
  // * (x^7 + x^2 + x + 1), so y * (x^7 + x^2 + x) is added. A carry-less multiplication would be a
  // single instruction, but it takes turns with the AES rounds on their ports.
  PAES_INLINE static Register next_flights(Register tweak, Register mask) noexcept {
    const Register rotated = Vector::template rotate_bytes_left<lanes>(tweak);
    const Register y = Vector::and2(rotated, mask);
    const Register halved = Vector::xor3(y, Vector::double_halves(y), Vector::times_64(y));
    return Vector::xor2(rotated, Vector::double_halves(halved));
  }

  // Multiplies each block by x^Blocks: shifts the halves by bits.
  template <unsigned Blocks>
  PAES_INLINE static Register advance(Register tweak) noexcept {
    const Register carries = Vector::template shift_right<64 - Blocks>(tweak);
    return Vector::xor3(Vector::template shift_left<Blocks>(tweak),
                        Vector::template shift_bytes_left<8>(carries),
                        Vector::template multiply<0x01>(carries, tweak_polynomial()));
  }

  PAES_INLINE static void first_tweaks(const Tweak& first, Register* tweaks) noexcept {
    Tweak block[lanes];
    block[0] = first;
    for (unsigned lane = 1; lane < lanes; ++lane) {
      block[lane] = xts::next_tweak(block[lane - 1]);
    }
    tweaks[0] = Vector::load(block);
    tweaks[1] = advance<lanes>(tweaks[0]);
    for (unsigned i = 0; i < 2; ++i) {
      tweaks[2 + i] = advance<2 * lanes>(tweaks[i]);
    }
    for (unsigned i = 0; i < 4; ++i) {
      tweaks[4 + i] = advance<4 * lanes>(tweaks[i]);
    }
  }
};

}  // namespace
}  // namespace paes
