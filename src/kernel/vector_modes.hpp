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
    const WholeRegisters memory = {streams, streams && is_for_intel(piece)};
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
  static bool is_for_intel(const Piece& piece) noexcept {
    return (piece.design == Design::as_machine ? machine_design() : piece.design) == Design::intel;
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
    if constexpr (formula_of(Which).has_tweak() && Vector::multiplies_by_design) {
      if (is_for_intel(piece)) {
        return run_rounds<Which, Design::intel>(keys, piece, memory);
      }
    }
    run_rounds<Which, Design::other>(keys, piece, memory);
  }

  template <Operation Which, Design For>
  PAES_INLINE static void run_rounds(const Keys& keys, const Piece& piece,
                                     WholeRegisters memory) noexcept {
    switch (keys.rounds) {
      case 10:
        return run_flights<Which, For, 10>(keys, piece, memory);
      case 12:
        return run_flights<Which, For, 12>(keys, piece, memory);
      default:
        return run_flights<Which, For, 14>(keys, piece, memory);
    }
  }

  // What one flight passes to the next, besides masks.
  struct FlightState {
    Register before;  // its last block is the one before the flight
    Counters counters;
  };

  // What `Count` registers add before and after the cipher in XTS: their tweaks. Where one
  // instruction adds three registers, each tweak has the last round's key added, which then costs
  // nothing: the last round adds both, and the step to the next flight takes one addition more in
  // an instruction that it has anyway.
  template <bool Inverse, Design For, unsigned Count>
  struct TweakMasks {
    // Those of this flight and the next. With few registers they are in memory and take turns.
    Register mask[2][Count];
    unsigned turn = 0;
    Register whitening;   // added to a text and its mask, gives what the first round takes
    Register correction;  // the key that a mask has, after the step, and before

    // The first register's first block is `ahead` blocks after the one whose tweak is `first`.
    PAES_INLINE TweakMasks(const Keys& keys, __m128i first, unsigned ahead) noexcept {
      const Register tweak = Vector::broadcast(first);
      const Register key = key_in_mask(keys);
      whitening = Vector::xor2(key_of<Inverse>(keys, 0), key);
      correction = has_key ? next_flights<For>(key, key) : Vector::zero();
      unrolled<Count>([&](unsigned i) __attribute__((always_inline)) {
        mask[0][i] = Vector::xor2(times_x(tweak, ahead + i * lanes), key);
      });
    }
    PAES_INLINE void prepare_next(unsigned i) noexcept {
      if (i < Count) {
        mask[1 - now()][i] = next_flights<For>(mask[now()][i], correction);
      }
    }
    PAES_INLINE void move_on() noexcept {
      if constexpr (has_key) {
        unrolled<Count>([&](unsigned i)
                            __attribute__((always_inline)) { mask[0][i] = mask[1][i]; });
      } else {
        turn = 1 - turn;
      }
    }
    // Where the flight's masks are; a constant where they are in registers.
    [[nodiscard]] PAES_INLINE unsigned now() const noexcept { return has_key ? 0 : turn; }
    // What the last round takes in the place of its key.
    [[nodiscard]] PAES_INLINE Register last_key(unsigned i, Register key) const noexcept {
      return has_key ? mask[now()][i] : Vector::xor2(mask[now()][i], key);
    }
    // The first block's tweak.
    [[nodiscard]] PAES_INLINE __m128i first(const Keys& keys) const noexcept {
      return Vector::first_block(Vector::xor2(mask[now()][0], key_in_mask(keys)));
    }

   private:
    static constexpr bool has_key = Vector::registers > 16;  // AVX-512
    PAES_INLINE static Register key_in_mask(const Keys& keys) noexcept {
      return has_key ? key_of<Inverse>(keys, keys.rounds) : Vector::zero();
    }
  };
  struct NoMasks {
    PAES_INLINE NoMasks(const Keys& /*keys*/, __m128i /*first*/, unsigned /*ahead*/) noexcept {}
    PAES_INLINE static void prepare_next(unsigned /*i*/) noexcept {}
    PAES_INLINE static void move_on() noexcept {}
    PAES_INLINE static __m128i first(const Keys& /*keys*/) noexcept { return _mm_setzero_si128(); }
  };
  template <Operation Which, Design For, unsigned Count>
  using MasksOf = std::conditional_t<formula_of(Which).has_tweak(),
                                     TweakMasks<formula_of(Which).inverse, For, Count>, NoMasks>;

  template <Operation Which, Design For, unsigned Rounds>
  PAES_NOINLINE static void run_flights(const Keys& keys, const Piece& piece,
                                        WholeRegisters memory) noexcept {
    constexpr Formula formula = formula_of(Which);
    FlightState carried = {Vector::zero(), {Vector::zero(), 0}};
    __m128i tweak = _mm_setzero_si128();
    if constexpr (formula.has_tweak()) {
      tweak = load_block(piece.tweak->bytes);
    } else if constexpr (formula.has_before()) {
      carried.before = Vector::broadcast(load_block(piece.before->bytes));
    } else if constexpr (formula.pre == Term::counter) {
      carried.counters =
          Counters::at(*piece.counter, load_be32(piece.counter->bytes + block_bytes - 4));
    }
    const std::uint8_t* in = piece.text.in;
    std::uint8_t* out = piece.text.out;
    std::size_t left = piece.text.bytes;
    if (left >= flight_bytes) {
      MasksOf<Which, For, flight> masks(keys, tweak, 0);
      for (;;) {
        one_flight<Which, Rounds, flight>(
            keys, carried, masks, in, out,
            memory, [&](unsigned i) __attribute__((always_inline)) { masks.prepare_next(i); });
        left -= flight_bytes;
        in += flight_bytes;
        out += flight_bytes;
        if (left == 0) {
          break;
        }
        masks.move_on();
        if (left < flight_bytes) {
          tweak = masks.first(keys);
          break;
        }
      }
    }
    if (memory.streams) {
      _mm_sfence();
    }
    if (left != 0) {
      run_rest<Which>(keys, carried.before, carried.counters.reversed, carried.counters.next, tweak,
                      in, out, left);
    }
  }

  // `left` is less than a flight. What is carried comes in registers, hence member by member.
  template <Operation Which>
  PAES_NOINLINE static void run_rest(const Keys& keys, Register before, Register reversed,
                                     std::uint32_t next, __m128i tweak, const std::uint8_t* in,
                                     std::uint8_t* out, std::size_t left) noexcept {
    FlightState carried = {before, {reversed, next}};
    unsigned done = 0;  // blocks
    const auto part = [&]<unsigned Count>() __attribute__((always_inline)) {
      if (left >= Count * vector_bytes) {
        const MasksOf<Which, Design::other, Count> masks(keys, tweak, done);
        one_flight<Which, 0, Count>(keys, carried, masks, in, out, through_caches, nothing_between);
        done += Count * lanes;
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
        const MasksOf<Which, Design::other, 1> masks(keys, tweak, done);
        one_flight<Which, 0, 1>(keys, carried, masks, in, out, PartOfRegister{left / block_bytes},
                                nothing_between);
      }
    }
  }

  template <Operation Which, unsigned Rounds, unsigned Count, class Masks, class Memory,
            typename Between>
  PAES_INLINE static void one_flight(const Keys& keys, FlightState& carried, const Masks& masks,
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
        text[i] = Vector::xor3(text_at(i), masks.mask[masks.now()][i], masks.whitening);
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
        mask = masks.last_key(i, key);
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

  // The tweak one flight later, plus `added`: a rotation by `lanes` bytes. A byte y that came round
  // stands for y * (x^7 + x^2 + x + 1), so y * (x^7 + x^2 + x) is added. A carry-less
  // multiplication would be a single instruction, but it takes turns with the AES rounds on their
  // ports.
  template <Design For>
  PAES_INLINE static Register next_flights(Register tweak, Register added) noexcept {
    const Register came_round = Vector::broadcast(_mm_cvtsi64_si128((1LL << (8 * lanes)) - 1));
    const Register rotated = Vector::template rotate_bytes_left<lanes>(tweak);
    const Register y = Vector::and2(rotated, came_round);
    const Register halved =
        Vector::xor3(y, Vector::double_halves(y), Vector::template times_64<For>(y));
    return Vector::xor3(rotated, Vector::double_halves(halved), added);
  }

  // The tweak of each lane's block, which is `blocks` + lane after the tweak's own.
  PAES_INLINE static Register times_x(Register tweak, unsigned blocks) noexcept {
    const Register carries = Vector::shifted_out(tweak, blocks);
    const Register polynomial = Vector::broadcast(_mm_cvtsi32_si128(0x87));
    return Vector::xor3(Vector::shift_left(tweak, blocks),
                        Vector::template shift_bytes_left<8>(carries),
                        Vector::template multiply<0x01>(carries, polynomial));
  }
};

}  // namespace
}  // namespace paes
