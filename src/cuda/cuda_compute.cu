// SPDX-License-Identifier: Apache-2.0
// The device kernel `cuda_compute`: AES step by step, as the studies first had it, for reading and
// for comparison. S-boxes and round keys are in constant memory, each thread's block is staged
// through shared memory, and a thread block has 256 threads. The steps are those of
// cipher/aes_compute.hpp; GHASH is that of the other kernels. A look-up in constant memory takes
// longer the more the addresses of a warp differ, so its time depends on secrets.
#include "cipher/aes_compute.hpp"
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

PAES_CONSTANT_KEYS(RoundKeys, aes_round_keys);
PAES_CONSTANT_TABLE aes_compute::Sbox aes_sbox = aes_compute::make_sbox();
PAES_CONSTANT_TABLE aes_compute::Sbox aes_inverse_sbox = aes_compute::make_inverse_sbox();

struct AesComputeKeys {
  const RoundKeys* round_keys;  // where the emulation reads them
  unsigned slot;                // where the device reads them

  PAES_DEVICE const RoundKeys& in_slot() const {
#if defined(__CUDA_ARCH__)
    return aes_round_keys[slot].keys;
#else
    return *round_keys;
#endif
  }
};

template <bool Inverse>
class AesComputeCore {
 public:
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 1;
  static constexpr bool inverse = Inverse;
  using Keys = AesComputeKeys;
  static constexpr unsigned threads = 256;
  static constexpr unsigned shared_bytes = threads * sizeof(Block);

  PAES_DEVICE static void fill(std::uint8_t* /*shared*/, const Keys& /*keys*/,
                               const Thread& /*thread*/) {}

  PAES_DEVICE AesComputeCore(std::uint8_t* shared, const Keys& keys, const Thread& thread)
      : state_(reinterpret_cast<Block*>(shared)[thread.index]), keys_(keys) {}

  PAES_DEVICE void crypt(Words<16> (&state)[blocks]) const {
    store_words(&state_, state[0]);
    if constexpr (Inverse) {
      aes_compute::decrypt_block(keys_.in_slot(), state_, aes_inverse_sbox);
    } else {
      aes_compute::encrypt_block(keys_.in_slot(), state_, aes_sbox);
    }
    state[0] = load_words<16>(&state_);
  }

 private:
  Block& state_;  // this thread's, in shared memory
  Keys keys_;
};

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
  auto* const ready = reinterpret_cast<Image*>(image);
  expand_key(key, ready->round_keys);
  Block h = {};
  const WipeOnExit wiped(h.bytes);
  aes_compute::encrypt_block(ready->round_keys, h);
  make_hash_levels(h, ready->hash);
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
