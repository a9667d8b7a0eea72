// SPDX-License-Identifier: Apache-2.0
#include "keystream/used_intervals.hpp"

#include <algorithm>
#include <cassert>
#include <new>

namespace paes::keystream {

void UsedIntervals::remember(Intervals::iterator last) noexcept {
  last_ = last;
  const auto next = std::next(last);
  next_first_ = next == intervals_.end() ? std::numeric_limits<std::uint64_t>::max() : next->first;
}

UsedIntervals::Claim UsedIntervals::claim_anywhere(std::uint64_t first,
                                                   std::uint64_t end) noexcept {
  assert(first < end);
  const auto next = intervals_.upper_bound(Interval{first, end});
  const auto before = next == intervals_.begin() ? intervals_.end() : std::prev(next);
  const bool has_before = before != intervals_.end();
  const bool has_next = next != intervals_.end();
  if ((has_before && before->end > first) || (has_next && next->first < end)) {
    return Claim::used;
  }
  const bool touches_before = has_before && before->end == first;
  const bool touches_next = has_next && next->first == end;
  if (touches_before) {
    before->end = touches_next ? next->end : end;
    if (touches_next) {
      intervals_.erase(next);
    }
    remember(before);
    return Claim::granted;
  }
  if (touches_next) {
    next->first = first;
    remember(next);
    return Claim::granted;
  }
  if (intervals_.size() == reserved_) {
    if (!budget_.reserve(interval_bytes * reserved_at_once)) {
      return Claim::no_room;
    }
    reserved_ += reserved_at_once;
  }
  try {
    remember(intervals_.insert(next, Interval{first, end}));
  } catch (const std::bad_alloc&) {
    return Claim::no_room;
  }
  return Claim::granted;
}

UsedIntervals::Claim UsedIntervals::add(std::uint64_t first, std::uint64_t end) noexcept {
  // Fills the gaps between what is there, one after the other.
  while (first < end) {
    const auto next = intervals_.upper_bound(Interval{first, end});
    if (next != intervals_.begin() && std::prev(next)->end > first) {
      first = std::prev(next)->end;
      continue;
    }
    const std::uint64_t gap_end = next == intervals_.end() ? end : std::min(end, next->first);
    if (const Claim claim = claim_anywhere(first, gap_end); claim != Claim::granted) {
      return claim;
    }
    first = gap_end;
  }
  return Claim::granted;
}

}  // namespace paes::keystream
