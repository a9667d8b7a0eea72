// SPDX-License-Identifier: Apache-2.0
// A grid of threads that runs a Core's modes: the `__global__` functions, which find their place
// and call the functions of the other headers, and the code that launches them. For tests,
// tests/support/emulated/emulated_grid.hpp loops over all places of a grid instead and calls the
// same functions on the host.
#pragma once

#include <atomic>
#include <cstdlib>

#include "cuda/device_kernel.hpp"
#include "cuda/gcm_loop.hpp"
#include "cuda/mode_loop.hpp"
#include "cuda/sliced_loop.hpp"

namespace paes::cuda {
namespace {  // NOLINT

template <class Core>
[[nodiscard]] unsigned threads_of(const Launch& launch) noexcept {
  return launch.shape.threads != 0 ? launch.shape.threads : Core::threads;
}

// The most thread blocks for which a job has work.
template <class Core>
[[nodiscard]] std::uint64_t rows_of(const Launch& launch, const Job& job) noexcept {
  const std::uint64_t row_bytes =
      std::uint64_t{threads_of<Core>(launch)} * Core::blocks * Core::block_bytes;
  return (job.bytes + row_bytes - 1) / row_bytes;
}
template <class Core>
[[nodiscard]] std::uint64_t rows_of(const Launch& launch, const TweakJob& job) noexcept {
  const std::uint64_t count = tweak_count(job.blocks, job.unit_blocks);
  return (count + threads_of<Core>(launch) - 1) / threads_of<Core>(launch);
}
template <class Core>
[[nodiscard]] std::uint64_t rows_of(const Launch& /*launch*/, const GcmJob& job) noexcept {
  return hash_units(job);
}

#if defined(__CUDACC__)

[[nodiscard]] PAES_DEVICE Thread this_thread() {
  return {blockIdx.x, gridDim.x, threadIdx.x, blockDim.x};
}

// Copies a slot's keys from the image in device memory to its place in constant memory, on the
// launch's stream, so that no other launch still reads what they replace.
template <class Keys>
[[nodiscard]] int copy_to_slot(const InSlot<Keys> (&symbol)[max_slots], const void* from,
                               const Launch& launch) {
  return cudaMemcpyToSymbolAsync(symbol, from, sizeof(Keys), launch.slot * sizeof symbol[0],
                                 cudaMemcpyDeviceToDevice,
                                 static_cast<cudaStream_t>(launch.stream));
}
template <class Keys>
[[nodiscard]] int wipe_slot(const InSlot<Keys> (&symbol)[max_slots], const Launch& launch) {
  static const std::uint8_t zeros[sizeof(Keys)] = {};
  return cudaMemcpyToSymbolAsync(symbol, zeros, sizeof zeros, launch.slot * sizeof symbol[0],
                                 cudaMemcpyHostToDevice, static_cast<cudaStream_t>(launch.stream));
}

// The shared memory of a thread block's threads. From here on it is only read.
template <class Core>
PAES_DEVICE std::uint8_t* filled_memory(const typename Core::Keys& keys) {
  extern __shared__ __align__(16) std::uint8_t shared[];  // Cores read words and blocks in it
  Core::fill(shared, keys, this_thread());
  __syncthreads();
  return shared;
}

// The last two parameters are for tools/cuda_resources.py, which reads them in the kernels' names:
// the compiler does not report shared memory that is requested at launch.
template <class Core, Operation Which, unsigned Threads = Core::threads,
          unsigned SharedBytes = Core::shared_bytes>
__global__ void __launch_bounds__(Threads, 1)
    run_grid(const Job job, const typename Core::Keys keys) {
  const Core core(filled_memory<Core>(keys), keys, this_thread());
  run_core<Core, Which>(core, job, this_thread());
}

template <class Core, unsigned Threads = Core::threads, unsigned SharedBytes = Core::shared_bytes>
__global__ void __launch_bounds__(Threads, 1)
    run_tweaks_grid(const TweakJob job, const typename Core::Keys keys) {
  const Core core(filled_memory<Core>(keys), keys, this_thread());
  run_tweaks(core, job, this_thread());
}

template <class Core, TextFlow Flow, unsigned Threads = Core::threads,
          unsigned SharedBytes = Core::shared_bytes>
__global__ void __launch_bounds__(Threads, 1)
    run_gcm_grid(const GcmJob job, const typename Core::Keys keys) {
  const Thread thread = this_thread();
  const Core core(filled_memory<Core>(keys), keys, thread);
  PAES_KEEP_LOOP
  for (GcmUnits units(job, thread); units.has_more(); units.next()) {
    const HashUnit unit = hash_unit<Flow>(job, units.at);
    FieldWords sum = core.template lane_part<Flow>(job, unit);
    PAES_UNROLL
    for (unsigned step = warp_lanes / 2; step != 0; step /= 2) {
      for (std::uint32_t& word : sum.word) {
        word ^= __shfl_xor_sync(0xffffffff, word, static_cast<int>(step));
      }
    }
    const Words<16> result = core.result(job, unit, sum);
    if (thread.lane() == warp_lanes - 1) {
      store_words(job.tags + units.at, result);
    }
  }
}

// What a kernel's launches have learned about each device: for how many of its thread blocks a
// multiprocessor has room. 0 if nobody has asked yet; the device may not know yet how much shared
// memory the kernel uses.
class Room {
 public:
  [[nodiscard]] int known(const Launch& launch) const noexcept {
    return is_kept(launch) ? blocks_[launch.ordinal].load(std::memory_order_relaxed) : 0;
  }
  void keep(const Launch& launch, int blocks) noexcept {
    if (is_kept(launch)) {
      blocks_[launch.ordinal].store(blocks, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int most_devices = 64;
  // Tests ask for thread blocks of other sizes.
  [[nodiscard]] static bool is_kept(const Launch& launch) noexcept {
    return launch.shape.threads == 0 && launch.ordinal >= 0 && launch.ordinal < most_devices;
  }

  std::atomic<int> blocks_[most_devices] = {};
};

// Starts `kernel` on as many thread blocks as the device has room for, or fewer if there is less
// work. Each stays until the job is done.
template <class Core, class AnyJob>
[[nodiscard]] int start_grid(void (*kernel)(AnyJob, typename Core::Keys), Room& room,
                             const Launch& launch, const AnyJob& job,
                             const typename Core::Keys& keys) {
  const std::uint64_t rows = rows_of<Core>(launch, job);
  if (rows == 0) {
    return cudaSuccess;
  }
  const unsigned threads = threads_of<Core>(launch);
  int blocks = room.known(launch);
  if (blocks == 0) {
    // Needed for kernels that use more than 48 KiB.
    if (const cudaError_t error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(Core::shared_bytes));
        error != cudaSuccess) {
      return error;
    }
    if (const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, kernel, static_cast<int>(threads), Core::shared_bytes);
        error != cudaSuccess) {
      return error;
    }
    blocks = blocks < 1 ? 1 : blocks;
    room.keep(launch, blocks);
  }
  const std::uint64_t most =
      std::uint64_t{launch.shape.multiprocessors} * static_cast<unsigned>(blocks);
  const auto grid = static_cast<unsigned>(rows < most ? rows : most);
  kernel<<<grid, threads, Core::shared_bytes, static_cast<cudaStream_t>(launch.stream)>>>(job,
                                                                                          keys);
  return cudaGetLastError();
}

// All kernels of a file are compiled for the same devices, so one answers for all.
template <class Core, Operation Which>
[[nodiscard]] int find_on_grid() {
  cudaFuncAttributes attributes = {};
  return cudaFuncGetAttributes(&attributes, run_grid<Core, Which>);
}

// The functions that run a Core, for a file's launches.
template <class Core, Operation Which>
[[nodiscard]] int run_on_grid(const Launch& launch, const Job& job,
                              const typename Core::Keys& keys) {
  static Room room;
  return start_grid<Core, Job>(run_grid<Core, Which>, room, launch, job, keys);
}

template <class Core>
[[nodiscard]] int run_tweaks_on_grid(const Launch& launch, const TweakJob& job,
                                     const typename Core::Keys& keys) {
  static Room room;
  return start_grid<Core, TweakJob>(run_tweaks_grid<Core>, room, launch, job, keys);
}

template <class Core, TextFlow Flow>
[[nodiscard]] int run_gcm_on_grid(const Launch& launch, const GcmJob& job,
                                  const typename Core::Keys& keys) {
  static Room room;
  return start_grid<Core, GcmJob>(run_gcm_grid<Core, Flow>, room, launch, job, keys);
}

#else

// For run_operation below. Without nvcc, only tests define it.
template <class Core, Operation Which>
[[nodiscard]] int run_on_grid(const Launch& launch, const Job& job,
                              const typename Core::Keys& keys);

#endif

// Runs the operation with the Core of its direction; `keys` are for that direction, too.
template <template <bool Inverse> class Core, class Keys>
int run_operation(const Launch& launch, const Job& job, const Keys& keys) {
  if constexpr (Core<false>::block_bytes == 16) {
    if (job.operation == Operation::xts_encrypt) {
      return run_on_grid<Core<false>, Operation::xts_encrypt>(launch, job, keys);
    }
    if (job.operation == Operation::xts_decrypt) {
      return run_on_grid<Core<true>, Operation::xts_decrypt>(launch, job, keys);
    }
  }
  switch (job.operation) {
    case Operation::ecb_encrypt:
      return run_on_grid<Core<false>, Operation::ecb_encrypt>(launch, job, keys);
    case Operation::ecb_decrypt:
      return run_on_grid<Core<true>, Operation::ecb_decrypt>(launch, job, keys);
    case Operation::cbc_decrypt:
      return run_on_grid<Core<true>, Operation::cbc_decrypt>(launch, job, keys);
    case Operation::cfb_decrypt:
      return run_on_grid<Core<false>, Operation::cfb_decrypt>(launch, job, keys);
    case Operation::ctr:
      return run_on_grid<Core<false>, Operation::ctr>(launch, job, keys);
    default:
      break;
  }
  std::abort();  // a chained operation, or XTS with 3DES: the caller's mistake
}

}  // namespace
}  // namespace paes::cuda
