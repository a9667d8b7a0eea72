// SPDX-License-Identifier: Apache-2.0
// Placement: which rank owns which part of a job. Ranks own contiguous ranges in the order of their
// numbers. So each rank reads and writes one stretch of the file, and the ranks' hashes join in
// order. Pure arithmetic, without MPI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/range.hpp"

namespace paes::mpi {

// The smallest unit of text that ranks share out: 4 MiB. In a container these are 256 chunks, which
// fill 1025 whole pages, so no page is written by two ranks.
inline constexpr std::size_t least_share_bytes = std::size_t{4} << 20;

// The share of `rank`, which is below `ranks`, in `count` things. Shares differ by at most one, and
// the first ranks have the larger ones.
[[nodiscard]] Range share_of(std::uint64_t count, unsigned ranks, unsigned rank) noexcept;

// The share of `rank` in whole groups of `group` things. The last group may be incomplete.
[[nodiscard]] Range share_of_groups(std::uint64_t count, std::uint64_t group, unsigned ranks,
                                    unsigned rank) noexcept;

}  // namespace paes::mpi
