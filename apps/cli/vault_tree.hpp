// SPDX-License-Identifier: Apache-2.0
// The files and folders of a vault, as commands see them without a mount: opening it, looking a
// path up, and walking through everything below a folder.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tree_walk.hpp"
#include "cli/vault_options.hpp"
#include "paes/error.hpp"
#include "stream/file/file_identity.hpp"
#include "volume/read/volume.hpp"
#include "volume/read/volume_folder.hpp"

namespace paes::cli {

// The folder of a vault, which a user has named. Throws Error(failure).
[[nodiscard]] Descriptor open_vault_folder(const std::string& path);

// Whether a path lies in a folder, or is the folder itself, also by a link or a mount. Neither has
// to exist.
[[nodiscard]] bool lies_in(const std::string& path, const std::string& folder);

// The folders by which one gets into a folder: it itself, and where the folders in it are mounted
// once more.
class WaysInto {
 public:
  explicit WaysInto(const std::string& folder);
  [[nodiscard]] bool have(const struct stat& status) const;

 private:
  std::vector<stream::FileIdentity> folders_;
};

// Damage that was met while one thing was read, by any thread.
class MetDamage {
 public:
  [[nodiscard]] volume::DamageReport reporter() {
    return [this](const volume::Finding& finding) { add(finding); };
  }
  // What was met since the last call.
  [[nodiscard]] std::vector<volume::Finding> take();

 private:
  void add(const volume::Finding& finding);

  std::mutex mutex_;
  std::vector<volume::Finding> found_;
};

// The error for what a volume answers about `path`. EIO is damage, which `met` knows.
[[nodiscard]] Error volume_error(std::string_view path, Errno error, MetDamage& met);

using SharedFolder = std::shared_ptr<const volume::Folder>;

// What has a name in a vault.
struct VaultEntry {
  std::string path;         // from the root of the vault on; the root's is empty
  SharedFolder folder;      // where its name lies; null for the root
  std::string stored;       // its name there
  struct stat status = {};  // of what is stored

  [[nodiscard]] bool is_folder() const noexcept { return S_ISDIR(status.st_mode); }
  [[nodiscard]] bool is_link() const noexcept { return S_ISLNK(status.st_mode); }
  [[nodiscard]] bool is_file() const noexcept { return S_ISREG(status.st_mode); }
  [[nodiscard]] volume::EntryRef backing() const noexcept {
    return {folder->descriptor(), stored.c_str()};
  }
  // For messages.
  [[nodiscard]] std::string shown() const { return path.empty() ? "/" : path; }
};

class VaultTree {
 public:
  // Opens the vault with what the options say. Throws as VaultOptions::open, and Error(wrong_key)
  // for a master key that the vault's files disprove.
  explicit VaultTree(const VaultOptions& options);
  VaultTree(const VaultTree&) = delete;
  VaultTree& operator=(const VaultTree&) = delete;

  [[nodiscard]] const volume::Volume& volume() const noexcept { return *volume_; }
  [[nodiscard]] MetDamage& met() noexcept { return met_; }
  [[nodiscard]] const WaysInto& ways_in() const noexcept { return ways_in_; }

  // A path may begin and end with slashes; links on its way are not followed. Throws Error(failure)
  // where nothing has it, Error(usage) for "..", and Error(corrupt) for damage.
  [[nodiscard]] VaultEntry find(const std::string& path);
  // What lies in a folder that is there: nothing if nothing has that name.
  [[nodiscard]] std::optional<VaultEntry> look_up(const std::string& path);
  // The folder with that path, open. So are those on the way to it, within limits, until another
  // way is asked for: the next call mostly asks for one of them or for a neighbour.
  [[nodiscard]] SharedFolder folder(const std::string& path);
  // How many more folders and files whoever uses this may keep open.
  [[nodiscard]] std::size_t most_open() const noexcept { return most_open_; }
  [[nodiscard]] std::string target_of(const VaultEntry& link);
  // The length of a file's text or of a link's target.
  [[nodiscard]] std::uint64_t length_of(const VaultEntry& entry) const;

  // Calls `visit` with everything below a folder, but not the folder itself: in the order of the
  // names, a folder before what is in it. Calls `fail` with what cannot be read, and goes on with
  // the rest. Throws Error of a signal.
  void walk(const VaultEntry& folder, const std::function<Next(const VaultEntry& entry)>& visit,
            const std::function<void(const Error& error)>& fail);

 private:
  // What the entries of a folder are, in the order of their names, but not yet where these lie.
  // Damaged names are left out, and `met` has them.
  [[nodiscard]] std::vector<VaultEntry> list(const std::string& path);

  struct OpenedFolder {
    std::string path;
    SharedFolder folder;
  };
  void open_folder(FolderRef above, const std::string& stored, std::string path);

  MetDamage met_;
  WaysInto ways_in_;
  std::unique_ptr<const volume::Volume> volume_;
  std::size_t most_open_;
  std::vector<OpenedFolder> opened_;  // the root first, and then each below the one before it
};

// The folder in which a path below a top lies; empty for the top.
[[nodiscard]] std::string parent_of(const std::string& path);

// The names in a path. Throws Error(usage) for "..".
[[nodiscard]] std::vector<std::string> names_in(const std::string& path);

}  // namespace paes::cli
