// Triple DES as the published studies of GPUs have it, to measure the others against: each step as
// the standard writes it (cipher/des_compute.hpp), one block a thread, its state staged through
// shared memory, S-boxes, permutations and round keys in constant memory. Its look-ups depend on
// secrets, and constant memory answers different addresses of a warp one after the other: slow and
// insecure.
#pragma once

#include "cipher/des_compute.hpp"
#include "cuda/device_kernel.hpp"
#include "cuda/mode_loop.hpp"

namespace paes::cuda {
namespace {  // NOLINT: see device.hpp

PAES_CONSTANT_TABLE des_compute::Tables des_tables = des_compute::make_tables();
PAES_CONSTANT_KEYS(DesRoundKeys, des_round_keys);

struct DesComputeKeys {
  const DesRoundKeys* round_keys;  // where the emulation reads them
  unsigned slot;                   // where the device does

  PAES_DEVICE const std::uint64_t* in_slot() const {
#if defined(__CUDA_ARCH__)
    return des_round_keys[slot].keys.key;
#else
    return round_keys->key;
#endif
  }
};

template <bool Inverse>
class DesComputeCore {
 public:
  static constexpr unsigned block_bytes = 8;
  static constexpr unsigned blocks = 1;
  static constexpr bool inverse = Inverse;
  using Keys = DesComputeKeys;
  static constexpr unsigned threads = 256;
  static constexpr unsigned shared_bytes = threads * block_bytes;

  PAES_DEVICE static void fill(std::uint8_t* /*shared*/, const Keys& /*keys*/,
                               const Thread& /*thread*/) {}

  PAES_DEVICE DesComputeCore(std::uint8_t* shared, const Keys& keys, const Thread& thread)
      : staged_(reinterpret_cast<Words<8>*>(shared)[thread.index]), keys_(keys) {}

  PAES_DEVICE void crypt(Words<8> (&state)[blocks]) const {
    staged_ = state[0];
    const std::uint64_t block =
        std::uint64_t{swap_bytes(staged_.word[0])} << 32 | swap_bytes(staged_.word[1]);
    const std::uint64_t result = Inverse ? des_compute::decrypt(des_tables, keys_.in_slot(), block)
                                         : des_compute::encrypt(des_tables, keys_.in_slot(), block);
    staged_ = {{swap_bytes(static_cast<std::uint32_t>(result >> 32)),
                swap_bytes(static_cast<std::uint32_t>(result))}};
    state[0] = staged_;
  }

 private:
  Words<8>& staged_;
  Keys keys_;
};

}  // namespace
}  // namespace paes::cuda
