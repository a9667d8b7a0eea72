// SPDX-License-Identifier: Apache-2.0
// The ledger of what a context has encrypted: disjoint intervals, joined where they touch.
// Encrypting twice under the same keystream reveals the XOR of both texts, so nothing is encrypted
// before it is recorded here.
#pragma once

#include <cstdint>
#include <limits>
#include <set>

#include "keystream/budget.hpp"

namespace paes::keystream {

// Not thread-safe: its context's mutex guards it.
class UsedIntervals {
 public:
  explicit UsedIntervals(Budget& budget) noexcept : budget_(budget), last_(intervals_.end()) {}
  ~UsedIntervals() { budget_.release(reserved_ * interval_bytes); }
  UsedIntervals(const UsedIntervals&) = delete;
  UsedIntervals& operator=(const UsedIntervals&) = delete;

  enum class Claim { granted, used, no_room };

  // Records [first, end), which is not empty, unless a byte of it is there already, or budget or
  // memory has no room for the record. Takes constant time for an interval that begins where the
  // last claimed one ends.
  [[nodiscard]] Claim claim(std::uint64_t first, std::uint64_t end) noexcept {
    if (last_ != intervals_.end() && first == last_->end && end < next_first_) {
      last_->end = end;
      return Claim::granted;
    }
    return claim_anywhere(first, end);
  }
  // Records all of [first, end), even if some of it is there already.
  [[nodiscard]] Claim add(std::uint64_t first, std::uint64_t end) noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return intervals_.size(); }

  // The memory of an interval with the allocator's own share, and how many are reserved at a time.
  static constexpr std::size_t interval_bytes = 64;
  static constexpr std::size_t reserved_at_once = 4;

 private:
  // Intervals grow and join without changing their order.
  struct Interval {
    mutable std::uint64_t first;
    mutable std::uint64_t end;
    bool operator<(const Interval& other) const noexcept { return first < other.first; }
  };
  using Intervals = std::set<Interval>;

  Claim claim_anywhere(std::uint64_t first, std::uint64_t end) noexcept;
  void remember(Intervals::iterator last) noexcept;

  Budget& budget_;
  std::size_t reserved_ = 0;  // intervals that the budget has given
  Intervals intervals_;
  Intervals::iterator last_;                                              // the last one claimed
  std::uint64_t next_first_ = std::numeric_limits<std::uint64_t>::max();  // of the one after it
};

}  // namespace paes::keystream
