// SPDX-License-Identifier: Apache-2.0
#include "stream/container/written_chunks.hpp"

#include <iterator>

namespace paes::stream {

bool WrittenChunks::claim(Range chunks, bool with_last) {
  const auto after = ranges_.lower_bound(chunks.first);
  const bool joins_before = after != ranges_.begin() && std::prev(after)->second >= chunks.first;
  if ((joins_before && std::prev(after)->second > chunks.first) ||
      (after != ranges_.end() && after->first < chunks.end) || (last_ && chunks.end > *last_ + 1) ||
      (with_last && (last_ || (!ranges_.empty() && ranges_.rbegin()->second > chunks.end)))) {
    return false;
  }
  const bool joins_after = after != ranges_.end() && after->first == chunks.end;
  const std::uint64_t end = joins_after ? after->second : chunks.end;
  if (joins_before) {
    std::prev(after)->second = end;
  } else {
    ranges_.emplace_hint(after, chunks.first, end);  // may throw, so nothing is changed before
  }
  if (with_last) {
    last_ = chunks.end - 1;
  }
  if (joins_after) {
    ranges_.erase(after);
  }
  return true;
}

std::optional<std::uint64_t> WrittenChunks::count() const noexcept {
  if (ranges_.empty()) {
    return 0;
  }
  const auto& [first, end] = *ranges_.begin();
  return first == 0 && ranges_.size() == 1 ? std::optional(end) : std::nullopt;
}

}  // namespace paes::stream
