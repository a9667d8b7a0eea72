// SPDX-License-Identifier: Apache-2.0
// What Input and Output share: waiting for a pipe without missing a request to stop, and reading or
// writing a list of iovecs in as many calls as the system needs.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "stream/transfer/cancel.hpp"

namespace paes::stream {

// Waits until `descriptor` is ready for `events`, or has failed: the next read or write then says
// how. Throws once `cancel` or `stop` is requested; either may be null.
void wait_ready(int descriptor, short events, const Cancel* cancel, const Cancel* stop);

// Asks for 1 MiB between the ends of a pipe; does nothing to other files.
void enlarge_pipe(int descriptor) noexcept;

// The length of all iovecs together.
[[nodiscard]] inline std::size_t bytes_of(std::span<const iovec> vectors) noexcept {
  std::size_t sum = 0;
  for (const iovec& one : vectors) {
    sum += one.iov_len;
  }
  return sum;
}

// The iovecs still to be read or written. Copied in parts, because a partial read or write changes
// them.
class VectorCursor {
 public:
  explicit VectorCursor(std::span<const iovec> vectors) noexcept : pending_(vectors) { refill(); }

  [[nodiscard]] bool is_done() const noexcept { return first_ == count_; }
  [[nodiscard]] const iovec* data() const noexcept { return window_.data() + first_; }
  [[nodiscard]] int count() const noexcept { return static_cast<int>(count_ - first_); }

  void advance(std::size_t bytes) noexcept {
    while (first_ != count_ && bytes >= window_[first_].iov_len) {
      bytes -= window_[first_].iov_len;
      ++first_;
    }
    if (first_ != count_) {
      window_[first_].iov_base = static_cast<char*>(window_[first_].iov_base) + bytes;
      window_[first_].iov_len -= bytes;
    } else {
      refill();
    }
  }

 private:
  void refill() noexcept {
    // Drops empty iovecs, so that a transfer of 0 bytes always means the end.
    first_ = count_ = 0;
    while (!pending_.empty() && count_ != window_.size()) {
      if (pending_.front().iov_len != 0) {
        window_[count_++] = pending_.front();
      }
      pending_ = pending_.subspan(1);
    }
  }

  std::span<const iovec> pending_;
  std::array<iovec, 64> window_;  // 1 MiB of chunks a transfer, well below IOV_MAX
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

// Fills the iovecs from the offset on, and returns how many bytes came; fewer only at the end of
// the file. Throws "NAME: why". Here and below, `cancel` may be null.
[[nodiscard]] std::size_t read_file_at(int descriptor, std::uint64_t offset,
                                       std::span<const iovec> to, const std::string& name,
                                       const Cancel* cancel);
// Writes all iovecs. On failure, errno says why.
[[nodiscard]] bool write_file_at(int descriptor, std::uint64_t offset, std::span<const iovec> from,
                                 const Cancel* cancel = nullptr);

// Copies a whole file into an empty one, including its holes. Throws "NAME: why".
void copy_file(int from, int to, const std::string& name, const Cancel* cancel);

}  // namespace paes::stream
