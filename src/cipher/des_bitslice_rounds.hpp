// SPDX-License-Identifier: Apache-2.0
// The rounds of Triple DES on as many blocks at once as a word has bits, by Boolean operations
// alone (E. Biham, "A Fast New DES Implementation in Software", FSE 1997). No branch and no address
// depends on data or key. The templates serve every width; a `Word` says what a word is:
//
//   Slice                    an unsigned integer or a compilers' vector of them
//   Sboxes                   the circuits for it: sbox_1 to sbox_8 and complemented_outputs
//   lut3<t>(a, b, c)         any three-input gate, if Sboxes asks for it
//   broadcast(mask)          a Slice of one key bit's mask
//   exchange<shift, m>(a, b) exchanges, in each 64 bits, b's bits under m with a's that lie `shift`
//                            places higher, for des_bitslice.hpp
//
// `PlainWord` has them for every Slice of 64 bits; kernels replace what their processor does
// better. Everything here is constexpr and plain, so that a device compiler takes it too.
//
// IP, E, P and IP's inverse only rename words. Between the passes IP and its inverse cancel.
#pragma once

#include <type_traits>

#include "cipher/des_key.hpp"
#include "cipher/des_standard.hpp"

namespace paes {
namespace {  // NOLINT: files compiled for different instruction sets each get their own copy
namespace des_bitslice {

template <class SliceType, class SboxesType>
struct PlainWord {
  using Slice = SliceType;
  using Sboxes = SboxesType;

  [[gnu::always_inline]] static constexpr Slice broadcast(const std::uint32_t& mask) noexcept {
    return Slice{} + static_cast<std::uint64_t>(static_cast<std::int32_t>(mask));
  }
  template <unsigned Shift, std::uint64_t Mask>
  [[gnu::always_inline]] static constexpr void exchange(Slice& a, Slice& b) noexcept {
    const Slice difference = ((a >> Shift) ^ b) & Mask;
    b ^= difference;
    a ^= difference << Shift;
  }
  // ORs the truth table's cells in which the gate is 1.
  template <unsigned Table>
  [[gnu::always_inline]] static constexpr Slice lut3(Slice a, Slice b, Slice c) noexcept {
    Slice sum = {};
    for (unsigned cell = 0; cell < 8; ++cell) {
      if ((Table >> cell & 1) != 0) {
        sum |= ((cell & 4) != 0 ? a : ~a) & ((cell & 2) != 0 ? b : ~b) & ((cell & 1) != 0 ? c : ~c);
      }
    }
    return sum;
  }
};

// Each bit of each round key as a mask of zeros or ones, in the order of use. Masks have 32 bits to
// fit KernelKeys and the first-level cache. A load that repeats or extends one makes a Slice.
struct Keys {
  std::uint32_t mask[DesRoundKeys::rounds][48];
};

// Circuits leave some outputs complemented. Two complements cancel, so which bits of a half are
// complemented is known for each round, and the key of the round that reads the half makes up for
// it. Sixteen rounds complement each half eight times, which leaves nothing.
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

// The bytes of a lane: vector shuffles move bytes only within a lane.
inline constexpr std::size_t lane_bytes = 16;

template <class Word>
inline constexpr bool is_vector = sizeof(typename Word::Slice) >= lane_bytes;

// Where the slice of bit q lies once blocks, read as little-endian numbers, have become slices. The
// shuffles of vectors leave the three bits that number a byte rotated.
template <class Word>
constexpr unsigned slot_of(unsigned q) noexcept {
  if (!is_vector<Word>) {
    return q;
  }
  const unsigned byte = q / 8;
  return (byte & 1) << 5 | (byte >> 2 & 1) << 4 | (byte >> 1 & 1) << 3 | q % 8;
}

// Where bit i (from 0) of the left half lies after IP. The right half's bit is in the next slot,
// because each entry of IP's second half is one less than that of its first.
template <class Word>
constexpr unsigned half_slot(unsigned i) noexcept {
  const unsigned p = des_standard::initial_permutation[i] - 1U;
  return slot_of<Word>(8 * (p / 8) + 7 - p % 8);
}

// Where E reads the bits of a half, and where P writes them. Constants: neither costs an
// instruction.
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

// What a circuit reads (E's bits of `r` with the key added) and writes (P's bits of `l`).
template <class Word, unsigned Box>
struct BoxPorts {
  using Slice = typename Word::Slice;
  Slice* l;
  const Slice* r;
  const std::uint32_t* key;

  [[gnu::always_inline]] constexpr Slice input(unsigned i) const noexcept {
    constexpr Slots slots = make_slots<Word>();
    constexpr unsigned first = 6 * Box;
    return r[slots.input[first + i - 1]] ^ Word::broadcast(key[first + i - 1]);
  }
  [[gnu::always_inline]] constexpr void output(unsigned i, Slice value) const noexcept {
    constexpr Slots slots = make_slots<Word>();
    l[slots.output[4 * Box + i - 1]] ^= value;
  }
  template <unsigned Table>
  [[gnu::always_inline]] static constexpr Slice lut3(Slice a, Slice b, Slice c) noexcept {
    return Word::template lut3<Table>(a, b, c);
  }
};

// Keeps compilers from carrying values from one box to the next, for which processors have too few
// registers. A device has enough.
[[gnu::always_inline]] constexpr void forget_values() noexcept {
#ifndef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) {
    asm volatile("" ::: "memory");
  }
#endif
}

// l ^= f(r, key). The ports read r and the key, and write l.
template <class Word, template <class, unsigned> class Ports = BoxPorts>
[[gnu::always_inline]] constexpr void round(typename Word::Slice* l, const typename Word::Slice* r,
                                            const std::uint32_t* key) noexcept {
  using Sboxes = typename Word::Sboxes;
  Sboxes::sbox_1(Ports<Word, 0>{l, r, key});
  forget_values();
  Sboxes::sbox_2(Ports<Word, 1>{l, r, key});
  forget_values();
  Sboxes::sbox_3(Ports<Word, 2>{l, r, key});
  forget_values();
  Sboxes::sbox_4(Ports<Word, 3>{l, r, key});
  forget_values();
  Sboxes::sbox_5(Ports<Word, 4>{l, r, key});
  forget_values();
  Sboxes::sbox_6(Ports<Word, 5>{l, r, key});
  forget_values();
  Sboxes::sbox_7(Ports<Word, 6>{l, r, key});
  forget_values();
  Sboxes::sbox_8(Ports<Word, 7>{l, r, key});
  forget_values();
}

}  // namespace des_bitslice
}  // namespace
}  // namespace paes
