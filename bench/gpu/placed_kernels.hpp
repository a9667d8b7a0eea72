// SPDX-License-Identifier: Apache-2.0
// Plain AES on a device, only for gpu_bench to measure: with its tables in each of a device's
// memories, or with every step computed, each with several numbers of threads in a thread block. No
// device uses them. Each encrypts whole blocks in ECB, in place or not, and answers any other job
// with an error.
#pragma once

#include <span>

#include "cuda/device_kernel.hpp"

namespace paes::cuda {

// Where the tables lie. With `compute` there is only the S-box, in constant memory.
enum class TablePlace { compute, constant, global, shared };

[[nodiscard]] constexpr const char* name_of(TablePlace place) noexcept {
  constexpr const char* names[] = {"compute", "constant", "global", "shared"};
  return names[static_cast<unsigned>(place)];
}

struct PlacedKernel {
  TablePlace place;
  unsigned threads;  // of a thread block
  // A launch has one thread block for each multiprocessor. Otherwise it has as many as they have
  // room for.
  bool is_alone;
  DeviceKernel kernel;
};

// Those of placed_kernels.def, each first with `is_alone`. All of one place run the same code.
[[nodiscard]] std::span<const PlacedKernel> placed_kernels() noexcept;

// How many thread blocks of the kernel a multiprocessor of the current device has at a time.
// Returns a cudaError_t. Only for builds with nvcc, and for real devices.
[[nodiscard]] int blocks_a_multiprocessor(const PlacedKernel& placed, int& blocks);

#define PAES_PLACED_KERNEL(place, threads)                             \
  extern const DeviceRuns on_device_study_##place##_##threads##_alone; \
  extern const DeviceRuns on_device_study_##place##_##threads;
#include "gpu/placed_kernels.def"
#undef PAES_PLACED_KERNEL

}  // namespace paes::cuda
