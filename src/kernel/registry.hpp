// SPDX-License-Identifier: Apache-2.0
// The ordered table of kernels and the choice among them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kernel/kernel.hpp"

namespace paes {

// Every kernel of this build, best first (the order of kernels.def).
[[nodiscard]] std::span<const Kernel* const> all_kernels() noexcept;

// Empty if the kernel runs here, else the reason why it does not ("this processor lacks vaes").
[[nodiscard]] std::string unavailable_reason(const Kernel& kernel);

// The first row that dispatch may choose, that this machine can run and that `accepts`, if given,
// takes. Throws Error(failure) if there is none. Without `accepts` there always is one: bitslice.
using KernelFilter = std::function<bool(const Kernel&)>;
[[nodiscard]] const Kernel& best_kernel(Cipher cipher, const KernelFilter& accepts = {});
// Chooses as if the processor had these features.
[[nodiscard]] const Kernel& best_kernel(Cipher cipher, CpuFeatures features, bool prefers_512_bit,
                                        const KernelFilter& accepts = {});

// Finds a kernel by name, for --kernel. Throws Error(usage) that lists what is there if the name is
// unknown or the kernel cannot run here. "" and "auto" give best_kernel. Measurements pass more
// kernels than the table has.
[[nodiscard]] const Kernel& find_kernel(Cipher cipher, std::string_view name,
                                        std::span<const Kernel* const> among = all_kernels());

}  // namespace paes
