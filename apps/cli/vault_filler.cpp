// SPDX-License-Identifier: Apache-2.0
#include "cli/vault_filler.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/vault_ends.hpp"
#include "core/current_error.hpp"
#include "stream/file/create_output.hpp"
#include "volume/change/tree_changes.hpp"

namespace paes::cli {

namespace {

// Each keeps a descriptor open.
constexpr std::size_t most_waiting = 64;
constexpr std::uint64_t most_waiting_bytes = std::uint64_t{64} << 20;
// So few are synced by themselves, because a sync of the file system also writes what others wrote.
constexpr std::size_t few = 4;

void require(const Result<void>& done, const std::string& path) {
  if (!done) {
    throw Error(ErrorCode::failure,
                (path.empty() ? "/" : path) + ": cannot be written: " + done.error().message());
  }
}

std::string target_of(const stream::FilePlace& link) {
  for (std::size_t room = 256;; room *= 2) {
    std::string target(room, '\0');
    const ssize_t bytes = readlinkat(link.folder, link.name().c_str(), target.data(), room);
    if (bytes < 0) {
      throw_errno(link.path);
    }
    if (static_cast<std::size_t>(bytes) < room) {
      target.resize(static_cast<std::size_t>(bytes));
      return target;
    }
  }
}

bool has_holes(const struct stat& status) noexcept {
  constexpr off_t unit_bytes = 512;
  return status.st_blocks * unit_bytes < status.st_size;
}

}  // namespace

VaultFiller::VaultFiller(VaultTree& vault, volume::WritableVolume& volume, Existing existing,
                         bool cleans, const VaultWork& work, ProgressMeter& meter)
    : vault_(vault),
      root_(vault.find("").status),
      volume_(volume),
      existing_(existing),
      cleans_(cleans),
      work_(work),
      meter_(meter) {}

// A failure of one file is printed, and the rest goes on, unless a signal has come.
template <typename Work>
void VaultFiller::attempt(const Work& work) {
  try {
    work();
  } catch (...) {
    const Error error = current_error();
    cancel().check();
    counts_.fail(error);
  }
}

VaultFiller::Place VaultFiller::open(const VaultEntry& folder) {
  Place opened{folder.path, vault_.open(folder)};
  // What waits here would be taken for what a killed writer has left.
  if (std::any_of(waiting_.begin(), waiting_.end(),
                  [&](const Waiting& one) { return one.place.path == folder.path; })) {
    flush();
  }
  if (cleans_) {
    volume::remove_unfinished(volume_, *opened.folder);
  }
  return opened;
}

// `source` is the folder that it is to be like; null for one that was only named.
VaultFiller::Place VaultFiller::make_folder(const Place& parent, const std::string& name,
                                            const struct stat* source) {
  std::optional<VaultEntry> found = vault_.find_in(parent.folder, parent.path, name);
  const bool is_new = !found;
  if (is_new) {
    const mode_t mode = source == nullptr ? 0777 : (source->st_mode & 0777) | S_IRWXU;
    const std::string path = volume::path_of(parent.path, name);
    require(volume::make_folder(volume_, *parent.folder, name, {mode, std::nullopt}), path);
    changed_.emplace(parent.path, parent.folder);
    found = vault_.find_in(parent.folder, parent.path, name);
    require(found ? Result<void>() : Errno(ENOENT), path);
  }
  if (!found->is_folder()) {
    throw Error(ErrorCode::failure, found->path + ": is not a folder in the vault");
  }
  if (source != nullptr && (is_new || existing_ == Existing::updated)) {
    folders_.emplace_back(found->path, Attributes{source->st_mode & 0777, source->st_mtim});
    if (const mode_t mode = found->status.st_mode & 0777; (mode & S_IRWXU) != S_IRWXU) {
      // Until then its owner may write into it. For others, what needs that fails and says so.
      (void)volume_.backing().set_mode(found->backing(), mode | S_IRWXU);
    }
  }
  Place made = open(*found);
  if (is_new) {
    changed_.emplace(made.path, made.folder);
  }
  if (changed_.size() >= most_waiting) {
    flush();
  }
  return made;
}

VaultFiller::Place VaultFiller::make_folders(const std::string& path) {
  Place at = open(vault_.find(""));
  for (const std::string& name : names_in(path)) {
    at = make_folder(at, name, nullptr);
  }
  return at;
}

void VaultFiller::put(const std::string& source, const Place& place, const std::string& name) {
  attempt([&] {
    const stream::FilePlace named(source);
    struct stat status = {};
    if (named.lstat(status) != 0) {
      throw_errno(source);
    }
    if (S_ISDIR(status.st_mode)) {
      put_below(source, name.empty() ? place : make_folder(place, name, &status));
    } else {
      put_entry(place, name, named, status);
    }
  });
}

void VaultFiller::put_below(const std::string& source, const Place& top) {
  stream::Tree tree(source);
  tree.open();
  // The folders from the top down to the one that is being put.
  std::vector<std::pair<std::string, Place>> levels = {{"", top}};
  walk(tree, [&](const VisitedEntry& visited) {
    if (visited.error != 0) {
      counts_.fail(Error(ErrorCode::failure,
                         tree.path_of(visited.below) + ": " + Errno(visited.error).message()));
      return Next::past_this_folder;
    }
    // A vault that is mounted within would grow by what was just put into it, without end.
    if (S_ISDIR(visited.status.st_mode) && is_same_place(visited.status, root_)) {
      counts_.fail(Error(ErrorCode::usage, tree.path_of(visited.below) + ": is the vault itself"));
      return Next::past_this_folder;
    }
    if (visited.below.empty()) {
      return Next::on;
    }
    while (levels.back().first != parent_of(visited.below)) {
      levels.pop_back();
    }
    const std::string name = stream::last_name(visited.below);
    bool is_put = false;
    attempt([&] {
      if (S_ISDIR(visited.status.st_mode)) {
        levels.emplace_back(visited.below,
                            make_folder(levels.back().second, name, &visited.status));
      } else {
        const stream::OpenFolder around = tree.folder(parent_of(visited.below));
        if (around == nullptr) {
          throw_errno(tree.path_of(visited.below));
        }
        put_entry(levels.back().second, name, {tree.path_of(visited.below), around},
                  visited.status);
      }
      is_put = true;
    });
    return is_put ? Next::on : Next::past_this_folder;
  });
}

void VaultFiller::put_entry(const Place& place, const std::string& name,
                            const stream::FilePlace& source, const struct stat& status) {
  if (S_ISLNK(status.st_mode)) {
    put_link(place, name, source, status);
    return;
  }
  std::optional<stream::Input> input =
      S_ISREG(status.st_mode) ? stream::Input::open_regular(source, &cancel()) : std::nullopt;
  if (!input) {
    print_warning(source.path + ": is neither a file nor a folder nor a link, and left out");
    return;
  }
  put_file(place, name, *input, has_holes(status));
}

void VaultFiller::put_input(const Place& place, const std::string& name) {
  attempt([&] {
    stream::Input input = stream::Input::standard_input(&cancel());
    put_file(place, name, input, false);
  });
}

// Nothing if nothing has the name. Throws Error if what has it may not be replaced.
std::optional<VaultEntry> VaultFiller::find_existing(const Place& place, const std::string& name) {
  if (std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
        return one.name == name && one.place.path == place.path;
      })) {
    flush();
  }
  std::optional<VaultEntry> found = vault_.find_in(place.folder, place.path, name);
  if (found && found->is_folder()) {
    throw Error(ErrorCode::failure, found->path + ": is a folder in the vault");
  }
  if (found && existing_ == Existing::refused) {
    throw Error(ErrorCode::failure, found->path + ": already exists in the vault",
                "-f replaces it; --update replaces what has changed");
  }
  return found;
}

void VaultFiller::set_times(volume::EntryRef made, const std::string& path,
                            const struct timespec& modified) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, modified};
  require(volume_.backing().set_times(made, times), path);
}

void VaultFiller::put_file(const Place& place, const std::string& name, stream::Input& input,
                           bool has_holes) {
  const std::string path = volume::path_of(place.path, name);
  const std::optional<VaultEntry> before = find_existing(place, name);
  const std::optional<struct timespec> modified = input.modified();
  const std::optional<std::uint64_t> bytes =
      input.is_seekable() || input.is_regular() ? std::optional(input.bytes()) : std::nullopt;
  if (before && existing_ == Existing::updated && before->is_file() && modified && bytes &&
      vault_.length_of(*before) == *bytes && is_same_time(before->status.st_mtim, *modified)) {
    ++counts_.skipped;
    return;
  }
  volume::Unfinished made(volume_, place.folder);
  Result<volume::WritableFile> file = made.make_file();
  require(Result<void>(file), path);
  input.expect_sequential();
  const stream::Work work =
      work_.for_text(input.is_seekable() ? bytes : std::nullopt, meter_.counter());
  VaultSink sink(*file, path, has_holes);
  const std::uint64_t moved =
      move_text(input, sink, plain_layout(input.is_seekable() ? bytes : std::nullopt, work), work);
  sink.finish();
  require(
      volume_.backing().set_mode(
          file->descriptor(), input.is_regular() ? input.permissions() : stream::new_file_mode()),
      path);
  if (modified) {
    set_times(file->descriptor(), path, *modified);
  }
  counts_.text_bytes += moved;
  add({std::move(made), std::move(*file), place, name, before.has_value()}, moved);
}

void VaultFiller::put_link(const Place& place, const std::string& name,
                           const stream::FilePlace& source, const struct stat& status) {
  const std::string path = volume::path_of(place.path, name);
  const std::string target = target_of(source);
  const std::optional<VaultEntry> before = find_existing(place, name);
  if (before && existing_ == Existing::updated && before->is_link() &&
      vault_.target_of(*before) == target) {
    ++counts_.skipped;
    return;
  }
  volume::Unfinished made(volume_, place.folder);
  require(made.make_link(target), path);
  set_times(made.entry(), path, status.st_mtim);
  add({std::move(made), std::nullopt, place, name, before.has_value()}, 0);
}

void VaultFiller::add(Waiting waiting, std::uint64_t bytes) {
  waiting_.push_back(std::move(waiting));
  waiting_bytes_ += bytes;
  if (waiting_.size() >= most_waiting || waiting_bytes_ >= most_waiting_bytes) {
    flush();
  }
}

// Syncs the vault's file system, if that is less than a sync for each. Then answers_for() tells for
// which of them.
std::optional<Result<void>> VaultFiller::sync_at_once(std::size_t things) {
  if (things <= few || !answers_for(volume_.volume().root())) {
    return std::nullopt;
  }
  return volume_.unsynced().sync().and_then([&] { return volume_.whole_sync().sync(); });
}

// Something else may be mounted on a folder of the vault.
bool VaultFiller::answers_for(FileRef file) const {
  const Result<struct stat> status = volume_.backing().status(file);
  return status && volume_.whole_sync().covers(*status);
}

void VaultFiller::flush() {
  std::vector<Waiting> group = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  std::optional<Result<void>> whole = sync_at_once(group.size());
  for (Waiting& waiting : group) {
    const std::string path = volume::path_of(waiting.place.path, waiting.name);
    attempt([&] {
      if (waiting.file) {
        const bool is_synced = whole && answers_for(waiting.file->descriptor());
        require(is_synced ? *whole : waiting.file->sync(false), path);
      }
      require(waiting.made.take_name(waiting.name, waiting.replaces), path);
      changed_.emplace(waiting.place.path, waiting.place.folder);
      ++counts_.done;
    });
  }
  group.clear();
  const auto changed = std::exchange(changed_, {});
  whole = sync_at_once(changed.size());
  for (const auto& place : changed) {
    attempt([&] {
      const bool is_synced = whole && answers_for(place.second->descriptor());
      require(is_synced ? *whole : volume_.sync_folder(*place.second), place.first);
    });
  }
}

void VaultFiller::finish() {
  flush();
  for (auto made = folders_.rbegin(); made != folders_.rend(); ++made) {
    attempt([&] {
      const VaultEntry entry = vault_.find(made->first);
      require(volume_.backing().set_mode(entry.backing(), made->second.mode), entry.path);
      set_times(entry.backing(), entry.path, made->second.modified);
    });
  }
}

}  // namespace paes::cli
