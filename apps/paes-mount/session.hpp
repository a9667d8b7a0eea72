// SPDX-License-Identifier: Apache-2.0
// A mount from its beginning to its end: the connection to the system, the threads that answer its
// requests, and unmounting, whoever asks for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "paes-mount/mount_context.hpp"
#include "paes-mount/request_ring.hpp"
#include "paes/cancel.hpp"

namespace paes::mount {

struct SessionOptions {
  std::string mountpoint;     // absolute, without symbolic links
  FolderRef place;            // the same folder, open (O_PATH)
  std::string mount_options;  // as `mount -o` takes them, for the system
  unsigned threads = 4;
  // Why no requests shall come through io_uring. Empty: they may.
  std::string why_no_rings;
  // Unmounts after so long without a request, unless something is open or in use.
  std::optional<std::chrono::seconds> idle;
};

class Session {
 public:
  // Mounts, as root directly, otherwise through fusermount3. Throws Error(failure).
  Session(Mount& mount, const SessionOptions& options);
  // Stops the threads and unmounts, whatever is in use.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Starts the threads, and returns once the mount answers. Throws Error(failure) if it does not,
  // or when a stop is requested. False: the system has agreed to io_uring, and then refused it. The
  // mount answers nobody, and another session has to do without.
  [[nodiscard]] bool start(const Cancel& cancel);
  // Returns when a stop is requested, or the vault is unmounted, by somebody or for idleness. What
  // the system has been given to write by then is written.
  void wait(const Cancel& cancel);
  // The mounted file system's device, which is found without asking it. Nothing if it is not at the
  // mountpoint's path, because it is gone or others have renamed a folder.
  [[nodiscard]] std::optional<dev_t> device() const;
  // How the system's requests come, once it has started: a sentence.
  [[nodiscard]] std::string way_of_requests() const;
  [[nodiscard]] const std::string& why_no_rings() const noexcept { return options_.why_no_rings; }
  // Whether the threads could receive what the system asks. A failure ends the mount.
  [[nodiscard]] Result<void> received() const;

 private:
  // How the system's requests come, on which it and libfuse agree in the first request.
  enum class Way { unknown, channels, rings };

  void make_rings();
  void launch(unsigned thread);
  void work(unsigned thread) noexcept;
  void work_on_ring(RequestRing& ring) noexcept;
  void work_on_channel(int channel) noexcept;
  void answer_first(const fuse_buf& request, bool offers_rings) noexcept;
  [[nodiscard]] bool has_failed(Errno error, int channel) noexcept;
  [[nodiscard]] Way agreed_way();
  [[nodiscard]] bool start_ring(RequestRing& ring) noexcept;
  void stop() noexcept;
  template <typename Use>
  bool at_mountpoint(const Use& use) const;
  [[nodiscard]] bool is_on_top() const;
  void to_end(Result<void> received) noexcept;
  void ended() noexcept;
  void wait_for_end(const Cancel& cancel);
  void write_back();
  [[nodiscard]] bool unmount_unless_busy() const;

  Mount& mount_;
  SessionOptions options_;
  fuse_session* session_ = nullptr;
  bool has_own_channels_ = false;  // a thread may have one of its own
  std::optional<dev_t> device_;    // once it is mounted
  Descriptor end_;  // an event: becomes readable when the mount is to end, or has ended
  // The first thread has a channel. Each of the others has a ring, or else a channel, too.
  std::vector<Descriptor> channels_;
  std::vector<std::unique_ptr<RequestRing>> rings_;
  std::vector<std::thread> threads_;
  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  unsigned working_ = 0;
  Way way_ = Way::unknown;
  std::size_t started_rings_ = 0;
  Result<void> rings_started_;
  bool is_ready_ = false;
  Result<void> received_;
  bool is_unmounted_ = false;  // nobody can answer any more, and everything was written before
};

}  // namespace paes::mount
