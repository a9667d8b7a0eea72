// What a check has counted and found so far, told to whoever watches it. From any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "volume/check/fsck.hpp"

namespace paes::volume {

// True if the system would not let this process read something, or if it ran out of something:
// nothing is known of the volume then.
[[nodiscard]] bool is_refusal(int error) noexcept;

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
  void refused(std::string_view path, const char* what, int error);
  void progress(std::uint64_t bytes);

  [[nodiscard]] Counters& counters() noexcept { return counters_; }
  [[nodiscard]] FsckCounts counts() const;

  // "WHAT: Permission denied".
  [[nodiscard]] static std::string with_reason(std::string_view what, int error);

 private:
  void tell(std::atomic<std::uint64_t>& counter, const std::function<void(const Finding&)>& told,
            const Finding& finding);

  const FsckWatch& watch_;
  Counters counters_;
  std::mutex telling_;  // the watch is called by one thread at a time
};

}  // namespace paes::volume
