// Placement: which rank owns which pieces of a job. Contiguous ranges in the order of the ranks, so
// that each reads and writes one stretch of the file and hashes join in order. Pure arithmetic,
// without MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paes::mpi {

// The numbers [first, end); empty where both are equal.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t count() const noexcept { return end - first; }
  [[nodiscard]] bool is_empty() const noexcept { return first == end; }
  bool operator==(const Range&) const = default;
};

// What is never shared by two ranks: 4 MiB of text. In the container 256 chunks are 1025 whole
// pages, so that no page is written by two ranks either.
inline constexpr std::size_t batch_bytes = std::size_t{4} << 20;
inline constexpr std::uint64_t batch_chunks = 256;

// The share of `rank`, which is below `ranks`, in `count` things: shares differ by one at most, and
// the first ranks have the larger ones.
[[nodiscard]] Range share_of(std::uint64_t count, unsigned ranks, unsigned rank) noexcept;

// The same where only whole groups of `group` things change hands; the last may be incomplete.
[[nodiscard]] Range share_of_groups(std::uint64_t count, std::uint64_t group, unsigned ranks,
                                    unsigned rank) noexcept;

}  // namespace paes::mpi
