// SPDX-License-Identifier: Apache-2.0
// The folders that many outputs go to. Those that are missing are made before the first output,
// with the modes that `cp -r` would give them, and survive a crash from then on.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/outcome.hpp"
#include "core/descriptor.hpp"
#include "stream/file/file_place.hpp"

namespace paes::cli {

// The absolute path of a folder without links, "." and "..". What does not exist yet keeps its
// name. An empty path is the working folder.
[[nodiscard]] std::string resolved_folder(const std::string& path);

// Syncs the names in a folder. Throws Error(failure) "PATH: why", also for one that could not be
// opened, as errno says: null, or not open.
void sync_changed(const Descriptor* folder, const std::string& path);

class OutputFolders {
 public:
  // If this folder below that of --output-dir has to be made, it gets this mode, less the umask.
  void note_mode(const std::string& below, mode_t mode);
  // Makes what is missing for the outputs of files that are to be worked on, all of them below the
  // folder of --output-dir. If a folder cannot be made, the files that need it have failed.
  void make(std::vector<Outcome>& outcomes);

 private:
  void make_top(const std::string& path, mode_t mode);
  void make_below(stream::Tree& tree, const std::string& below);
  [[nodiscard]] mode_t mode_of(const std::string& below) const;

  std::unordered_map<std::string, mode_t> modes_;
  std::set<std::string> changed_below_;  // in which folders were made
};

}  // namespace paes::cli
