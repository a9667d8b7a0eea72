// SPDX-License-Identifier: Apache-2.0
// How paes names its own files beside those of its users: files that must be found again
// (path_beside), and new outputs until they are complete (new_temporary_name). A run that was
// killed may leave such a file with all that it had written, and the next run warns of it. Where
// locks need no server, a run locks its own file while it lives.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"
#include "core/new_name.hpp"
#include "stream/file/file_place.hpp"

namespace paes::stream {

// PATH with the suffix. Where the file system takes no name of that length, it is the name's
// beginning and a hash of it in place of the rest, so that the same path always gives the same
// answer. `path` counts from the folder. If no name fits, the answer is the long one.
[[nodiscard]] std::string path_beside(const std::string& path, const std::string& suffix,
                                      int folder = AT_FDCWD);
// The place of such a file beside another.
[[nodiscard]] FilePlace place_beside(const FilePlace& place, const std::string& suffix);

// Whether a file of that name may be one that path_beside() has named. A file system may have
// changed the case of letters.
[[nodiscard]] bool is_name_beside(std::string_view name) noexcept;

[[nodiscard]] bool is_temporary_name(std::string_view name) noexcept;

struct Temporary {
  Descriptor file;
  std::string name;  // in the folder, or empty
};

// A new file of this user alone, for reading and writing. If it has a name, it is locked. It has no
// name if `may_be_unnamed` and the file system allows that. `file` is not open if it could not be
// made; errno then says why.
[[nodiscard]] Temporary make_temporary(int folder, bool may_be_unnamed,
                                       const NewFileCalls& calls = system_calls);

// Lets find_abandoned know that the file is in use. Without a name it needs no lock.
void lock_temporary(int file) noexcept;

// A folder with a million files is not read to its end for the sake of each small one.
inline constexpr std::size_t max_entries_looked_at = 10'000;

struct AbandonedFiles {
  std::vector<std::string> files;  // in order
  // Whether a run on another host, or one that could not lock its file, may still be writing them.
  bool may_be_in_use = false;
  // No name in the folder is_name_beside().
  bool has_none_beside = false;
};

// This user's regular files with a temporary name that nobody has locked. None if the folder, an
// open one, cannot be listed.
[[nodiscard]] AbandonedFiles find_abandoned(int folder);

// Whether a run holds the lock of a file that has a temporary name.
[[nodiscard]] bool is_locked_temporary(int file) noexcept;

}  // namespace paes::stream
