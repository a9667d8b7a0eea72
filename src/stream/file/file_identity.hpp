// SPDX-License-Identifier: Apache-2.0
// Which file it is that is open, and of what kind.
#pragma once

#include <sys/stat.h>

#include <string>

namespace paes::stream {

// Identifies a file, whatever path led to it. A block device is identified by its number, because
// several nodes may lead to it.
struct FileIdentity {
  dev_t device;
  ino_t inode;  // 0 for a block device
  bool operator==(const FileIdentity&) const = default;
};
[[nodiscard]] FileIdentity identity_of(const struct stat& status) noexcept;
// Throws "NAME: why".
[[nodiscard]] struct stat status_of(int descriptor, const std::string& name);
// Whether it keeps what is written to it: a regular file or a block device.
[[nodiscard]] bool is_storage(mode_t mode) noexcept;

}  // namespace paes::stream
