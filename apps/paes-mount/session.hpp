// SPDX-License-Identifier: Apache-2.0
// A mount from its beginning to its end: the connection to the system, the threads that answer its
// requests, and unmounting, whoever asks for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "paes-mount/mount_context.hpp"
#include "paes/cancel.hpp"

namespace paes::mount {

struct SessionOptions {
  std::string mountpoint;     // absolute, without symbolic links
  FolderRef place;            // the same folder, open (O_PATH)
  std::string mount_options;  // as `mount -o` takes them, for the system
  unsigned threads = 4;
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
  // or when a stop is requested.
  void start(const Cancel& cancel);
  // Returns when a stop is requested, or the vault is unmounted, by somebody or for idleness. What
  // the system has been given to write by then is written.
  void wait(const Cancel& cancel);
  // The mounted file system's device, which is found without asking it. Nothing if it is not at the
  // mountpoint's path, because it is gone or others have renamed a folder.
  [[nodiscard]] std::optional<dev_t> device() const;
  // Whether the threads could receive what the system asks. A failure ends the mount.
  [[nodiscard]] Result<void> received() const;

 private:
  void work(int channel) noexcept;
  [[nodiscard]] Descriptor new_channel() const;
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
  std::optional<dev_t> device_;  // once it is mounted
  Descriptor end_;  // an event: becomes readable when the mount is to end, or has ended
  std::vector<Descriptor> channels_;
  std::vector<std::thread> threads_;
  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  unsigned working_ = 0;
  bool is_ready_ = false;
  Result<void> received_;
  bool is_unmounted_ = false;  // nobody can answer any more, and everything was written before
};

}  // namespace paes::mount
