// SPDX-License-Identifier: Apache-2.0
// AES inside a block, on a device: ways that have been tried, for gpu_bench to measure and for
// nothing else. No device knows them and no table has them; each encrypts whole blocks in ECB, in
// place or not, and answers any other job with an error.
#pragma once

#include "cuda/device_kernel.hpp"

namespace paes::cuda {

// One launch for all blocks, 16 threads to each: every byte of a state has a thread, and all wait
// for each other after each step.
extern const DeviceKernel study_kernel_inside;
extern const DeviceRuns on_device_study_inside;

// A launch for each step of each block: 16 threads for SubBytes and AddRoundKey, a row of ShiftRows
// and a column of MixColumns to a thread.
extern const DeviceKernel study_kernel_steps;
extern const DeviceRuns on_device_study_steps;

}  // namespace paes::cuda
