// The rows of the kernel table that tests run.
#pragma once

#include <vector>

#include "kernel/registry.hpp"

namespace paes {

// Bench-only rows need not encrypt at all, so they are left to the benchmark's own checks.
inline std::vector<const Kernel*> tested_kernels() {
  std::vector<const Kernel*> tested;
  for (const Kernel* kernel : all_kernels()) {
    if (kernel->cipher == Cipher::aes && kernel->use != Use::bench_only) {
      tested.push_back(kernel);
    }
  }
  return tested;
}

}  // namespace paes
