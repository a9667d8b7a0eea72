// SPDX-License-Identifier: Apache-2.0
// Extended attributes of a volume's files and folders are set and removed, and what a change of
// content or owner takes away from a file. Modes, owners and times are those of the backing file,
// so Backing's own calls change them.
#pragma once

#include <string_view>

#include "volume/read/volume.hpp"

namespace paes::volume {

// `flags` as setxattr(2).
[[nodiscard]] Result<void> set_attribute(const Volume& volume, FileRef file,
                                         std::string_view attribute, Bytes value, int flags);
[[nodiscard]] Result<void> remove_attribute(const Volume& volume, FileRef file,
                                            std::string_view attribute);

// Takes away what gives a program the rights of others: S_ISUID, S_ISGID where the group may
// execute, and the file's capabilities. For a write, a truncation or a new owner, where the system
// leaves that to the file system.
[[nodiscard]] Result<void> remove_privileges(const Volume& volume, FileRef file);

}  // namespace paes::volume
