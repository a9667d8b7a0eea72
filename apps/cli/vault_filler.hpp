// SPDX-License-Identifier: Apache-2.0
// How `paes vault put` brings files, links and folders into a vault. Each file is sealed beside the
// one that it replaces, and takes its name once it is complete and synced. Several are synced at
// once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/progress.hpp"
#include "cli/vault_output.hpp"
#include "cli/vault_tree.hpp"
#include "stream/file/file_place.hpp"
#include "stream/file/input.hpp"
#include "volume/change/unfinished.hpp"

namespace paes::cli {

// What is done where something has the name already.
enum class Existing { refused, replaced, updated };

class VaultFiller {
 public:
  // `cleans`: nobody else writes, so that what killed writers have left may go. All outlive this.
  VaultFiller(VaultTree& vault, volume::WritableVolume& volume, Existing existing, bool cleans,
              const VaultWork& work, ProgressMeter& meter);

  // The folder with that path is made where it is not there, with all above it. Gives back the path
  // as VaultEntry has it.
  [[nodiscard]] std::string make_folders(const std::string& path);
  // Puts what a user has named into the folder; without a name, what is in that folder. Failures of
  // single files are printed.
  void put(const std::string& source, const std::string& folder, const std::string& name);
  // Standard input becomes a file.
  void put_input(const std::string& path);
  // Gives names to what has none yet, and syncs everything.
  void finish();

  [[nodiscard]] const VaultCounts& counts() const noexcept { return counts_; }

 private:
  // A file or link that is complete and has no name yet.
  struct Waiting {
    volume::Unfinished made;
    std::optional<volume::WritableFile> file;  // none: a link
    std::string path;
    bool replaces;
  };
  struct Attributes {
    mode_t mode;
    struct timespec modified;
  };

  template <typename Work>
  void attempt(const Work& work);
  // Before something goes into it.
  void enter(const std::string& folder);
  void make_folder(const std::string& path, const struct stat* source);
  void put_below(const std::string& source, const std::string& top);
  void put_entry(const std::string& path, const stream::FilePlace& source,
                 const struct stat& status);
  void put_file(const std::string& path, stream::Input& input, bool has_holes);
  void put_link(const std::string& path, const stream::FilePlace& source,
                const struct stat& status);
  [[nodiscard]] std::optional<VaultEntry> find_existing(const std::string& path);
  void set_times(volume::EntryRef made, const std::string& path, const struct timespec& modified);
  void add(Waiting waiting, std::uint64_t bytes);
  [[nodiscard]] std::optional<Result<void>> sync_at_once(std::size_t things);
  [[nodiscard]] bool answers_for(FileRef file) const;
  void flush();

  VaultTree& vault_;
  volume::WritableVolume& volume_;
  const Existing existing_;
  const bool cleans_;
  const std::size_t most_waiting_;
  const VaultWork& work_;
  ProgressMeter& meter_;
  std::vector<Waiting> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::map<std::string, SharedFolder> changed_;  // folders with names that are not synced
  std::map<std::string, Attributes> folders_;    // what these get in the end
  VaultCounts counts_;
};

}  // namespace paes::cli
