// SPDX-License-Identifier: Apache-2.0
// Makes an open folder the current one, so that the path "." leads to it. For calls that take a
// path and must reach that very folder, whatever has its name by now, also where there is no /proc.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/file_ref.hpp"

namespace paes::mount {

// Has the process's current folder be another one for as long as it lives.
class InFolder {
 public:
  explicit InFolder(FolderRef folder) noexcept
      : before_(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)),
        is_there_(fchdir(folder.number()) == 0) {}
  // Keeps errno, which the call in between may have set.
  ~InFolder() {
    const int error = errno;
    if (!before_.is_open() || fchdir(before_.number()) != 0) {
      (void)!chdir("/");
    }
    errno = error;
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

  [[nodiscard]] bool is_there() const noexcept { return is_there_; }

 private:
  Descriptor before_;
  bool is_there_;
};

}  // namespace paes::mount
