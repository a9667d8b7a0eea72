// SPDX-License-Identifier: Apache-2.0
// The device kernel `cuda_des_compute`: Triple DES as the published studies of GPUs have it, to
// measure the others against. Each step is as the standard writes it (cipher/des_compute.hpp), with
// one block per thread. The state is staged through shared memory; S-boxes, permutations and round
// keys are in constant memory. It is slow and insecure: its look-ups depend on secrets, and
// constant memory answers different addresses of a warp one after the other.
#include "cipher/des_compute.hpp"
#include "cipher/des_key.hpp"
#include "cuda/grid.hpp"

namespace paes::cuda {

#if defined(PAES_LAUNCHES)

namespace {

PAES_CONSTANT_TABLE des_compute::Tables des_tables = des_compute::make_tables();
PAES_CONSTANT_KEYS(DesRoundKeys, des_round_keys);

struct DesComputeKeys {
  const DesRoundKeys* round_keys;  // where the emulation reads them
  unsigned slot;                   // where the device reads them

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

int run(const Launch& launch, const Job& job) {
  DesComputeKeys keys = {static_cast<const DesRoundKeys*>(launch.image), launch.slot};
  const int error = copy_to_slot(des_round_keys, keys.round_keys, launch);
  return error != 0 ? error : run_operation<DesComputeCore>(launch, job, keys);
}

int wipe_keys(const Launch& launch) { return wipe_slot(des_round_keys, launch); }

}  // namespace

PAES_LAUNCHES(cuda_des_compute, run, nullptr, nullptr, wipe_keys,
              find_on_grid<DesComputeCore<false>, Operation::ctr>);

#else

namespace {

void prepare(Bytes key, std::uint8_t* image) {
  expand_des_key(key, *reinterpret_cast<DesRoundKeys*>(image));
}

}  // namespace

const DeviceKernel device_kernel_cuda_des_compute = {
    .name = "cuda_des_compute",
    .cipher = Cipher::des_ede3,
    .summary = "each step of SP 800-67 as the standard writes it, a block a thread",
    .warning = "insecure: timing: its table look-ups leak the key to others on the device",
    .blocks = 1,
    .takes_gcm = false,
    .image_bytes = sizeof(DesRoundKeys),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(cuda_des_compute),
};

#endif

}  // namespace paes::cuda
