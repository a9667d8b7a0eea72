// SPDX-License-Identifier: Apache-2.0
// Ways that others have tried to parallelize AES inside a block on a device, only for gpu_bench to
// measure. No device uses them, and no table lists them. Each encrypts whole blocks in ECB, in
// place or not, and answers any other job with an error.
#pragma once

#include "cuda/device_kernel.hpp"

namespace paes::cuda {

// One launch for all blocks, with 16 threads each: every byte of a state has a thread, and all of
// them wait for each other after each step.
extern const DeviceKernel study_kernel_inside;
extern const DeviceRuns on_device_study_inside;

// A launch for each step of each block: 16 threads for SubBytes and AddRoundKey, one thread per row
// of ShiftRows and per column of MixColumns.
extern const DeviceKernel study_kernel_steps;
extern const DeviceRuns on_device_study_steps;

// Those launches with a grid of 16 thread blocks for SubBytes and AddRoundKey and of 4 for
// ShiftRows and MixColumns, each of one thread.
extern const DeviceKernel study_kernel_grid;
extern const DeviceRuns on_device_study_grid;

}  // namespace paes::cuda
