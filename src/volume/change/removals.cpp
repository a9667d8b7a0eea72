// SPDX-License-Identifier: Apache-2.0
// Names in a volume are moved and removed (tree_changes.hpp).
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <vector>

#include "volume/change/own_files.hpp"
#include "volume/change/tree_changes.hpp"

namespace paes::volume {

namespace {

constexpr mode_t changeable = S_IRWXU;

// A folder of the backing tree that is to be removed, open to be looked into.
class DoomedFolder {
 public:
  DoomedFolder(WritableVolume& volume, FolderRef parent, const std::string& name)
      : volume_(volume), parent_(parent), name_(name) {}

  // Opens it, if it is a folder, and locks it together with `others`. What was found still has the
  // name then: it is not what another thread has just given it. After a failure nothing is locked.
  [[nodiscard]] Result<void> lock_with(const std::vector<FolderRef>& others) {
    for (;;) {
      content_ = volume_.backing().open(parent_, name_.c_str(), O_PATH | O_DIRECTORY);
      std::vector<FolderRef> folders = others;
      if (content_) {
        folders.emplace_back(*content_);
      }
      locks_ = volume_.lock_folders(folders);
      const Result<bool> is_still_there = has_name();
      if (is_still_there && *is_still_there) {
        return {};
      }
      locks_.clear();
      if (!is_still_there) {
        return is_still_there.error();
      }
    }
  }
  // ENOTDIR if it is not a folder.
  [[nodiscard]] const Result<Descriptor>& content() const noexcept { return content_; }

  // It is open, and the caller has locked it and its parent. `name` is what it has by now. After a
  // failure it is as it was.
  [[nodiscard]] Result<void> remove(FolderRef parent, const std::string& name) {
    const FolderRef content(*content_);
    const Result<void> removed = remove_empty_folder(volume_, parent, name, content);
    if (!removed.failed_with(EACCES)) {
      return removed;
    }
    // Its owner may remove a folder that its mode does not let anybody change.
    const Result<struct stat> status = volume_.backing().status(content);
    if (!status || (status->st_mode & changeable) == changeable) {
      return removed;
    }
    const mode_t mode = status->st_mode & ~static_cast<mode_t>(S_IFMT);
    if (!volume_.backing().set_mode(content, mode | changeable)) {
      return removed;
    }
    const Result<void> second = remove_empty_folder(volume_, parent, name, content);
    if (!second) {
      (void)volume_.backing().set_mode(content, mode);
    }
    return second;
  }

 private:
  // Whether the name still has what was found, or still no folder.
  [[nodiscard]] Result<bool> has_name() const {
    const Result<struct stat> named = volume_.backing().status({parent_, name_.c_str()});
    if (!named && !named.failed_with(ENOENT)) {
      return named.error();
    }
    if (!content_) {
      return !(content_.failed_with(ENOENT, ENOTDIR) && named && S_ISDIR(named->st_mode));
    }
    const Result<struct stat> opened = volume_.backing().status(*content_);
    if (!opened) {
      return opened.error();
    }
    return named && named->st_dev == opened->st_dev && named->st_ino == opened->st_ino;
  }

  WritableVolume& volume_;
  FolderRef parent_;
  const std::string& name_;
  Result<Descriptor> content_ = Errno(ENOENT);
  std::vector<std::unique_lock<std::mutex>> locks_;
};

// One place of a rename.
struct Place {
  FolderRef folder;
  StoredName stored;

  [[nodiscard]] const char* name() const noexcept { return stored.name.c_str(); }
};

// The same for a file system that cannot exchange names. The name has nothing for a moment.
Result<void> replace_without_exchange(const Backing& backing, const Place& from, const Place& to,
                                      DoomedFolder& doomed) {
  const std::string hidden = new_hidden_name();
  if (const Result<void> done = backing.rename(to.folder, to.name(), to.folder, hidden.c_str(), 0);
      !done) {
    return done;
  }
  Result<void> replaced = backing.rename(from.folder, from.name(), to.folder, to.name(), 0);
  if (replaced) {
    replaced = doomed.remove(to.folder, hidden);
    if (replaced || !backing.rename(to.folder, to.name(), from.folder, from.name(), 0)) {
      return replaced;
    }
  }
  (void)rename_to_free_name(backing, to.folder, hidden.c_str(), to.folder, to.name());
  return replaced;
}

// A folder that has only its IV takes the place of another, after the system has refused that: it
// does not know that the other is empty.
Result<void> replace_empty_folder(WritableVolume& volume, const Place& from, const Place& to,
                                  DoomedFolder& doomed, Errno refusal) {
  const Backing& backing = volume.backing();
  const Result<struct stat> source = backing.status({from.folder, from.name()});
  if (!source || !S_ISDIR(source->st_mode)) {
    return source ? refusal : source.error();
  }
  if (const Result<void> empty = check_empty(volume.volume(), FolderRef(*doomed.content()));
      !empty && !empty.failed_with(EACCES)) {
    return empty;
  }
  const Result<void> exchanged =
      backing.rename(from.folder, from.name(), to.folder, to.name(), RENAME_EXCHANGE);
  if (exchanged.failed_with(EINVAL)) {
    return replace_without_exchange(backing, from, to, doomed);
  }
  if (!exchanged) {
    return exchanged;
  }
  const Result<void> removed = doomed.remove(from.folder, from.stored.name);
  if (!removed) {
    (void)backing.rename(from.folder, from.name(), to.folder, to.name(), RENAME_EXCHANGE);
  }
  return removed;
}

Result<void> rename_stored(WritableVolume& volume, const Place& from, const Place& to,
                           unsigned flags, DoomedFolder& doomed) {
  const Backing& backing = volume.backing();
  const Result<void> renamed =
      flags == RENAME_NOREPLACE
          ? rename_to_free_name(backing, from.folder, from.name(), to.folder, to.name())
          : backing.rename(from.folder, from.name(), to.folder, to.name(), flags);
  // Some file systems say that a folder is not empty, others that it exists.
  if (!renamed.failed_with(ENOTEMPTY, EEXIST) || flags != 0) {
    return renamed;
  }
  if (doomed.content()) {
    return replace_empty_folder(volume, from, to, doomed, renamed.error());
  }
  return doomed.content().failed_with(ENOENT, ENOTDIR) ? renamed : doomed.content().error();
}

}  // namespace

Result<void> rename(WritableVolume& volume, const Folder& folder, std::string_view name,
                    const Folder& to_folder, std::string_view to_name, unsigned flags) {
  const bool leaves_whiteout = (flags & ~unsigned{RENAME_NOREPLACE}) == RENAME_WHITEOUT;
  if (flags != 0 && flags != RENAME_NOREPLACE && flags != RENAME_EXCHANGE && !leaves_whiteout) {
    return Errno(EINVAL);
  }
  Result<StoredName> from_stored = folder.stored_name(name);
  Result<StoredName> to_stored = to_folder.stored_name(to_name);
  if (!from_stored || !to_stored) {
    return from_stored ? to_stored.error() : from_stored.error();
  }
  const Place from{folder.descriptor(), std::move(*from_stored)};
  const Place to{to_folder.descriptor(), std::move(*to_stored)};
  DoomedFolder doomed(volume, to.folder, to.stored.name);
  if (const Result<void> locked = doomed.lock_with({from.folder, to.folder}); !locked) {
    return locked;
  }
  const Backing& backing = volume.backing();
  if (const Result<struct stat> source = backing.status({from.folder, from.name()}); !source) {
    return source.error();
  }
  LongNameFile to_long_name(volume, to.folder, to.stored);
  if (const Result<void> done = to_long_name.make(); !done) {
    return done;
  }
  // What is moved may have been on disk for long. It must not come to depend on an IV or a long
  // name that is not.
  if (from.folder != to.folder || !to.stored.encoded.empty() || flags == RENAME_EXCHANGE) {
    if (const Result<void> synced = volume.unsynced().sync(); !synced) {
      return to_long_name.undo_unless(synced);
    }
  }
  if (const Result<void> renamed = rename_stored(volume, from, to, flags, doomed); !renamed) {
    return to_long_name.undo_unless(renamed);
  }
  if (!from.stored.encoded.empty() && flags != RENAME_EXCHANGE) {
    // Two names of one file stay as they are, and so does a name that is renamed to itself.
    const Result<struct stat> left = backing.status({from.folder, from.name()});
    if (left.failed_with(ENOENT)) {
      LongNameFile(volume, from.folder, from.stored).remove();
    }
  }
  return {};
}

Result<void> remove_file(WritableVolume& volume, const Folder& folder, std::string_view name) {
  const Result<StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  const auto locks = volume.lock_folders({folder.descriptor()});
  const Result<void> removed =
      volume.backing().remove(folder.descriptor(), stored->name.c_str(), false);
  if (removed) {
    LongNameFile(volume, folder.descriptor(), *stored).remove();
  }
  return removed;
}

Result<void> remove_folder(WritableVolume& volume, const Folder& folder, std::string_view name) {
  const Result<StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  DoomedFolder doomed(volume, folder.descriptor(), stored->name);
  if (const Result<void> locked = doomed.lock_with({folder.descriptor()}); !locked) {
    return locked;
  }
  if (!doomed.content()) {
    return doomed.content().error();
  }
  const Result<void> removed = doomed.remove(folder.descriptor(), stored->name);
  if (removed) {
    LongNameFile(volume, folder.descriptor(), *stored).remove();
  }
  return removed;
}

}  // namespace paes::volume
