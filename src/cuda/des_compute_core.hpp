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

#if defined(__CUDACC__)
__constant__ constexpr des_compute::Tables des_tables = des_compute::make_tables();
__constant__ InSlot<std::uint64_t[DesRoundKeys::rounds]> des_round_keys[max_slots];
#endif

struct DesComputeKeys {
  const std::uint64_t* key;  // of the emulation
  unsigned slot;             // of the device
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
#if defined(__CUDA_ARCH__)
    const des_compute::Tables& tables = des_tables;
    const std::uint64_t* const keys = des_round_keys[keys_.slot].keys;
#else
    const des_compute::Tables& tables = des_compute::standard_tables;
    const std::uint64_t* const keys = keys_.key;
#endif
    const std::uint64_t result = Inverse ? des_compute::decrypt(tables, keys, block)
                                         : des_compute::encrypt(tables, keys, block);
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
