// The device kernel `cuda_des_compute`: Triple DES as the published studies have it
// (des_compute_core.hpp). A launch first copies the round keys to its slot's part of constant
// memory.
#include "cuda/des_compute_core.hpp"
#include "cuda/grid.hpp"
#include "kernel/prepare_des.hpp"

namespace paes::cuda {
namespace {

#if defined(__CUDACC__)
int bind_keys(const Launch& launch, DesComputeKeys& keys) {
  keys = {nullptr, launch.slot};
  return copy_to_slot(des_round_keys, launch.image, launch);
}

int wipe_keys(const Launch& launch) { return wipe_slot(des_round_keys, launch); }
#else
int bind_keys(const Launch& launch, DesComputeKeys& keys) {
  keys = {copy_to_slot(static_cast<const DesRoundKeys*>(launch.image), launch)->key, 0};
  return 0;
}

int wipe_keys(const Launch& launch) { return wipe_slot<DesRoundKeys>(launch); }
#endif

int run(const Launch& launch, const Job& job) {
  DesComputeKeys keys = {};
  if (const int error = bind_keys(launch, keys); error != 0) {
    return error;
  }
  return run_operation<DesComputeCore>(launch, job, keys);
}

constexpr DeviceRuns runs = {run, nullptr, nullptr, wipe_keys,
                             find_on_grid<DesComputeCore<false>, Operation::ctr>};

}  // namespace

extern const DeviceRuns on_device_cuda_des_compute;
#if defined(__CUDACC__)
const DeviceRuns on_device_cuda_des_compute = runs;
#else
namespace {

void prepare(Bytes key, std::uint8_t* image) {
  expand_des_key(key, *reinterpret_cast<DesRoundKeys*>(image));
}

}  // namespace

extern const DeviceKernel device_kernel_cuda_des_compute;
const DeviceKernel device_kernel_cuda_des_compute = {
    .name = "cuda_des_compute",
    .cipher = Cipher::des_ede3,
    .summary = "each step of SP 800-67 as the standard writes it, a block a thread",
    .warning = "insecure: timing: its table look-ups leak the key to others on the device",
    .blocks = DesComputeCore<false>::blocks,
    .image_bytes = sizeof(DesRoundKeys),
    .constant_bytes = sizeof(DesRoundKeys),
    .prepare = prepare,
    .emulated = runs,
    .device = PAES_ON_DEVICE(cuda_des_compute),
};
#endif

}  // namespace paes::cuda
