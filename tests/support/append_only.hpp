// SPDX-License-Identifier: Apache-2.0
// Folders in which names can be created but not removed.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <string>

#include "core/descriptor.hpp"

namespace paes::test {

// False if the user may not, or if the file system has no such flag; errno says which.
[[nodiscard]] inline bool set_append_only(const std::string& folder, bool is_wanted) {
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int flags = 0;
  if (ioctl(opened.number(), FS_IOC_GETFLAGS, &flags) != 0) {
    return false;
  }
  flags = is_wanted ? flags | FS_APPEND_FL : flags & ~FS_APPEND_FL;
  return ioctl(opened.number(), FS_IOC_SETFLAGS, &flags) == 0;
}

}  // namespace paes::test
