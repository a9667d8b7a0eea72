// SPDX-License-Identifier: Apache-2.0
// What is mounted where, as the system lists it in /proc/self/mountinfo (proc(5)). Reading that
// asks no mounted file system anything, so it also works where the program behind one is gone or
// does not answer.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paes::cli {

// The type of a vault that paes-mount has mounted.
inline constexpr std::string_view type_of_vaults = "fuse.paes-mount";

struct MountedPlace {
  unsigned id = 0;     // of this place; descriptors name it, too
  std::string device;  // "0:57", one for each mounted file system
  std::string path;
  std::string type;
  std::string source;
  std::optional<uid_t> user;  // who has mounted it, if it is one of FUSE
  std::string root;           // which folder of that file system is seen there
};

// Nothing for a line that is not of the form.
[[nodiscard]] std::optional<MountedPlace> parse_mounted_place(std::string_view line);

// In the order in which they were mounted. Throws Error(failure).
[[nodiscard]] std::vector<MountedPlace> read_mount_table();

// The one that is seen there, if several were mounted on this very path, or null.
[[nodiscard]] const MountedPlace* find_mounted(const std::vector<MountedPlace>& table,
                                               std::string_view path);

// Whether the path is the folder, or lies in it.
[[nodiscard]] bool lies_within(std::string_view path, std::string_view folder);

}  // namespace paes::cli
