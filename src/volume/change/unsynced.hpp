// SPDX-License-Identifier: Apache-2.0
// The volume's own small files (a folder's IV, a long name) that are not yet on disk. Without them
// everything below a new folder, or a file with a new long name, would be lost at a power failure.
// So whoever syncs something syncs them first.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/descriptor.hpp"
#include "volume/change/whole_sync.hpp"
#include "volume/read/backing.hpp"

namespace paes::volume {

// Safe to use from any number of threads.
class UnsyncedFiles {
 public:
  // Both outlive this.
  UnsyncedFiles(const Backing& backing, WholeSync& whole) noexcept
      : backing_(backing), whole_(whole) {}

  // `content` is the whole content of the file, which is open for writing. Fails if the list has no
  // room for it, because those in it cannot be synced.
  [[nodiscard]] Result<void> add(Descriptor file, Bytes content);
  // Removes the file with that name, which may be in the list, and then no longer is. After a
  // failure it stays, also in the list.
  [[nodiscard]] Result<void> remove(FolderRef folder, const char* name);
  // Gives what has the name `from` the name of such a file, as remove().
  [[nodiscard]] Result<void> replace(FolderRef folder, const char* from, const char* name);
  // All that was added before the call is on disk if it succeeds. The system reports only once that
  // it could not write something, and takes it for written from then on. So what could not be
  // synced is written anew by the next call. That cannot be done where the whole file system was
  // synced, nor where a file can no longer be opened for writing: the error is then the answer for
  // ever.
  [[nodiscard]] Result<void> sync();

 private:
  struct File {
    Descriptor descriptor;
    std::vector<std::uint8_t> content;
    struct stat status = {};
    bool has_failed = false;
  };

  [[nodiscard]] Result<void> sync(File& file) const;
  // Removes or replaces the file with that name by `change`.
  template <typename Change>
  [[nodiscard]] Result<void> lose(FolderRef folder, const char* name, const Change& change);
  // Drops the file with that status from the list if its last name is gone.
  void drop_removed(const struct stat& status);
  // Takes it out of the list, if it is there.
  [[nodiscard]] std::optional<File> take(const struct stat& status);
  // It was taken and closed, and still has the name. Its caller holds syncing_.
  void put_back(FolderRef folder, const char* name, File file);

  // Descriptors are few. Above it the whole file system is synced instead, and where that does not
  // answer for the files, these are synced to make room.
  static constexpr std::size_t max_files = 64;

  const Backing& backing_;
  WholeSync& whole_;
  std::mutex syncing_;  // held by who syncs, so that nobody reports what another is still syncing
  std::mutex mutex_;
  std::vector<File> files_;
  bool are_too_many_ = false;
  // For whoever holds syncing_: how a sync of the file system has failed, or of a file that cannot
  // be written anew.
  Result<void> lost_;
};

}  // namespace paes::volume
