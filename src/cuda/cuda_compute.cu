// The device kernel `cuda_compute`: AES step by step (aes_compute_core.hpp), which others are
// measured against. Its GHASH is that of the other kernels (ghash_tables.hpp).
#include "cuda/aes_compute_core.hpp"
#include "cuda/gcm_runs.hpp"
#include "cuda/grid.hpp"

namespace paes::cuda {
namespace {

struct Image {
  RoundKeys round_keys;
  HashLevel hash[hash_levels];
};

int bind_keys(const Launch& launch, AesComputeKeys& keys) {
  keys = {&static_cast<const Image*>(launch.image)->round_keys, launch.slot};
#if defined(__CUDACC__)
  return copy_to_slot(aes_round_keys, keys.round_keys, launch);
#else
  keys.round_keys = copy_to_slot(keys.round_keys, launch);
  return 0;
#endif
}

#if defined(__CUDACC__)
int wipe_keys(const Launch& launch) { return wipe_slot(aes_round_keys, launch); }
#else
int wipe_keys(const Launch& launch) { return wipe_slot<RoundKeys>(launch); }
#endif

int run(const Launch& launch, const Job& job) {
  AesComputeKeys keys = {};
  if (const int error = bind_keys(launch, keys); error != 0) {
    return error;
  }
  return run_operation<AesComputeCore>(launch, job, keys);
}

int run_tweaks(const Launch& launch, const TweakJob& job) {
  AesComputeKeys keys = {};
  if (const int error = bind_keys(launch, keys); error != 0) {
    return error;
  }
  return run_tweaks_on_grid<AesComputeCore<false>>(launch, job, keys);
}

int run_gcm(const Launch& launch, const GcmJob& whole_job) {
  AesComputeKeys keys = {};
  if (const int error = bind_keys(launch, keys); error != 0) {
    return error;
  }
  return run_gcm_levels(
      launch, whole_job, static_cast<const Image*>(launch.image)->hash,
      [&](const GcmJob& job, const HashLevel* level) {
        using Core = GcmCore<AesComputeCore<false>>;
        switch (flow_of(job.operation)) {
          case TextFlow::encrypt:
            return run_gcm_on_grid<Core, TextFlow::encrypt>(launch, job, {keys, level});
          case TextFlow::decrypt:
            return run_gcm_on_grid<Core, TextFlow::decrypt>(launch, job, {keys, level});
          default:
            return run_gcm_on_grid<Core, TextFlow::hash>(launch, job, {keys, level});
        }
      });
}

constexpr DeviceRuns runs = {run, run_tweaks, run_gcm, wipe_keys,
                             find_on_grid<AesComputeCore<false>, Operation::ctr>};

}  // namespace

extern const DeviceRuns on_device_cuda_compute;
#if defined(__CUDACC__)
const DeviceRuns on_device_cuda_compute = runs;
#else
namespace {

void prepare(Bytes key, std::uint8_t* image) {
  RoundKeys round_keys;
  const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(&round_keys), sizeof round_keys});
  expand_key(key, round_keys);
  std::memcpy(image + offsetof(Image, round_keys), &round_keys, sizeof round_keys);
  Block h = {};
  const WipeOnExit wiped_h(h.bytes);
  aes_compute::encrypt_block(round_keys, h);
  make_hash_levels(h, reinterpret_cast<Image*>(image)->hash);
}

}  // namespace

extern const DeviceKernel device_kernel_cuda_compute;
const DeviceKernel device_kernel_cuda_compute = {
    .name = "cuda_compute",
    .cipher = Cipher::aes,
    .summary = "each step of FIPS 197, S-boxes in constant memory; the reference",
    .warning = "insecure: the time of its table look-ups depends on the key",
    .blocks = 1,
    .image_bytes = sizeof(Image),
    .constant_bytes = sizeof(RoundKeys),
    .prepare = prepare,
    .emulated = runs,
    .device = PAES_ON_DEVICE(cuda_compute),
};
#endif

}  // namespace paes::cuda
