// SPDX-License-Identifier: Apache-2.0
#include "kernel/registry.hpp"

#include <array>

#include "paes/error.hpp"

namespace paes {

// The lines of kernels.def whose files are in this build, made by cmake/kernel_table.cmake.
#define PAES_KERNEL(name, processor, flags) extern const Kernel kernel_##name;
#include "kernel/compiled_kernels.def"
#undef PAES_KERNEL

namespace {

#define PAES_KERNEL(name, processor, flags) &kernel_##name,
constexpr const Kernel* const rows[] = {
#include "kernel/compiled_kernels.def"
};
#undef PAES_KERNEL

bool chosen_by_dispatch(const Kernel& kernel, CpuFeatures features, bool prefers_512_bit) {
  return kernel.use == Use::automatic && features.contain(kernel.needs) &&
         (kernel.unavailable == nullptr || kernel.unavailable() == nullptr) &&
         (!kernel.wants_512_bit || prefers_512_bit);
}

std::string names_available(Cipher cipher, std::span<const Kernel* const> among) {
  std::string names;
  for (const Kernel* kernel : among) {
    if (kernel->cipher == cipher && unavailable_reason(*kernel).empty()) {
      names += (names.empty() ? "" : ", ") + std::string(kernel->name);
    }
  }
  return names;
}

}  // namespace

std::span<const Kernel* const> all_kernels() noexcept { return rows; }

std::string unavailable_reason(const Kernel& kernel) {
  if (const std::string missing = missing_features(kernel.needs); !missing.empty()) {
    return "this processor lacks " + missing;
  }
  const char* reason = kernel.unavailable != nullptr ? kernel.unavailable() : nullptr;
  return reason != nullptr ? reason : "";
}

const Kernel& best_kernel(Cipher cipher, const KernelFilter& accepts) {
  return best_kernel(cipher, machine_features(), machine_prefers_512_bit(), accepts);
}

const Kernel& best_kernel(Cipher cipher, CpuFeatures features, bool prefers_512_bit,
                          const KernelFilter& accepts) {
  for (const Kernel* kernel : rows) {
    if (kernel->cipher == cipher && (!accepts || accepts(*kernel)) &&
        chosen_by_dispatch(*kernel, features, prefers_512_bit)) {
      return *kernel;
    }
  }
  throw Error(ErrorCode::failure, "kernel: none runs on this machine");
}

const Kernel& find_kernel(Cipher cipher, std::string_view name,
                          std::span<const Kernel* const> among) {
  if (name.empty() || name == "auto") {
    return best_kernel(cipher);
  }
  const std::string hint = "this machine has: " + names_available(cipher, among);
  for (const Kernel* kernel : among) {
    if (kernel->cipher != cipher || name != kernel->name) {
      continue;
    }
    if (const std::string reason = unavailable_reason(*kernel); !reason.empty()) {
      throw Error(ErrorCode::usage, "kernel: '" + std::string(name) + "': " + reason, hint);
    }
    return *kernel;
  }
  throw Error(ErrorCode::usage, "kernel: unknown name '" + std::string(name) + "'", hint);
}

}  // namespace paes
