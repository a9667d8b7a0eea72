// A mount from its beginning to its end: the connection to the system, the threads that answer its
// requests, and unmounting, whoever asks for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "paes-mount/mounted_vault.hpp"
#include "paes/cancel.hpp"

namespace paes::mount {

struct SessionOptions {
  std::string mountpoint;     // absolute, without symbolic links
  std::string mount_options;  // as `mount -o` takes them, for the system
  unsigned threads = 4;
  // Unmounts after so long without a request, unless something is open or in use.
  std::optional<std::chrono::seconds> idle;
};

class Session {
 public:
  // Mounts, as root directly, otherwise through fusermount3. Throws Error(failure).
  Session(MountedVault& vault, const SessionOptions& options);
  // Stops the threads and unmounts, whatever is in use.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Starts the threads, and returns once the mount answers. Throws Error(failure) if it does not,
  // or when a stop is requested.
  void start(const Cancel& cancel);
  // Returns when a stop is requested, or the vault is unmounted, by somebody or for idleness.
  void wait(const Cancel& cancel);

 private:
  void work(int channel) noexcept;
  [[nodiscard]] Descriptor new_channel() const;
  void stop() noexcept;
  void ended() noexcept;
  [[nodiscard]] bool unmount_unless_busy() const;

  MountedVault& mounted_;
  SessionOptions options_;
  fuse_session* session_ = nullptr;
  Descriptor end_;  // an event: becomes readable when a thread has stopped
  std::vector<Descriptor> channels_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  unsigned working_ = 0;
  bool is_ready_ = false;
  bool has_ended_ = false;
};

}  // namespace paes::mount
