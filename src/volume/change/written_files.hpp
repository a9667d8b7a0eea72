// SPDX-License-Identifier: Apache-2.0
// The open files of a volume for which the sync of the whole file system does not answer
// (WholeSync): overlayfs, for one, keeps the errors of the file system below it to itself. Such a
// file is synced before it is closed, as long as its descriptor still hears of its errors.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "volume/read/backing.hpp"

namespace paes::volume {

// Safe to use from any number of threads.
class WrittenFiles {
 public:
  // A file of this list, as long as it is open.
  class File;

  explicit WrittenFiles(const Backing& backing) noexcept : backing_(backing) {}

  // Syncs those that are open. Fails also for a file that could not be synced before: that stays
  // so.
  [[nodiscard]] Result<void> sync();

 private:
  using Key = std::pair<dev_t, ino_t>;

  // Syncs a file of the list that has been written to, once nobody else syncs it: whoever comes
  // meanwhile waits, and does not take for written what is still being written. The lock, which the
  // caller has, is not held while the file is synced.
  [[nodiscard]] Result<void> sync(std::unique_lock<std::mutex>& lock, File& file, bool data_only);

  // Somebody who syncs the file later is told, if there is memory to remember it. The caller has
  // the lock.
  void note_lost_at_close(const Key& key, Errno error) noexcept;
  // What was noted for the file, which is told once.
  [[nodiscard]] Result<void> take_lost(const Key& key);

  const Backing& backing_;
  std::mutex mutex_;  // guards the rest, and who syncs a file
  std::condition_variable synced_;
  std::set<File*> open_;
  std::map<Key, Result<void>> lost_at_close_;
  Result<void> lost_;
};

class WrittenFiles::File {
 public:
  // `descriptor` has the status, and stays open as long as this exists.
  File(WrittenFiles& all, FileRef descriptor, const struct stat& status);
  ~File();  // syncs what has been written, unless the file has no name any more
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // After something was written.
  void note_write() noexcept { is_written_.store(true); }
  [[nodiscard]] Result<void> sync(bool data_only);

 private:
  friend class WrittenFiles;

  WrittenFiles& all_;
  const FileRef descriptor_;
  const Key key_;
  std::atomic<bool> is_written_{false};
  bool is_being_synced_ = false;
  // What the sync of all files heard in its place: the system tells a descriptor only once.
  Result<void> untold_;
};

}  // namespace paes::volume
