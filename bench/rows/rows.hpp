// SPDX-License-Identifier: Apache-2.0
// Kernels to compare ours with: what the processor or another library can do. Some encrypt nothing,
// or authenticate nothing, so they have a table of their own, which no program that protects data
// links.
#pragma once

#include <span>

#include "kernel/kernel.hpp"

namespace paes::bench {

// Every row of this build, in the order of rows.def. A row may not run on this machine.
[[nodiscard]] std::span<const Kernel* const> rows() noexcept;

// all_kernels(), then these rows.
[[nodiscard]] std::span<const Kernel* const> kernels_and_rows();

}  // namespace paes::bench
