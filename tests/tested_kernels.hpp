// The rows of the kernel table that tests run.
#pragma once

#include <vector>

#include "kernel/registry.hpp"

namespace paes {

// Bench-only rows need not encrypt at all, so they are left to the benchmark's own checks.
inline std::vector<const Kernel*> tested_kernels(Cipher cipher = Cipher::aes) {
  std::vector<const Kernel*> tested;
  for (const Kernel* kernel : all_kernels()) {
    if (kernel->cipher == cipher && kernel->use != Use::bench_only) {
      tested.push_back(kernel);
    }
  }
  return tested;
}

// Of every cipher.
inline std::vector<const Kernel*> all_tested_kernels() {
  std::vector<const Kernel*> tested = tested_kernels(Cipher::aes);
  const std::vector<const Kernel*> des = tested_kernels(Cipher::des_ede3);
  tested.insert(tested.end(), des.begin(), des.end());
  return tested;
}

}  // namespace paes
