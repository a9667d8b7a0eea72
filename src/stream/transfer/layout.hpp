// SPDX-License-Identifier: Apache-2.0
// Where the items of a text lie in a source and in a sink.
//
// An item is what a transform works on as a whole: a container's chunk, a piece of a raw message, a
// data unit of XTS. All items but the last have the same length, so every place is arithmetic, and
// any thread, rank or later run finds its own items.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/range.hpp"
#include "format/chunking.hpp"

namespace paes::stream {

struct Layout {
  // The length of a whole item before and after the transform.
  std::size_t in_bytes = 0;
  std::size_t out_bytes = 0;
  LastItem last = LastItem::may_be_whole;
  // The shortest length of the last item before the transform.
  std::size_t min_in_bytes = 0;
  // Where item 0 begins in the source and in the sink.
  std::uint64_t in_offset = 0;
  std::uint64_t out_offset = 0;
  // The length of all items in the source. Empty for a pipe, which is read to its end.
  std::optional<std::uint64_t> total_bytes = std::nullopt;
  // The bytes to write, counted after the transform from item 0 on. The first goes to out_offset.
  Range wanted = {0, UINT64_MAX};

  std::size_t items_a_buffer = 1;
  // How many bytes before a buffer are read with it: at most `room_bytes`, from a pipe at most 16.
  std::size_t before_bytes = 0;
  // The room in a buffer before and after each item.
  std::size_t room_bytes = 0;
  // How many bytes of a pipe, 1 to 16, are read after a buffer to find out whether it is the last.
  // Only used if the last item may be whole.
  std::size_t ahead_bytes = 1;

  // Told how many bytes of a pipe have come, and whether those are all. May throw.
  std::function<void(std::uint64_t bytes, bool is_all)> check_length = nullptr;
  // Called if a pipe's last item has fewer than `min_in_bytes`; if it returns, that item is
  // dropped. It must be set for pipes if `min_in_bytes` is not 0. For a seekable source, whoever
  // makes the layout checks the length.
  std::function<void()> on_cut = nullptr;

  // How many items a source of `bytes` has; at least one.
  [[nodiscard]] std::uint64_t items_in(std::uint64_t bytes) const noexcept {
    return last == LastItem::is_short
               ? bytes / in_bytes + 1
               : std::max<std::uint64_t>((bytes + in_bytes - 1) / in_bytes, 1);
  }
  // An empty range for a pipe, whose items cannot be counted.
  [[nodiscard]] Range all_items() const noexcept {
    return total_bytes ? Range{0, items_in(*total_bytes)} : Range{};
  }
  // The bytes of these items before the transform, counted from item 0.
  [[nodiscard]] Range in_of(Range items) const noexcept {
    return {std::min(items.first * in_bytes, *total_bytes),
            std::min(items.end * in_bytes, *total_bytes)};
  }
  // How many bytes of these items are text and not tags.
  [[nodiscard]] std::uint64_t text_bytes_of(Range items) const noexcept {
    const std::uint64_t tags = in_bytes > out_bytes ? items.count() * (in_bytes - out_bytes) : 0;
    return in_of(items).count() - tags;
  }
};

}  // namespace paes::stream
