// SPDX-License-Identifier: Apache-2.0
// The ordered table of kernels and the choice among them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kernel/kernel.hpp"

namespace paes {

// Every kernel compiled in, best first (the order of kernels.def).
[[nodiscard]] std::span<const Kernel* const> all_kernels() noexcept;

// Empty when the kernel runs here, else the reason it does not ("this processor lacks vaes").
[[nodiscard]] std::string unavailable_reason(const Kernel& kernel);

// The first row that dispatch may choose, that this machine runs and that `accepts`, if given,
// takes. Without `accepts` there always is one: bitslice. Throws Error(failure) if there is none.
using KernelFilter = std::function<bool(const Kernel&)>;
[[nodiscard]] const Kernel& best_kernel(Cipher cipher, const KernelFilter& accepts = {});
// The same for a processor with these features.
[[nodiscard]] const Kernel& best_kernel(Cipher cipher, CpuFeatures features, bool prefers_512_bit,
                                        const KernelFilter& accepts = {});

// By name, for --kernel. Throws Error(usage) that lists what is there when the name is unknown or
// cannot run here. "" and "auto" give best_kernel. Measurements pass more kernels than those of the
// table.
[[nodiscard]] const Kernel& find_kernel(Cipher cipher, std::string_view name,
                                        std::span<const Kernel* const> among = all_kernels());

}  // namespace paes
