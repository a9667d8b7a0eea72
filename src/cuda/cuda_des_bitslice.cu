// The device kernel `cuda_des_bitslice`: Triple DES in constant time, 32 blocks a thread
// (des_bitslice_core.hpp).
#include "cuda/des_bitslice_core.hpp"
#include "cuda/grid.hpp"
#include "kernel/prepare_des.hpp"

namespace paes::cuda {
namespace {

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

// What round key `key` has for the half's bit b (from 0) where E sends it to an input 2 to 5.
[[nodiscard]] constexpr std::uint32_t main_mask(std::uint64_t key, unsigned b) noexcept {
  const unsigned place = 6 * (b / 4) + 1 + b % 4;
  return 0U - static_cast<std::uint32_t>(key >> (47 - place) & 1);
}

// What it has besides for an input 1 or 6, bit `place` (from 0) of E's result.
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
  std::uint32_t carried[2][32] = {};  // what is in the halves
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
      // After the last round of a pass the next one changes the same half once more.
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
  Image ready;
  const WipeOnExit wiped_ready({reinterpret_cast<std::uint8_t*>(&ready), sizeof ready});
  prepare_direction(round_keys, false, ready.keys[0]);
  prepare_direction(round_keys, true, ready.keys[1]);
  std::memcpy(image, &ready, sizeof ready);
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
