// SPDX-License-Identifier: Apache-2.0
// The folder of a file, held open so that a change of names in it can be made to last. A user may
// be allowed to make files in a folder but not to list it; such a folder cannot be synced by
// itself.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <memory>
#include <string>

#include "core/descriptor.hpp"

namespace paes {

// What readdir(3) reads from.
struct CloseFolder {
  void operator()(DIR* folder) const noexcept { (void)closedir(folder); }
};
using FolderReader = std::unique_ptr<DIR, CloseFolder>;

// `path` counts from the folder `base`. The answer is not open when the folder cannot even be
// passed through; errno then says why.
[[nodiscard]] Descriptor open_folder(const std::string& path, int base = AT_FDCWD);

// Syncs the names in the folder: links, renames and removals then survive a crash. `file` is open
// for reading or writing and lies on the same file system, which is synced as a whole where the
// folder alone cannot be. Gives back 0 or an errno. A folder counts as synced if its file system
// cannot sync folders.
[[nodiscard]] int sync_folder(int folder, int file) noexcept;

}  // namespace paes
