// SPDX-License-Identifier: Apache-2.0
#include "stream/container/damage.hpp"

#include <algorithm>
#include <iterator>

namespace paes::stream {

namespace {

// More than are listed, because ranges of several threads may join later.
constexpr std::size_t max_kept = 64 * Damage::max_ranges;

}  // namespace

std::uint64_t Damage::chunks() const noexcept {
  std::uint64_t sum = more_chunks;
  for (const Range& range : ranges) {
    sum += range.count();
  }
  return sum;
}

void DamageLog::add(Range damaged) {
  const std::lock_guard lock(mutex_);
  add_range(damaged);
}

void DamageLog::add(const Damage& damage) {
  const std::lock_guard lock(mutex_);
  for (const Range& range : damage.ranges) {
    add_range(range);
  }
  forgotten_chunks_ += damage.more_chunks;
}

void DamageLog::add_range(Range damaged) {
  if (damaged.end > forgotten_from_) {
    const std::uint64_t kept_end = std::max(damaged.first, forgotten_from_);
    forgotten_chunks_ += damaged.end - kept_end;
    damaged.end = kept_end;
  }
  if (damaged.first == damaged.end) {
    return;
  }
  const auto after = ranges_.find(damaged.end);
  if (after != ranges_.end()) {
    damaged.end = after->second;
    ranges_.erase(after);
  }
  const auto next = ranges_.lower_bound(damaged.first);
  if (next != ranges_.begin() && std::prev(next)->second == damaged.first) {
    std::prev(next)->second = damaged.end;
    return;
  }
  ranges_.emplace_hint(next, damaged.first, damaged.end);
  if (ranges_.size() > max_kept) {
    const auto last = std::prev(ranges_.end());
    forgotten_from_ = last->first;
    forgotten_chunks_ += last->second - last->first;
    ranges_.erase(last);
  }
}

Damage DamageLog::found() const {
  const std::lock_guard lock(mutex_);
  Damage damage;
  damage.more_chunks = forgotten_chunks_;
  damage.ranges.reserve(std::min(ranges_.size(), Damage::max_ranges));
  for (const auto& [first, end] : ranges_) {
    if (damage.ranges.size() < Damage::max_ranges) {
      damage.ranges.push_back({first, end});
    } else {
      damage.more_chunks += end - first;
    }
  }
  return damage;
}

}  // namespace paes::stream
