// The device kernel `cuda_bitslice`: AES in constant time, 8 blocks a thread
// (aes_bitslice_core.hpp).
#include "cuda/aes_bitslice_core.hpp"
#include "cuda/grid.hpp"
#include "kernel/prepare_aes.hpp"

namespace paes::cuda {
namespace {

struct Image {
  AesBitsliceKeys keys[2];  // of both directions
};

}  // namespace

#if defined(PAES_LAUNCHES)

namespace {

AesBitsliceLaunchKeys keys_of(const Launch& launch, bool is_inverse) {
  const auto& image = *static_cast<const Image*>(launch.image);
  return {image.keys + (is_inverse ? 1 : 0), static_cast<unsigned>(launch.key_bytes / 4 + 6)};
}

int run(const Launch& launch, const Job& job) {
  return run_operation<AesBitsliceCore>(launch, job,
                                        keys_of(launch, formula_of(job.operation).inverse));
}

int run_tweaks(const Launch& launch, const TweakJob& job) {
  return run_tweaks_on_grid<AesBitsliceCore<false>>(launch, job, keys_of(launch, false));
}

}  // namespace

PAES_LAUNCHES(cuda_bitslice, run, run_tweaks, nullptr, nullptr,
              find_on_grid<AesBitsliceCore<false>, Operation::ctr>);

#else

namespace {

// One round key of one direction: `key` is what the state gets after the S-boxes, before ShiftRows
// and MixColumns, `is_first` before everything.
void prepare_round(const AesSlices& key, bool is_first, AesSlices& round) noexcept {
  for (unsigned r = 0; r < 4; ++r) {
    if (is_first) {
      std::memcpy(round[r], key[r], sizeof round[r]);
    } else {
      spread_key(key[r], round[r]);
    }
  }
}

// The same key for all eight blocks, each byte with `constant` added.
void key_slices(const Block& key, unsigned constant, AesSlices& slices) noexcept {
  std::memset(slices, 0, sizeof slices);
  for (unsigned place = 0; place < block_bytes; ++place) {
    const unsigned byte = key.bytes[place] ^ constant;
    for (unsigned b = 0; b < 8; ++b) {
      slices[place % 4][b] |= (byte >> b & 1) * 0xffU << (8 * (place / 4));
    }
  }
}

// A x (FIPS 197, section 5.1.1).
void matrix(std::uint32_t (&x)[8]) noexcept {
  std::uint32_t y[8];
  for (unsigned i = 0; i < 8; ++i) {
    y[i] = x[i] ^ x[(i + 4) % 8] ^ x[(i + 5) % 8] ^ x[(i + 6) % 8] ^ x[(i + 7) % 8];
  }
  std::memcpy(x, y, sizeof y);
}

void prepare_direction(const RoundKeys& round_keys, bool is_inverse,
                       AesBitsliceKeys& keys) noexcept {
  constexpr unsigned affine_constant = 0x63;
  std::memset(&keys, 0, sizeof keys);
  AesSlices key;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(key), sizeof key});
  const unsigned last = round_keys.rounds;
  for (unsigned round = 0; round <= last; ++round) {
    if (is_inverse) {
      // Each key but the last carries c for the S-boxes after it; InvMixColumns leaves c as it is,
      // and so do the steps before the key of a forward round.
      key_slices(round_keys.key[last - round], round < last ? affine_constant : 0, key);
      if (round > 0) {
        shift_rows<false>(key);
        for (auto& row : key) {
          matrix(row);  // because A^-1 follows
        }
      }
    } else {
      key_slices(round_keys.key[round], round > 0 ? affine_constant : 0, key);
      if (round > 0 && round < last) {
        inv_mix_columns(key);
      }
      if (round > 0) {
        shift_rows<true>(key);
      }
    }
    prepare_round(key, round == 0, keys.round[round]);
  }
}

void prepare(Bytes key, std::uint8_t* image) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  Image ready;
  const WipeOnExit wiped_ready({reinterpret_cast<std::uint8_t*>(&ready), sizeof ready});
  prepare_direction(round_keys, false, ready.keys[0]);
  prepare_direction(round_keys, true, ready.keys[1]);
  std::memcpy(image, &ready, sizeof ready);
}

}  // namespace

const DeviceKernel device_kernel_cuda_bitslice = {
    .name = "cuda_bitslice",
    .cipher = Cipher::aes,
    .summary = "constant time, three-input logic, 8 blocks a thread",
    .warning = nullptr,
    .blocks = AesBitsliceCore<false>::blocks,
    .takes_gcm = false,
    .image_bytes = sizeof(Image),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(cuda_bitslice),
};

#endif

}  // namespace paes::cuda
