// The folders that many outputs go to. Those that are missing are made before the first output,
// with the modes that `cp -r` would give them, and survive a crash from then on.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/descriptor.hpp"
#include "paes/outcome.hpp"
#include "stream/file_place.hpp"

namespace paes::cli {

// The absolute path of a folder without links, "." and "..". What does not exist yet keeps its
// name. An empty path is the working folder.
[[nodiscard]] std::string resolved_folder(const std::string& path);

class OutputFolders {
 public:
  // If a folder of that name has to be made, it gets this mode, less the umask.
  void note_mode(const std::string& path, mode_t mode);
  // Makes what is missing for the outputs of files that are to be worked on. If a folder cannot be
  // made, the files that need it have failed.
  void make(std::vector<Outcome>& outcomes);

 private:
  // The folder of this output.
  void make_for(const Outcome& outcome);
  void make(const std::string& path);
  void make_below(const stream::Tree& tree, const std::string& below);
  [[nodiscard]] mode_t mode_of(const std::string& path) const;
  void sync_changed(const Descriptor& folder, const std::string& path) const;

  std::unordered_map<std::string, mode_t> modes_;
  std::vector<std::string> changed_;  // in which folders were made
  // Such folders of the tree of --output-dir.
  std::shared_ptr<stream::Tree> tree_;
  std::vector<std::string> changed_below_;
};

}  // namespace paes::cli
