// SPDX-License-Identifier: Apache-2.0
#include "mpi/placement.hpp"

#include <algorithm>
#include <cassert>

namespace paes::mpi {

Range share_of(std::uint64_t count, unsigned ranks, unsigned rank) noexcept {
  assert(rank < ranks);
  // Not count * rank / ranks, which would overflow.
  const std::uint64_t each = count / ranks;
  const std::uint64_t rest = count % ranks;
  const std::uint64_t first = each * rank + std::min<std::uint64_t>(rank, rest);
  return {first, first + each + (rank < rest ? 1 : 0)};
}

Range share_of_groups(std::uint64_t count, std::uint64_t group, unsigned ranks,
                      unsigned rank) noexcept {
  assert(group != 0);
  const std::uint64_t whole = count / group;
  const Range groups = share_of(whole + (count % group != 0 ? 1 : 0), ranks, rank);
  // An incomplete last group ends at `count`, not at its number times `group`.
  const auto start_of = [&](std::uint64_t number) {
    return number > whole ? count : number * group;
  };
  return {start_of(groups.first), start_of(groups.end)};
}

}  // namespace paes::mpi
