// SPDX-License-Identifier: Apache-2.0
// The device kernel `cuda_des_bitslice`: Triple DES on 32 blocks in the registers of one thread, by
// three-input logic alone. No branch and no address depends on data or key. Circuits, places and
// rounds are those of cipher/des_bitslice_rounds.hpp, but keys are added differently.
//
// Each half already includes the key of the round that reads it next. The XOR that adds an S-box's
// output takes the change of that key as a third operand, so two thirds of the key additions cost
// nothing. E sends each bit to one of the inputs 2 to 5 of a box, and 16 of the bits also to an
// input 1 or 6. There the difference of the two key bits is added. Operations:
//
//   gates               48 rounds x 185        8880
//   outputs with keys   48 x 32                1536
//   inputs 1 and 6      48 x 16                 768
//   other keys          4 x 32                  128
//   to slices and back  4 x (64 PRMT, 96 shifts, 96 LOP3)
//                                              1024
//                                             ------
//                                             12336 for 32 blocks: 385.5 each
#include <cstring>

#include "cipher/des_bitslice_rounds.hpp"
#include "cipher/des_key.hpp"
#include "cipher/des_sbox_three_input.hpp"
#include "core/secret.hpp"
#include "cuda/grid.hpp"
#include "cuda/lanes.hpp"

namespace paes::cuda {
namespace {

// The masks of one direction. Each word is all zeros or all ones.
struct DesBitsliceKeys {
  std::uint32_t pass[3][32];    // for the half that a pass reads first
  std::uint32_t round[48][48];  // for each box: outputs 1 to 4, inputs 1 and 6
  std::uint32_t last[32];       // for the half that the last round read
};

// Round i of a pass changes the left half (0) or the right half (1). Between passes the halves
// change places, which only renames them.
[[nodiscard]] constexpr unsigned changed_half(unsigned pass, unsigned i) noexcept {
  return (pass + i) % 2;
}

struct DesWord : des_bitslice::PlainWord<std::uint32_t, DesThreeInputSboxes> {
  static_assert(Sboxes::complemented_outputs[0] == 0);
  template <unsigned Table>
  [[gnu::always_inline]] static constexpr Slice lut3(Slice a, Slice b, Slice c) noexcept {
    return cuda::lut3<Table>(a, b, c);
  }
};

PAES_DEVICE_TABLE des_bitslice::Slots des_slots = des_bitslice::make_slots<DesWord>();

// The slots of bit `place` (from 0) of E's result, and of the S-boxes' outputs. Whatever the
// circuits call is constexpr, so nvcc compiles it for the host as well, where nothing calls it and
// a device's table is out of reach.
[[gnu::always_inline]] constexpr unsigned input_slot(unsigned place) noexcept {
#if defined(__CUDACC__) && !defined(__CUDA_ARCH__)
  return place;
#else
  return des_slots.input[place];
#endif
}
[[gnu::always_inline]] constexpr unsigned output_slot(unsigned place) noexcept {
#if defined(__CUDACC__) && !defined(__CUDA_ARCH__)
  return place;
#else
  return des_slots.output[place];
#endif
}

template <class Word, unsigned Box>
struct DesKeyedPorts {
  using Slice = typename Word::Slice;
  Slice* l;
  const Slice* r;
  const std::uint32_t* mask;

  [[gnu::always_inline]] constexpr Slice input(unsigned i) const noexcept {
    const Slice bit = r[input_slot(6 * Box + i - 1)];
    return i == 1 ? bit ^ mask[6 * Box + 4] : i == 6 ? bit ^ mask[6 * Box + 5] : bit;
  }
  [[gnu::always_inline]] constexpr void output(unsigned i, Slice value) const noexcept {
    Slice& bit = l[output_slot(4 * Box + i - 1)];
    bit = xor3(bit, value, mask[6 * Box + i - 1]);
  }
  template <unsigned Table>
  [[gnu::always_inline]] static constexpr Slice lut3(Slice a, Slice b, Slice c) noexcept {
    return Word::template lut3<Table>(a, b, c);
  }
};

PAES_DEVICE void add_masks(std::uint32_t* half, const std::uint32_t* mask) {
  PAES_UNROLL
  for (unsigned b = 0; b < 32; ++b) {
    half[input_slot(6 * (b / 4) + 1 + b % 4)] ^= mask[b];
  }
}

// Does all 48 rounds. The left half's bit i is slice[half_slot(i)], the right half's is the next
// slice. There is code for only two rounds, and no half ever moves to other registers.
PAES_DEVICE void crypt_slices(const DesBitsliceKeys& keys, std::uint32_t (&slice)[64]) {
  std::uint32_t* const l = slice;
  std::uint32_t* const r = slice + 1;
  PAES_KEEP_LOOP
  for (unsigned pass = 0; pass < 3; ++pass) {
    if (changed_half(pass, 0) == 0) {
      add_masks(r, keys.pass[pass]);
    } else {
      add_masks(l, keys.pass[pass]);
    }
    PAES_KEEP_LOOP
    for (unsigned i = 0; i < 16; ++i) {
      const std::uint32_t* const mask = keys.round[16 * pass + i];
      if (changed_half(pass, i) == 0) {
        des_bitslice::round<DesWord, DesKeyedPorts>(l, r, mask);
      } else {
        des_bitslice::round<DesWord, DesKeyedPorts>(r, l, mask);
      }
    }
  }
  add_masks(l, keys.last);
}

// The Core of both directions, which differ only in their keys. mode_loop.hpp says what a Core is.
template <bool Inverse>
class DesBitsliceCore {
 public:
  static constexpr unsigned block_bytes = 8;
  static constexpr unsigned blocks = 32;
  static constexpr bool inverse = Inverse;
  using TakesTiles = void;
  using Keys = const DesBitsliceKeys*;      // in device memory
  static constexpr unsigned threads = 512;  // limits a thread to 128 registers
  static constexpr unsigned shared_bytes = sizeof(DesBitsliceKeys);

  PAES_DEVICE static void fill(std::uint8_t* shared, const Keys& keys, const Thread& thread) {
    copy_to_shared(shared, keys, shared_bytes, thread);
  }

  PAES_DEVICE DesBitsliceCore(const std::uint8_t* shared, const Keys& /*keys*/,
                              const Thread& /*thread*/)
      : keys_(*reinterpret_cast<const DesBitsliceKeys*>(shared)) {}

  PAES_DEVICE void crypt(Words<8> (&block)[blocks]) const {
    std::uint32_t slice[64];
    PAES_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      std::uint32_t row[32];
      PAES_UNROLL
      for (unsigned i = 0; i < 32; ++i) {
        row[i] = block[i].word[half];
      }
      transpose(row);
      PAES_UNROLL
      for (unsigned i = 0; i < 32; ++i) {
        slice[32 * half + i] = row[i];
      }
    }
    crypt_slices(keys_, slice);
    // The last round leaves the halves exchanged, so each slot takes what its neighbour holds.
    PAES_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      std::uint32_t row[32];
      PAES_UNROLL
      for (unsigned i = 0; i < 32; ++i) {
        row[i] = slice[32 * half + (i ^ 1)];
      }
      transpose(row);
      PAES_UNROLL
      for (unsigned i = 0; i < 32; ++i) {
        block[i].word[half] = row[i];
      }
    }
  }

 private:
  const DesBitsliceKeys& keys_;
};

struct Image {
  DesBitsliceKeys keys[2];  // of both directions
};

}  // namespace

#if defined(PAES_LAUNCHES)

namespace {

int run(const Launch& launch, const Job& job) {
  const auto& image = *static_cast<const Image*>(launch.image);
  const DesBitsliceKeys* const keys = image.keys + (formula_of(job.operation).inverse ? 1 : 0);
  return run_operation<DesBitsliceCore>(launch, job, keys);
}

}  // namespace

PAES_LAUNCHES(cuda_des_bitslice, run, nullptr, nullptr, nullptr,
              find_on_grid<DesBitsliceCore<false>, Operation::ctr>);

#else

namespace {

// The mask of round key `key` for the half's bit b (from 0), where E sends it to an input 2 to 5.
[[nodiscard]] constexpr std::uint32_t main_mask(std::uint64_t key, unsigned b) noexcept {
  const unsigned place = 6 * (b / 4) + 1 + b % 4;
  return 0U - static_cast<std::uint32_t>(key >> (47 - place) & 1);
}

// The difference that is added at an input 1 or 6, which is bit `place` (from 0) of E's result.
[[nodiscard]] constexpr std::uint32_t other_mask(std::uint64_t key, unsigned place) noexcept {
  const auto mask = 0U - static_cast<std::uint32_t>(key >> (47 - place) & 1);
  return mask ^ main_mask(key, des_standard::expansion[place] - 1U);
}

void prepare_direction(const DesRoundKeys& round_keys, bool is_inverse,
                       DesBitsliceKeys& keys) noexcept {
  constexpr unsigned rounds = DesRoundKeys::rounds;
  const auto key_of = [&](unsigned round) {
    return round_keys.key[is_inverse ? rounds - 1 - round : round];
  };
  std::uint32_t carried[2][32] = {};  // the masks that the halves include
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(carried), sizeof carried});
  for (unsigned round = 0; round < rounds; ++round) {
    std::uint32_t* const mask = keys.round[round];
    const unsigned changed = changed_half(round / 16, round % 16);
    for (unsigned b = 0; round % 16 == 0 && b < 32; ++b) {
      std::uint32_t& in_half = carried[1 - changed][b];
      keys.pass[round / 16][b] = in_half ^ main_mask(key_of(round), b);
      in_half = main_mask(key_of(round), b);
    }
    for (unsigned b = 0; b < 32; ++b) {
      // After the last round of a pass, the next one changes the same half again.
      const std::uint32_t wanted = round % 16 != 15 ? main_mask(key_of(round + 1), b) : 0;
      const unsigned output = des_standard::permutation[b] - 1U;
      mask[6 * (output / 4) + output % 4] = carried[changed][b] ^ wanted;
      carried[changed][b] = wanted;
    }
    for (unsigned box = 0; box < 8; ++box) {
      mask[6 * box + 4] = other_mask(key_of(round), 6 * box);
      mask[6 * box + 5] = other_mask(key_of(round), 6 * box + 5);
    }
  }
  std::memcpy(keys.last, carried[0], sizeof keys.last);
}

void prepare(Bytes key, std::uint8_t* image) {
  DesRoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_des_key(key, round_keys);
  auto* const ready = reinterpret_cast<Image*>(image);
  prepare_direction(round_keys, false, ready->keys[0]);
  prepare_direction(round_keys, true, ready->keys[1]);
}

}  // namespace

const DeviceKernel device_kernel_cuda_des_bitslice = {
    .name = "cuda_des_bitslice",
    .cipher = Cipher::des_ede3,
    .summary = "constant time, three-input logic, 32 blocks a thread",
    .warning = nullptr,
    .blocks = DesBitsliceCore<false>::blocks,
    .takes_gcm = false,
    .image_bytes = sizeof(Image),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(cuda_des_bitslice),
};

#endif

}  // namespace paes::cuda
