// SPDX-License-Identifier: Apache-2.0
// What a check counts and finds, and how it tells whoever watches it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "volume/read/vault_damage.hpp"

namespace paes::volume {

// What was checked. Hard links to one file are one file, but several names.
struct FsckCounts {
  std::uint64_t folders = 0;  // the one where the check began included
  std::uint64_t files = 0;    // names of regular files
  std::uint64_t links = 0;    // symbolic
  std::uint64_t others = 0;   // devices, pipes and sockets, which have no content here
  std::uint64_t text_bytes = 0;
  std::uint64_t damaged = 0;  // findings, several of one file perhaps
  std::uint64_t leftovers = 0;
  std::uint64_t unread = 0;  // what the system would not let this process read
};

struct FsckWatch {
  // All three are called by one thread at a time, in no order.
  std::function<void(const Finding&)> damaged;
  // What a crash of a program that wrote to the volume has left, or what such a program is making
  // just now. Nothing depends on it, and it goes with its folder. A long name's file that nothing
  // belongs to is among it: every writer makes this file before what has the name, and removes it
  // after that. It may also be what somebody has left who removed the rest, which nobody can tell.
  std::function<void(const Finding&)> leftover;
  std::function<void(const Finding&)> unread;  // "cannot be opened: Permission denied"
  // Looked at often, from any thread; true ends the check early.
  std::function<bool()> stops;
  // Gets the bytes of text that have been checked, as they are. May be null.
  std::atomic<std::uint64_t>* done_bytes = nullptr;
};

// True if the system would not let this process read something, or if it ran out of something:
// nothing is known of the volume then.
[[nodiscard]] bool is_refusal(Errno error) noexcept;

// From any thread.
class FsckReport {
 public:
  struct Counters {
    std::atomic<std::uint64_t> folders{0};
    std::atomic<std::uint64_t> files{0};
    std::atomic<std::uint64_t> links{0};
    std::atomic<std::uint64_t> others{0};
    std::atomic<std::uint64_t> text_bytes{0};
    std::atomic<std::uint64_t> damaged{0};
    std::atomic<std::uint64_t> leftovers{0};
    std::atomic<std::uint64_t> unread{0};
  };

  explicit FsckReport(const FsckWatch& watch) noexcept : watch_(watch) {}

  void damaged(const Finding& finding);
  void leftover(const Finding& finding);
  void unread(const Finding& finding);
  // What an error of the system means for `path`. EIO has been reported by whoever gave it.
  void refused(std::string_view path, const char* what, Errno error);
  void progress(std::uint64_t bytes);

  [[nodiscard]] Counters& counters() noexcept { return counters_; }
  [[nodiscard]] FsckCounts counts() const;

  // "WHAT: Permission denied".
  [[nodiscard]] static std::string with_reason(std::string_view what, Errno error);

 private:
  void tell(std::atomic<std::uint64_t>& counter, const std::function<void(const Finding&)>& told,
            const Finding& finding);

  const FsckWatch& watch_;
  Counters counters_;
  std::mutex telling_;  // the watch is called by one thread at a time
};

}  // namespace paes::volume
