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

}  // namespace

#if defined(PAES_LAUNCHES)

namespace {

// Calls `run(keys)` once the slot has the key.
template <class Run>
int with_keys(const Launch& launch, const Run& run) {
  AesComputeKeys keys = {&static_cast<const Image*>(launch.image)->round_keys, launch.slot};
  const int error = copy_to_slot(aes_round_keys, keys.round_keys, launch);
  return error != 0 ? error : run(keys);
}

int wipe_keys(const Launch& launch) { return wipe_slot(aes_round_keys, launch); }

int run(const Launch& launch, const Job& job) {
  return with_keys(launch, [&](const AesComputeKeys& keys) {
    return run_operation<AesComputeCore>(launch, job, keys);
  });
}

int run_tweaks(const Launch& launch, const TweakJob& job) {
  return with_keys(launch, [&](const AesComputeKeys& keys) {
    return run_tweaks_on_grid<AesComputeCore<false>>(launch, job, keys);
  });
}

int run_gcm(const Launch& launch, const GcmJob& whole_job) {
  return with_keys(launch, [&](const AesComputeKeys& keys) {
    return run_gcm_levels(launch, whole_job, static_cast<const Image*>(launch.image)->hash,
                          [&](const GcmJob& job, const HashLevel* level) {
                            return run_flow<AesComputeCore<false>>(launch, job, keys, level);
                          });
  });
}

}  // namespace

PAES_LAUNCHES(cuda_compute, run, run_tweaks, run_gcm, wipe_keys,
              find_on_grid<AesComputeCore<false>, Operation::ctr>);

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

const DeviceKernel device_kernel_cuda_compute = {
    .name = "cuda_compute",
    .cipher = Cipher::aes,
    .summary = "each step of FIPS 197, S-boxes in constant memory; the reference",
    .warning = "insecure: the time of its table look-ups depends on the key",
    .blocks = 1,
    .takes_gcm = true,
    .image_bytes = sizeof(Image),
    .prepare = prepare,
    .device = PAES_ON_DEVICE(cuda_compute),
};

#endif

}  // namespace paes::cuda
