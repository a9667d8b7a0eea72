// SPDX-License-Identifier: Apache-2.0
// The folder of a file, held open so that changes of names in it can be made durable. A user may be
// allowed to create files in a folder but not to list it; such a folder cannot be synced by itself.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <memory>
#include <string>

#include "core/descriptor.hpp"

namespace paes {

// A folder's entries, for readdir(3).
struct CloseFolder {
  void operator()(DIR* folder) const noexcept { (void)closedir(folder); }
};
using FolderReader = std::unique_ptr<DIR, CloseFolder>;

// `path` is relative to the folder `base`. The descriptor is not open if the folder cannot even be
// passed through; errno says why.
[[nodiscard]] Descriptor open_folder(const std::string& path, int base = AT_FDCWD);

// Syncs the names in the folder, so that links, renames and removals survive a crash. Returns 0 or
// an errno. Where the folder alone cannot be synced, the whole file system is, through `file`, an
// open file on it. A folder counts as synced if its file system cannot sync folders.
[[nodiscard]] int sync_folder(int folder, int file) noexcept;

}  // namespace paes
