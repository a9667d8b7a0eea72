// SPDX-License-Identifier: Apache-2.0
// Kernels to compare those of paes with: what the processor or another library can do. Some of them
// encrypt nothing, or authenticate nothing, so they are rows of a table of their own, which no
// program that protects data links.
#pragma once

#include <span>

#include "kernel/kernel.hpp"

namespace paes::bench {

// Every row compiled in, in the order of rows.def. A row may not run on this machine.
[[nodiscard]] std::span<const Kernel* const> rows() noexcept;

// all_kernels(), and these after them.
[[nodiscard]] std::span<const Kernel* const> kernels_and_rows();

}  // namespace paes::bench
