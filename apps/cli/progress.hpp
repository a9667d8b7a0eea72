// SPDX-License-Identifier: Apache-2.0
// The progress line on standard error: bytes, rate and time left. It appears only on a terminal,
// and only when the work takes so long that a user would wonder.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace paes::cli {

class ProgressMeter {
 public:
  // What the line begins with, asked at each update, from another thread.
  using Label = std::function<std::string()>;

  // Shows nothing unless `wanted` and standard error is a terminal. `total_bytes` is nothing for
  // pipes.
  ProgressMeter(bool wanted, Label label, std::optional<std::uint64_t> total_bytes);
  ProgressMeter(bool wanted, std::string label, std::optional<std::uint64_t> total_bytes)
      : ProgressMeter(
            wanted, [label = std::move(label)] { return label; }, total_bytes) {}
  ~ProgressMeter();  // takes the line away
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  // The transfer adds the bytes it has done to this.
  [[nodiscard]] std::atomic<std::uint64_t>* counter() noexcept { return &done_bytes_; }

 private:
  void run();

  Label label_;
  std::optional<std::uint64_t> total_bytes_;
  std::atomic<std::uint64_t> done_bytes_{0};
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;  // last: starts when all else is ready
};

// The line itself, printable, in at most `columns` columns; for `seconds` of work so far. Of a long
// label only the end is shown. Where a label does not fit, there are only figures, and fewer of
// them.
[[nodiscard]] std::string progress_text(const std::string& label, std::uint64_t done_bytes,
                                        std::optional<std::uint64_t> total_bytes, double seconds,
                                        std::size_t columns);

}  // namespace paes::cli
