// The device kernel `cuda_des_compute`: Triple DES as the published studies have it
// (des_compute_core.hpp). A launch first copies the round keys to its slot's part of constant
// memory.
#include "cuda/des_compute_core.hpp"
#include "cuda/grid.hpp"
#include "kernel/prepare_des.hpp"

namespace paes::cuda {

#if defined(PAES_LAUNCHES)

namespace {

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
    .blocks = DesComputeCore<false>::blocks,
    .takes_gcm = false,
    .image_bytes = sizeof(DesRoundKeys),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(cuda_des_compute),
};

#endif

}  // namespace paes::cuda
