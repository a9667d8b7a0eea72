// SPDX-License-Identifier: Apache-2.0
#include "cli/vault_tree.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "cli/key_proof.hpp"
#include "cli/mount_table.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/descriptor.hpp"
#include "core/refuse.hpp"
#include "core/secret.hpp"
#include "kernel/registry.hpp"
#include "stream/file/file_place.hpp"
#include "volume/read/link.hpp"

namespace paes::cli {

namespace {

// How many folders a tree keeps open, an eighth of what the process may have open if that lies
// between these.
constexpr std::size_t fewest_folders = 8;
constexpr std::size_t most_folders = 512;

// Where a path leads, also through a last link to what is not there yet. Nothing where no file can
// have it.
std::optional<std::filesystem::path> real_path(const std::string& path) {
  constexpr int most_links = 40;  // of the system
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  for (int links = 0; links < most_links; ++links) {
    if (!error) {
      at = std::filesystem::weakly_canonical(at, error);
    }
    if (error) {
      return std::nullopt;
    }
    std::error_code none;
    const std::filesystem::path target = std::filesystem::read_symlink(at, none);
    if (none) {
      return at;
    }
    at = at.parent_path() / target;
  }
  return std::nullopt;
}

// As it was when it was asked for first. Empty where there is no /proc to tell.
const std::vector<MountedPlace>& mounted_places() {
  static const std::vector<MountedPlace> table = [] {
    try {
      return read_mount_table();
    } catch (const Error&) {
      return std::vector<MountedPlace>();
    }
  }();
  return table;
}

}  // namespace

Descriptor open_vault_folder(const std::string& path) {
  refuse_zero_byte(path);
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) {
    throw_errno(path);
  }
  return folder;
}

bool lies_in(const std::string& path, const std::string& folder) {
  const std::optional<std::filesystem::path> root = real_path(folder);
  const std::optional<std::filesystem::path> below = real_path(path);
  if (!root || !below) {
    return false;
  }
  if (std::mismatch(root->begin(), root->end(), below->begin(), below->end()).first ==
      root->end()) {
    return true;
  }
  const WaysInto ways(folder);
  for (std::filesystem::path at = *below;; at = at.parent_path()) {
    struct stat status = {};
    if (stat(at.c_str(), &status) == 0 && ways.have(status)) {
      return true;
    }
    if (at == at.parent_path()) {
      return false;
    }
  }
}

WaysInto::WaysInto(const std::string& folder) {
  const auto add = [this](const std::string& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) == 0) {
      folders_.push_back(stream::identity_of(status));
    }
  };
  add(folder);
  const std::optional<std::filesystem::path> real = real_path(folder);
  if (!real) {
    return;
  }
  const std::vector<MountedPlace>& table = mounted_places();
  const auto own = std::find_if(table.rbegin(), table.rend(), [&](const MountedPlace& place) {
    return lies_within(real->native(), place.path);
  });
  if (own == table.rend()) {
    return;
  }
  const std::string root = own->root == "/" ? "" : own->root;
  const std::string inside = root + real->native().substr(own->path == "/" ? 0 : own->path.size());
  for (const MountedPlace& place : table) {
    if (place.device == own->device && lies_within(place.root, inside.empty() ? "/" : inside)) {
      add(place.path);
    }
  }
}

bool WaysInto::have(const struct stat& status) const {
  return std::find(folders_.begin(), folders_.end(), stream::identity_of(status)) != folders_.end();
}

std::vector<volume::Finding> MetDamage::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, {});
}

void MetDamage::add(const volume::Finding& finding) {
  const std::lock_guard lock(mutex_);
  found_.push_back(finding);
}

Error volume_error(std::string_view path, Errno error, MetDamage& met) {
  const std::string shown = path.empty() ? "/" : std::string(path);
  if (error.is(EIO)) {
    const std::vector<volume::Finding> found = met.take();
    const std::string what = found.empty() ? error.message() : found.front().what;
    const std::string where =
        found.empty() || found.front().path.empty() ? shown : found.front().path;
    return Error(ErrorCode::corrupt, where + ": " + what,
                 "'paes vault fsck' lists all that is damaged");
  }
  return Error(ErrorCode::failure, shown + ": " + error.message());
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<std::string> names_in(const std::string& path) {
  refuse_zero_byte(path);
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    refuse(name == "..", path + ": has '..' in it", "paths count from the root of the vault");
    if (!name.empty() && name != ".") {
      names.push_back(name);
    }
    begin = end + 1;
  }
  return names;
}

VaultTree::VaultTree(const VaultOptions& options)
    : ways_in_(options.place.folder()),
      most_open_(std::clamp(allow_open_files() / 8, fewest_folders, most_folders)) {
  const std::string& folder = options.place.folder();
  Descriptor root = open_vault_folder(folder);
  const OpenedVault opened = options.open();
  refuse_key_of_another_vault(options, folder, opened);
  volume_ = std::make_unique<const volume::Volume>(
      std::move(root), opened.configuration.features, opened.key, best_kernel(Cipher::aes),
      std::make_unique<volume::Backing>(), met_.reporter());
  open_folder(volume_->root(), "", "");
}

std::optional<VaultEntry> VaultTree::look_up(const std::string& path) {
  VaultEntry entry{path, folder(parent_of(path)), {}};
  Result<volume::StoredName> stored = entry.folder->stored_name(stream::last_name(path));
  if (!stored) {
    throw volume_error(path, stored.error(), met_);
  }
  entry.stored = std::move(stored->name);
  const Result<struct stat> status = volume_->backing().status(entry.backing());
  if (status.failed_with(ENOENT)) {
    return std::nullopt;
  }
  if (!status) {
    throw volume_error(path, volume_->failed(path, "its status", status.error()), met_);
  }
  entry.status = *status;
  return entry;
}

VaultEntry VaultTree::find(const std::string& path) {
  VaultEntry entry;
  const Result<struct stat> root = volume_->backing().status(volume_->root());
  if (!root) {
    throw volume_error("", root.error(), met_);
  }
  entry.status = *root;
  for (const std::string& name : names_in(path)) {
    if (!entry.is_folder()) {
      throw Error(ErrorCode::failure, entry.path + ": is not a folder",
                  entry.is_link() ? "links in a vault are not followed" : "");
    }
    const std::string below = volume::path_of(entry.path, name);
    std::optional<VaultEntry> next = look_up(below);
    if (!next) {
      throw Error(ErrorCode::failure, below + ": is not in the vault",
                  "paths count from the root of the vault; 'paes vault ls' shows what there is");
    }
    entry = std::move(*next);
  }
  return entry;
}

void VaultTree::open_folder(FolderRef above, const std::string& stored, std::string path) {
  Result<volume::Folder> folder = volume::Folder::open(*volume_, above, stored.c_str(), path);
  if (!folder) {
    throw volume_error(path, folder.error(), met_);
  }
  opened_.push_back({std::move(path), std::make_shared<const volume::Folder>(std::move(*folder))});
}

SharedFolder VaultTree::folder(const std::string& path) {
  while (opened_.size() > 1 && !lies_within(path, opened_.back().path)) {
    opened_.pop_back();
  }
  while (opened_.back().path.size() < path.size()) {
    const OpenedFolder above = opened_.back();
    const std::size_t begin = above.path.empty() ? 0 : above.path.size() + 1;
    const std::string next = path.substr(0, path.find('/', begin));
    const Result<volume::StoredName> stored = above.folder->stored_name(next.substr(begin));
    if (!stored) {
      throw volume_error(next, stored.error(), met_);
    }
    if (opened_.size() == most_open_) {
      opened_.erase(opened_.begin() + 1);
    }
    open_folder(above.folder->descriptor(), stored->name, next);
  }
  return opened_.back().folder;
}

std::vector<VaultEntry> VaultTree::list(const std::string& path) {
  const SharedFolder folder = this->folder(path);
  std::vector<VaultEntry> entries;
  const Result<void> listed = folder->list(path, [&](volume::FolderEntry found) {
    entries.push_back({volume::path_of(path, found.name), nullptr, std::move(found.stored)});
  });
  if (!listed) {
    throw volume_error(path, listed.error(), met_);
  }
  std::sort(entries.begin(), entries.end(),
            [](const VaultEntry& a, const VaultEntry& b) { return a.path < b.path; });
  // What is gone by now is left out.
  std::erase_if(entries, [&](VaultEntry& entry) {
    const Result<struct stat> status =
        volume_->backing().status({folder->descriptor(), entry.stored.c_str()});
    if (status) {
      entry.status = *status;
    } else if (!status.failed_with(ENOENT)) {
      throw volume_error(entry.path, volume_->failed(entry.path, "its status", status.error()),
                         met_);
    }
    return !status;
  });
  return entries;
}

std::string VaultTree::target_of(const VaultEntry& link) {
  const Result<std::string> target = volume::read_link(*volume_, link.backing(), link.path);
  if (!target) {
    throw volume_error(link.path, target.error(), met_);
  }
  return *target;
}

std::uint64_t VaultTree::length_of(const VaultEntry& entry) const {
  return entry.folder == nullptr ? 0 : volume::length_of(*volume_, entry.status, entry.backing());
}

void VaultTree::walk(const VaultEntry& folder,
                     const std::function<Next(const VaultEntry& entry)>& visit,
                     const std::function<void(const Error& error)>& fail) {
  struct Level {
    std::string path;
    std::vector<VaultEntry> entries;
    std::size_t next = 0;
  };
  std::vector<Level> levels;
  const auto enter = [&](const VaultEntry& entry) {
    try {
      levels.push_back({entry.path, list(entry.path)});
    } catch (const Error& error) {
      fail(error);
    }
    for (const volume::Finding& found : met_.take()) {
      fail(Error(ErrorCode::corrupt, found.path + ": " + found.what));
    }
  };
  enter(folder);
  while (!levels.empty()) {
    cancel().check();
    Level& level = levels.back();
    if (level.next == level.entries.size()) {
      levels.pop_back();
      continue;
    }
    VaultEntry entry = std::move(level.entries[level.next++]);
    try {
      entry.folder = this->folder(level.path);
    } catch (const Error& error) {
      fail(error);
      levels.pop_back();
      continue;
    }
    const Next next = visit(entry);
    if (next == Next::stop) {
      return;
    }
    if (next == Next::on && entry.is_folder()) {
      enter(entry);
    }
  }
}

}  // namespace paes::cli
