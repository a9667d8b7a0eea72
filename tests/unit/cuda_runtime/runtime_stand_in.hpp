// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVIDIA's run-time library, for programs that have no device: devices as a test
// wants them, memory of the host, and launches and copies that do nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace paes::test {

struct StandInDevice {
  int architecture;                // 86
  cudaError_t code = cudaSuccess;  // what the driver says when it is asked for a kernel
  int compute_mode = cudaComputeModeDefault;
};

struct StandIn {
  std::vector<StandInDevice> devices;
  std::size_t memory_bytes = std::size_t{1} << 30;  // of all devices together
  std::size_t used_bytes = 0;
  cudaError_t when_waiting = cudaSuccess;  // what a wait for a stream answers
  unsigned questions = 0;  // about the room for a kernel's thread blocks, and what it may use
  unsigned launches = 0;
  int current = 0;
};

// The one that the program's calls are answered from.
StandIn& stand_in();

}  // namespace paes::test
