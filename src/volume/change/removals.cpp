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
  DoomedFolder(WritableVolume& volume, int parent, const std::string& name)
      : volume_(volume), parent_(parent), name_(name) {}

  // Opens it, if it is a folder, and locks it together with `others`. What was found still has the
  // name then: it is not what another thread has just given it. 0, or the errno for which nothing
  // is locked.
  [[nodiscard]] int lock_with(const std::vector<int>& others) {
    for (;;) {
      open();
      std::vector<int> folders = others;
      if (error_ == 0) {
        folders.push_back(descriptor());
      }
      locks_ = volume_.lock_folders(folders);
      const Result<bool> is_still_there = has_name();
      if (is_still_there && *is_still_there) {
        return 0;
      }
      locks_.clear();
      if (!is_still_there) {
        return is_still_there.error();
      }
    }
  }
  // Why it could not be opened: ENOTDIR if it is no folder. 0 if it is open.
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] int descriptor() const noexcept { return content_.number(); }

  // The caller has locked it and its parent. `name` is what it has by now. 0 or an errno, and then
  // it is as it was.
  [[nodiscard]] int remove(int parent, const std::string& name) {
    const int error = remove_empty_folder(volume_, parent, name, descriptor());
    if (error != EACCES) {
      return error;
    }
    // Its owner may remove a folder that its mode does not let anybody change.
    const Result<struct stat> status = volume_.backing().status(descriptor(), "");
    if (!status || (status->st_mode & changeable) == changeable) {
      return error;
    }
    const mode_t mode = status->st_mode & ~static_cast<mode_t>(S_IFMT);
    if (volume_.backing().set_mode(descriptor(), "", mode | changeable) != 0) {
      return error;
    }
    const int second = remove_empty_folder(volume_, parent, name, descriptor());
    if (second != 0) {
      (void)volume_.backing().set_mode(descriptor(), "", mode);
    }
    return second;
  }

 private:
  void open() {
    Result<Descriptor> content =
        volume_.backing().open(parent_, name_.c_str(), O_PATH | O_DIRECTORY);
    error_ = content.error();
    content_ = content ? std::move(*content) : Descriptor();
  }
  // Whether the name still has what open() found, or still no folder.
  [[nodiscard]] Result<bool> has_name() const {
    const Result<struct stat> named = volume_.backing().status(parent_, name_.c_str());
    if (!named && named.error() != ENOENT) {
      return Failure{named.error()};
    }
    if (error_ != 0) {
      const bool was_no_folder = error_ == ENOENT || error_ == ENOTDIR;
      return !(was_no_folder && named && S_ISDIR(named->st_mode));
    }
    const Result<struct stat> opened = volume_.backing().status(descriptor(), "");
    if (!opened) {
      return Failure{opened.error()};
    }
    return named && named->st_dev == opened->st_dev && named->st_ino == opened->st_ino;
  }

  WritableVolume& volume_;
  int parent_;
  const std::string& name_;
  Descriptor content_;
  int error_ = 0;
  std::vector<std::unique_lock<std::mutex>> locks_;
};

// One place of a rename.
struct Place {
  int folder;
  StoredName stored;

  [[nodiscard]] const char* name() const noexcept { return stored.name.c_str(); }
};

// The same for a file system that cannot exchange names. The name has nothing for a moment.
int replace_without_exchange(const Backing& backing, const Place& from, const Place& to,
                             DoomedFolder& doomed) {
  const std::string hidden = new_hidden_name();
  if (const int error = backing.rename(to.folder, to.name(), to.folder, hidden.c_str(), 0);
      error != 0) {
    return error;
  }
  int error = backing.rename(from.folder, from.name(), to.folder, to.name(), 0);
  if (error == 0) {
    error = doomed.remove(to.folder, hidden);
    if (error == 0 || backing.rename(to.folder, to.name(), from.folder, from.name(), 0) != 0) {
      return error;
    }
  }
  (void)rename_to_free_name(backing, to.folder, hidden.c_str(), to.folder, to.name());
  return error;
}

// A folder that has only its IV takes the place of another: the system does not know that the other
// is empty.
int replace_empty_folder(WritableVolume& volume, const Place& from, const Place& to,
                         DoomedFolder& doomed, int error) {
  const Backing& backing = volume.backing();
  const Result<struct stat> source = backing.status(from.folder, from.name());
  if (!source || !S_ISDIR(source->st_mode)) {
    return source ? error : source.error();
  }
  if (const int failed = check_empty(volume.volume(), doomed.descriptor());
      failed != 0 && failed != EACCES) {
    return failed;
  }
  const int exchanged =
      backing.rename(from.folder, from.name(), to.folder, to.name(), RENAME_EXCHANGE);
  if (exchanged == EINVAL) {
    return replace_without_exchange(backing, from, to, doomed);
  }
  if (exchanged != 0) {
    return exchanged;
  }
  const int failed = doomed.remove(from.folder, from.stored.name);
  if (failed != 0) {
    (void)backing.rename(from.folder, from.name(), to.folder, to.name(), RENAME_EXCHANGE);
  }
  return failed;
}

int rename_stored(WritableVolume& volume, const Place& from, const Place& to, unsigned flags,
                  DoomedFolder& doomed) {
  const Backing& backing = volume.backing();
  const int error =
      flags == RENAME_NOREPLACE
          ? rename_to_free_name(backing, from.folder, from.name(), to.folder, to.name())
          : backing.rename(from.folder, from.name(), to.folder, to.name(), flags);
  // Some file systems say that a folder is not empty, others that it exists.
  if ((error != ENOTEMPTY && error != EEXIST) || flags != 0) {
    return error;
  }
  if (doomed.descriptor() >= 0) {
    return replace_empty_folder(volume, from, to, doomed, error);
  }
  const bool was_no_folder = doomed.error() == ENOENT || doomed.error() == ENOTDIR;
  return was_no_folder ? error : doomed.error();
}

}  // namespace

int rename(WritableVolume& volume, const Folder& folder, std::string_view name,
           const Folder& to_folder, std::string_view to_name, unsigned flags) {
  const bool leaves_whiteout = (flags & ~unsigned{RENAME_NOREPLACE}) == RENAME_WHITEOUT;
  if (flags != 0 && flags != RENAME_NOREPLACE && flags != RENAME_EXCHANGE && !leaves_whiteout) {
    return EINVAL;
  }
  Result<StoredName> from_stored = folder.stored_name(name);
  Result<StoredName> to_stored = to_folder.stored_name(to_name);
  if (!from_stored || !to_stored) {
    return from_stored ? to_stored.error() : from_stored.error();
  }
  const Place from{folder.descriptor(), std::move(*from_stored)};
  const Place to{to_folder.descriptor(), std::move(*to_stored)};
  DoomedFolder doomed(volume, to.folder, to.stored.name);
  if (const int error = doomed.lock_with({from.folder, to.folder}); error != 0) {
    return error;
  }
  const Backing& backing = volume.backing();
  if (const Result<struct stat> source = backing.status(from.folder, from.name()); !source) {
    return source.error();
  }
  LongNameFile to_long_name(volume, to.folder, to.stored);
  if (const int error = to_long_name.make(); error != 0) {
    return error;
  }
  // What is moved may have been on disk for long. It must not come to depend on an IV or a long
  // name that is not.
  if (from.folder != to.folder || !to.stored.encoded.empty() || flags == RENAME_EXCHANGE) {
    if (const int error = volume.unsynced().sync(); error != 0) {
      return to_long_name.undo(error);
    }
  }
  if (const int error = rename_stored(volume, from, to, flags, doomed); error != 0) {
    return to_long_name.undo(error);
  }
  if (!from.stored.encoded.empty() && flags != RENAME_EXCHANGE) {
    // Two names of one file stay as they are, and so does a name that is renamed to itself.
    const Result<struct stat> left = backing.status(from.folder, from.name());
    if (!left && left.error() == ENOENT) {
      LongNameFile(volume, from.folder, from.stored).remove();
    }
  }
  return 0;
}

int remove_file(WritableVolume& volume, const Folder& folder, std::string_view name) {
  const Result<StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  const auto locks = volume.lock_folders({folder.descriptor()});
  const int error = volume.backing().remove(folder.descriptor(), stored->name.c_str(), false);
  if (error == 0) {
    LongNameFile(volume, folder.descriptor(), *stored).remove();
  }
  return error;
}

int remove_folder(WritableVolume& volume, const Folder& folder, std::string_view name) {
  const Result<StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  DoomedFolder doomed(volume, folder.descriptor(), stored->name);
  if (const int error = doomed.lock_with({folder.descriptor()}); error != 0) {
    return error;
  }
  if (doomed.error() != 0) {
    return doomed.error();
  }
  const int error = doomed.remove(folder.descriptor(), stored->name);
  if (error == 0) {
    LongNameFile(volume, folder.descriptor(), *stored).remove();
  }
  return error;
}

}  // namespace paes::volume
