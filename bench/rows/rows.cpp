// SPDX-License-Identifier: Apache-2.0
#include "rows/rows.hpp"

#include <vector>

#include "kernel/registry.hpp"

namespace paes {

// The lines of rows.def whose files are in this build, made by cmake/kernel_table.cmake.
#define PAES_KERNEL(name, processor, flags) extern const Kernel kernel_##name;
#include "rows/compiled_rows.def"
#undef PAES_KERNEL

namespace bench {

std::span<const Kernel* const> rows() noexcept {
#define PAES_KERNEL(name, processor, flags) &kernel_##name,
  static constexpr const Kernel* table[] = {
#include "rows/compiled_rows.def"
  };
#undef PAES_KERNEL
  return table;
}

std::span<const Kernel* const> kernels_and_rows() {
  static const std::vector<const Kernel*> both = [] {
    std::vector<const Kernel*> kernels(all_kernels().begin(), all_kernels().end());
    kernels.insert(kernels.end(), rows().begin(), rows().end());
    return kernels;
  }();
  return both;
}

}  // namespace bench

}  // namespace paes
