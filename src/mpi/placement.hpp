// Placement: which rank owns which part of a job. Contiguous ranges in the order of the ranks, so
// that each reads and writes one stretch of the file and hashes join in order. Pure arithmetic,
// without MPI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/range.hpp"

namespace paes::mpi {

// The least that goes to a rank as a whole: 4 MiB of text. In the container 256 chunks are 1025
// whole pages, so that no page is written by two ranks either.
inline constexpr std::size_t least_share_bytes = std::size_t{4} << 20;

// The share of `rank`, which is below `ranks`, in `count` things: shares differ by one at most, and
// the first ranks have the larger ones.
[[nodiscard]] Range share_of(std::uint64_t count, unsigned ranks, unsigned rank) noexcept;

// The same where only whole groups of `group` things change hands; the last may be incomplete.
[[nodiscard]] Range share_of_groups(std::uint64_t count, std::uint64_t group, unsigned ranks,
                                    unsigned rank) noexcept;

}  // namespace paes::mpi
