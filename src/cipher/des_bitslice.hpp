// Triple DES on as many blocks at once as a word has bits, by Boolean operations alone (E. Biham,
// "A Fast New DES Implementation in Software", FSE 1997): no branch and no address depends on data
// or key. One template for every width; a `Word` says what a word is:
//
//   Slice                    an unsigned integer of 64 bits or a compilers' vector of them
//   Sboxes                   the circuits for it: sbox_1 to sbox_8 and complemented_outputs
//   lut3<t>(a, b, c)         any three-input gate; only where Sboxes asks for it
//   broadcast(mask)          a Slice of one key bit's mask
//   exchange<shift, m>(a, b) exchanges, in each 64 bits, b's bits under m with a's that lie `shift`
//                            places higher
//
// `PlainWord` has them for every Slice; kernels replace what their processor does better.
//
// IP, E, P and IP's inverse only rename words, and between the passes IP and its inverse cancel.
#pragma once

#include <utility>

#include "cipher/des_key.hpp"
#include "cipher/des_standard.hpp"
#include "core/secret.hpp"

namespace paes {
namespace {  // NOLINT: files compiled for different instruction sets each get their own copy
namespace des_bitslice {

template <class SliceType, class SboxesType>
struct PlainWord {
  using Slice = SliceType;
  using Sboxes = SboxesType;

  [[gnu::always_inline]] static Slice broadcast(const std::uint32_t& mask) noexcept {
    return Slice{} + static_cast<std::uint64_t>(static_cast<std::int32_t>(mask));
  }
  template <unsigned Shift, std::uint64_t Mask>
  [[gnu::always_inline]] static void exchange(Slice& a, Slice& b) noexcept {
    const Slice difference = ((a >> Shift) ^ b) & Mask;
    b ^= difference;
    a ^= difference << Shift;
  }
  // The sum of the cells in which the gate is 1.
  template <unsigned Table>
  [[gnu::always_inline]] static Slice lut3(Slice a, Slice b, Slice c) noexcept {
    Slice sum = {};
    for (unsigned cell = 0; cell < 8; ++cell) {
      if ((Table >> cell & 1) != 0) {
        sum |= ((cell & 4) != 0 ? a : ~a) & ((cell & 2) != 0 ? b : ~b) & ((cell & 1) != 0 ? c : ~c);
      }
    }
    return sum;
  }
};

// g++ 12 drops the attribute where its argument depends on a template's, hence one by one.
template <std::size_t Size>
struct VectorOf;
template <>
struct VectorOf<16> {
  using Words = std::uint64_t __attribute__((vector_size(16)));
  using Octets = std::uint8_t __attribute__((vector_size(16)));
};
template <>
struct VectorOf<32> {
  using Words = std::uint64_t __attribute__((vector_size(32)));
  using Octets = std::uint8_t __attribute__((vector_size(32)));
};
template <>
struct VectorOf<64> {
  using Words = std::uint64_t __attribute__((vector_size(64)));
  using Octets = std::uint8_t __attribute__((vector_size(64)));
};

// All zeros or all ones for each bit of each round key, in the order of use. 32 bits each, so that
// they fit KernelKeys and the first-level cache; a load that repeats or extends them makes a Slice.
struct Keys {
  std::uint32_t mask[DesRoundKeys::rounds][48];
};

// Circuits leave some outputs complemented. What that makes of a half is known for each round (two
// complements cancel), and goes into the key of the round that reads the half. After sixteen rounds
// each half has been complemented eight times: nothing is left.
template <class Word>
void prepare(const DesRoundKeys& round_keys, Keys& keys) noexcept {
  std::uint32_t complemented = 0;  // of the halves' bits, bit 1 the highest
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned s = des_standard::permutation[i] - 1U;
    const std::uint32_t bit = Word::Sboxes::complemented_outputs[s / 4] >> s % 4 & 1U;
    complemented |= bit << (31 - i);
  }
  for (unsigned round = 0; round < DesRoundKeys::rounds; ++round) {
    const bool is_complemented = round % 4 == 1 || round % 4 == 2;
    for (unsigned i = 0; i < 48; ++i) {
      const std::uint32_t constant =
          is_complemented ? complemented >> (32 - des_standard::expansion[i]) & 1U : 0U;
      const auto key = static_cast<std::uint32_t>(round_keys.key[round] >> (47 - i) & 1);
      keys.mask[round][i] = 0U - (key ^ constant);
    }
  }
}

// ---- Words to slices and back.

// How many bytes a lane of the vector shuffles has: blocks change places within it.
inline constexpr std::size_t lane_bytes = 16;

template <class Word>
inline constexpr bool is_vector = sizeof(typename Word::Slice) >= lane_bytes;

// Where the slice of bit q lies (of a block read as a little-endian number) once blocks have become
// slices. Vectors come out of their shuffles with the three bits that number a byte rotated.
template <class Word>
constexpr unsigned slot_of(unsigned q) noexcept {
  if (!is_vector<Word>) {
    return q;
  }
  const unsigned byte = q / 8;
  return (byte & 1) << 5 | (byte >> 2 & 1) << 4 | (byte >> 1 & 1) << 3 | q % 8;
}

// Where bit i (from 0) of the left half lies after IP; the right half's is the next slot, because
// each entry of IP's second half is one less than that of its first.
template <class Word>
constexpr unsigned half_slot(unsigned i) noexcept {
  const unsigned p = des_standard::initial_permutation[i] - 1U;
  return slot_of<Word>(8 * (p / 8) + 7 - p % 8);
}

template <class Word>
struct State {
  static constexpr std::size_t lanes = 8 * sizeof(typename Word::Slice);
  typename Word::Slice slice[64];
};

// The transposition works on eight rows at a time, which fit registers: first on rows that are
// eight apart, whole bytes, then on neighbours, bits within bytes; or the other way round.
template <class Word>
using Rows = typename Word::Slice[8];

// One level of exchanges, between rows whose numbers (within the eight) differ in one bit.
template <class Word, unsigned Distance, unsigned Shift, std::uint64_t Mask>
[[gnu::always_inline]] inline void exchange_rows(Rows<Word>& row) noexcept {
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = k / Distance * 2 * Distance + k % Distance;
    Word::template exchange<Shift, Mask>(row[i], row[i + Distance]);
  }
}

template <class Word>
[[gnu::always_inline]] inline void transpose_bits(Rows<Word>& row) noexcept {
  exchange_rows<Word, 4, 4, 0x0f0f0f0f0f0f0f0f>(row);
  exchange_rows<Word, 2, 2, 0x3333333333333333>(row);
  exchange_rows<Word, 1, 1, 0x5555555555555555>(row);
}

template <class Word>
[[gnu::always_inline]] inline void transpose_bytes(Rows<Word>& row) noexcept {
  exchange_rows<Word, 4, 32, 0x00000000ffffffff>(row);
  exchange_rows<Word, 2, 16, 0x0000ffff0000ffff>(row);
  exchange_rows<Word, 1, 8, 0x00ff00ff00ff00ff>(row);
}

// Interleaves the bytes of the lower (upper) halves of the lanes of a and b.
template <class Slice, bool Upper, std::size_t... I>
[[gnu::always_inline]] inline Slice interleave(Slice a, Slice b,
                                               std::index_sequence<I...>) noexcept {
  using Octets = typename VectorOf<sizeof(Slice)>::Octets;
  constexpr auto from = [](std::size_t i) {
    return static_cast<int>(i / lane_bytes * lane_bytes + (Upper ? 8 : 0) + i % lane_bytes / 2 +
                            (i % 2) * sizeof(Slice));
  };
  return (Slice)__builtin_shufflevector((Octets)a, (Octets)b, from(I)...);
}

// One level of the transposition of bytes: the highest bit of a byte's place in its lane and the
// bit `Distance` of the row's number change places, and the other bits of the place move up.
template <class Word, unsigned Distance>
[[gnu::always_inline]] inline void interleave_rows(Rows<Word>& row) noexcept {
  using Slice = typename Word::Slice;
  constexpr std::make_index_sequence<sizeof(Slice)> all;
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = k / Distance * 2 * Distance + k % Distance;
    const Slice a = row[i];
    const Slice b = row[i + Distance];
    row[i] = interleave<Slice, false>(a, b, all);
    row[i + Distance] = interleave<Slice, true>(a, b, all);
  }
}

template <class Word>
inline void slice(const std::uint8_t* blocks, State<Word>& state) noexcept {
  Rows<Word> row;
  constexpr std::size_t row_bytes = sizeof row[0];
  for (unsigned i = 0; i < 8; ++i) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      std::memcpy(&row[j], blocks + (i + 8 * j) * row_bytes, row_bytes);
    }
    if constexpr (is_vector<Word>) {
      interleave_rows<Word, 4>(row);
      interleave_rows<Word, 2>(row);
      interleave_rows<Word, 1>(row);
      interleave_rows<Word, 4>(row);
    } else {
      transpose_bytes<Word>(row);
    }
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      state.slice[i + 8 * j] = row[j];
    }
  }
  for (unsigned i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      row[j] = state.slice[i + j];
    }
    transpose_bits<Word>(row);
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      state.slice[i + j] = row[j];
    }
  }
}

// The halves leave the last round exchanged: each slot takes what its neighbour holds.
template <class Word>
inline void unslice(State<Word>& state, std::uint8_t* blocks) noexcept {
  Rows<Word> row;
  constexpr std::size_t row_bytes = sizeof row[0];
  for (unsigned i = 0; i < 64; i += 8) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      row[j] = state.slice[i + (j ^ 1)];
    }
    transpose_bits<Word>(row);
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      state.slice[i + j] = row[j];
    }
  }
  for (unsigned i = 0; i < 8; ++i) {
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      row[j] = state.slice[i + 8 * j];
    }
    if constexpr (is_vector<Word>) {
      interleave_rows<Word, 2>(row);
      interleave_rows<Word, 1>(row);
      interleave_rows<Word, 4>(row);
    } else {
      transpose_bytes<Word>(row);
    }
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      // The bits of j have changed places: 2, 1, 0 hold 0, 2, 1.
      const unsigned place = is_vector<Word> ? (j << 1 & 7) | j >> 2 : j;
      std::memcpy(blocks + (i + 8 * place) * row_bytes, &row[j], row_bytes);
    }
  }
}

// ---- Rounds.

// Where E and P take the bits of a half from and to: tables of constants, so that nothing of them
// is left in the code.
struct Slots {
  std::uint8_t input[48];
  std::uint8_t output[32];
};

template <class Word>
constexpr Slots make_slots() noexcept {
  Slots slots = {};
  for (unsigned i = 0; i < 48; ++i) {
    slots.input[i] = static_cast<std::uint8_t>(half_slot<Word>(des_standard::expansion[i] - 1U));
  }
  for (unsigned i = 0; i < 32; ++i) {
    slots.output[des_standard::permutation[i] - 1] = static_cast<std::uint8_t>(half_slot<Word>(i));
  }
  return slots;
}

// What a circuit reads and writes: E's bits of `r` with the key added, and P's bits of `l`.
template <class Word, unsigned Box>
struct BoxPorts {
  using Slice = typename Word::Slice;
  static constexpr Slots slots = make_slots<Word>();
  Slice* l;
  const Slice* r;
  const std::uint32_t* key;

  [[gnu::always_inline]] Slice input(unsigned i) const noexcept {
    constexpr unsigned first = 6 * Box;
    return r[slots.input[first + i - 1]] ^ Word::broadcast(key[first + i - 1]);
  }
  [[gnu::always_inline]] void output(unsigned i, Slice value) const noexcept {
    l[slots.output[4 * Box + i - 1]] ^= value;
  }
  template <unsigned Table>
  [[gnu::always_inline]] static Slice lut3(Slice a, Slice b, Slice c) noexcept {
    return Word::template lut3<Table>(a, b, c);
  }
};

// Keeps compilers from carrying values from one box to the next in registers that they do not have.
[[gnu::always_inline]] inline void forget_values() noexcept { asm volatile("" ::: "memory"); }

// l ^= f(r, key).
template <class Word>
[[gnu::always_inline]] inline void round(typename Word::Slice* l, const typename Word::Slice* r,
                                         const std::uint32_t* key) noexcept {
  using Sboxes = typename Word::Sboxes;
  Sboxes::sbox_1(BoxPorts<Word, 0>{l, r, key});
  forget_values();
  Sboxes::sbox_2(BoxPorts<Word, 1>{l, r, key});
  forget_values();
  Sboxes::sbox_3(BoxPorts<Word, 2>{l, r, key});
  forget_values();
  Sboxes::sbox_4(BoxPorts<Word, 3>{l, r, key});
  forget_values();
  Sboxes::sbox_5(BoxPorts<Word, 4>{l, r, key});
  forget_values();
  Sboxes::sbox_6(BoxPorts<Word, 5>{l, r, key});
  forget_values();
  Sboxes::sbox_7(BoxPorts<Word, 6>{l, r, key});
  forget_values();
  Sboxes::sbox_8(BoxPorts<Word, 7>{l, r, key});
  forget_values();
}

// Step 1 encrypts from the first round key on, step -1 decrypts from the last one down. `in` may be
// `out`.
template <class Word, int Step>
inline void crypt(const Keys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
  State<Word> state;
  slice(in, state);
  typename Word::Slice* l = state.slice;
  typename Word::Slice* r = state.slice + 1;
  unsigned next = Step == 1 ? 0 : DesRoundKeys::rounds - 1;
  for (unsigned pass = 0; pass < 3; ++pass) {
    for (unsigned i = 0; i < 16; i += 2) {
      round<Word>(l, r, keys.mask[next]);
      round<Word>(r, l, keys.mask[next + static_cast<unsigned>(Step)]);
      next += static_cast<unsigned>(2 * Step);
    }
    std::swap(l, r);
  }
  unslice(state, out);
  wipe(&state, sizeof state);
}

}  // namespace des_bitslice
}  // namespace
}  // namespace paes
