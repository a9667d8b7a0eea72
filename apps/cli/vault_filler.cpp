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

// Each keeps two descriptors open.
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
      volume_(volume),
      existing_(existing),
      cleans_(cleans),
      most_waiting_(std::min(most_waiting, vault.most_open() / 2)),
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

void VaultFiller::enter(const std::string& folder) {
  // What waits here would be taken for what a killed writer has left.
  if (std::any_of(waiting_.begin(), waiting_.end(),
                  [&](const Waiting& one) { return parent_of(one.path) == folder; })) {
    flush();
  }
  if (cleans_) {
    volume::remove_unfinished(volume_, *vault_.folder(folder));
  }
}

// `source` is the folder that it is to be like; null for one that was only named.
void VaultFiller::make_folder(const std::string& path, const struct stat* source) {
  std::optional<VaultEntry> found = vault_.look_up(path);
  const bool is_new = !found;
  if (is_new) {
    const mode_t mode = source == nullptr ? 0777 : (source->st_mode & 0777) | S_IRWXU;
    const SharedFolder parent = vault_.folder(parent_of(path));
    require(volume::make_folder(volume_, *parent, stream::last_name(path),
                                {.mode = mode, .owner = std::nullopt, .is_synced_first = true}),
            path);
    changed_.emplace(parent_of(path), parent);
    found = vault_.look_up(path);
    require(found ? Result<void>() : Errno(ENOENT), path);
  }
  if (!found->is_folder()) {
    throw Error(ErrorCode::failure, path + ": is not a folder in the vault");
  }
  if (source != nullptr && (is_new || existing_ != Existing::refused)) {
    folders_.insert_or_assign(path, Attributes{source->st_mode & 0777, source->st_mtim});
    if (const mode_t mode = found->status.st_mode & 0777; (mode & S_IRWXU) != S_IRWXU) {
      // Until then its owner may write into it. For others, what needs that fails and says so.
      (void)volume_.backing().set_mode(found->backing(), mode | S_IRWXU);
    }
  }
  enter(path);
  if (is_new) {
    changed_.emplace(path, vault_.folder(path));
  }
  if (changed_.size() >= most_waiting_) {
    flush();
  }
}

std::string VaultFiller::make_folders(const std::string& path) {
  std::string at;
  enter(at);
  for (const std::string& name : names_in(path)) {
    at = volume::path_of(at, name);
    make_folder(at, nullptr);
  }
  return at;
}

void VaultFiller::put(const std::string& source, const std::string& folder,
                      const std::string& name) {
  attempt([&] {
    const stream::FilePlace named(source);
    struct stat status = {};
    if (named.lstat(status) != 0) {
      throw_errno(source);
    }
    const std::string path = name.empty() ? folder : volume::path_of(folder, name);
    if (!S_ISDIR(status.st_mode)) {
      put_entry(path, named, status);
      return;
    }
    if (!name.empty()) {
      make_folder(path, &status);
    }
    put_below(source, path);
  });
}

void VaultFiller::put_below(const std::string& source, const std::string& top) {
  stream::Tree tree(source);
  tree.open();
  walk(tree, [&](const VisitedEntry& visited) {
    const std::string from = tree.path_of(visited.below);
    if (visited.error != 0) {
      counts_.fail(Error(ErrorCode::failure, from + ": " + Errno(visited.error).message()));
      return Next::past_this_folder;
    }
    // A vault that is mounted within would grow by what was just put into it, without end.
    if (S_ISDIR(visited.status.st_mode) && vault_.ways_in().have(visited.status)) {
      counts_.fail(Error(ErrorCode::usage, from + ": is the vault itself, or lies in it"));
      return Next::past_this_folder;
    }
    if (visited.below.empty()) {
      return Next::on;
    }
    const std::string path = volume::path_of(top, visited.below);
    bool is_put = false;
    attempt([&] {
      if (S_ISDIR(visited.status.st_mode)) {
        make_folder(path, &visited.status);
      } else {
        const stream::OpenFolder around = tree.folder(parent_of(visited.below));
        if (around == nullptr) {
          throw_errno(from);
        }
        put_entry(path, {from, around}, visited.status);
      }
      is_put = true;
    });
    return is_put ? Next::on : Next::past_this_folder;
  });
}

void VaultFiller::put_entry(const std::string& path, const stream::FilePlace& source,
                            const struct stat& status) {
  if (S_ISLNK(status.st_mode)) {
    put_link(path, source, status);
    return;
  }
  std::optional<stream::Input> input =
      S_ISREG(status.st_mode) ? stream::Input::open_regular(source, &cancel()) : std::nullopt;
  if (!input) {
    print_warning(source.path + ": is neither a file nor a folder nor a link, and left out");
    return;
  }
  put_file(path, *input, has_holes(status));
}

void VaultFiller::put_input(const std::string& path) {
  attempt([&] {
    stream::Input input = stream::Input::standard_input(&cancel());
    put_file(path, input, false);
  });
}

// Nothing if nothing has the name. Throws Error if what has it may not be replaced.
std::optional<VaultEntry> VaultFiller::find_existing(const std::string& path) {
  if (std::any_of(waiting_.begin(), waiting_.end(),
                  [&](const Waiting& one) { return one.path == path; })) {
    flush();
  }
  std::optional<VaultEntry> found = vault_.look_up(path);
  if (found && found->is_folder()) {
    throw Error(ErrorCode::failure, path + ": is a folder in the vault");
  }
  if (found && existing_ == Existing::refused) {
    throw Error(ErrorCode::failure, path + ": already exists in the vault",
                "-f replaces it; --update replaces what has changed");
  }
  return found;
}

void VaultFiller::set_times(volume::EntryRef made, const std::string& path,
                            const struct timespec& modified) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, modified};
  require(volume_.backing().set_times(made, times), path);
}

void VaultFiller::put_file(const std::string& path, stream::Input& input, bool has_holes) {
  const std::optional<VaultEntry> before = find_existing(path);
  const std::optional<struct timespec> modified = input.modified();
  const std::optional<std::uint64_t> bytes =
      input.is_seekable() || input.is_regular() ? std::optional(input.bytes()) : std::nullopt;
  if (before && existing_ == Existing::updated && before->is_file() && modified && bytes &&
      vault_.length_of(*before) == *bytes && is_same_time(before->status.st_mtim, *modified)) {
    ++counts_.skipped;
    return;
  }
  volume::Unfinished made(volume_, vault_.folder(parent_of(path)));
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
  add({std::move(made), std::move(*file), path, before.has_value()}, moved);
}

void VaultFiller::put_link(const std::string& path, const stream::FilePlace& source,
                           const struct stat& status) {
  const std::string target = target_of(source);
  const std::optional<VaultEntry> before = find_existing(path);
  if (before && existing_ == Existing::updated && before->is_link() &&
      vault_.target_of(*before) == target) {
    ++counts_.skipped;
    return;
  }
  volume::Unfinished made(volume_, vault_.folder(parent_of(path)));
  require(made.make_link(target), path);
  set_times(made.entry(), path, status.st_mtim);
  add({std::move(made), std::nullopt, path, before.has_value()}, 0);
}

void VaultFiller::add(Waiting waiting, std::uint64_t bytes) {
  waiting_.push_back(std::move(waiting));
  waiting_bytes_ += bytes;
  if (waiting_.size() >= most_waiting_ || waiting_bytes_ >= most_waiting_bytes) {
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
    const std::string& path = waiting.path;
    attempt([&] {
      if (waiting.file) {
        const bool is_synced = whole && answers_for(waiting.file->descriptor());
        require(is_synced ? *whole : waiting.file->sync(false), path);
      }
      require(waiting.made.take_name(stream::last_name(path), waiting.replaces), path);
      changed_.emplace(parent_of(path), waiting.made.folder());
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
      const std::optional<VaultEntry> entry = vault_.look_up(made->first);
      require(entry ? Result<void>() : Errno(ENOENT), made->first);
      require(volume_.backing().set_mode(entry->backing(), made->second.mode), entry->path);
      set_times(entry->backing(), entry->path, made->second.modified);
    });
  }
}

}  // namespace paes::cli
