// SPDX-License-Identifier: Apache-2.0
#include "core/folder.hpp"

#include <unistd.h>

#include <cerrno>

#include "core/syncfs.hpp"

namespace paes {

Descriptor open_folder(const std::string& path, int base) {
  Descriptor folder(::openat(base, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) {
    folder = Descriptor(::openat(base, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return folder;
}

int sync_folder(int folder, int file) noexcept {
  if (fsync(folder) == 0 || errno == EINVAL) {
    return 0;
  }
  // EBADF: the folder could only be opened with O_PATH. Where a sync of the whole file system may
  // hide errors, the file is synced too: on the usual file systems that also brings its new names
  // to disk, or fails as they do.
  const bool is_synced =
      errno == EBADF && syncfs(file) == 0 && (syncfs_reports_errors(file) || fsync(file) == 0);
  return is_synced ? 0 : errno;
}

}  // namespace paes
