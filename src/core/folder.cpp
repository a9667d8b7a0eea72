#include "core/folder.hpp"

#include <unistd.h>

#include <cerrno>

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
  // EBADF: the folder could only be opened with O_PATH.
  return errno == EBADF && syncfs(file) == 0 ? 0 : errno;
}

}  // namespace paes
