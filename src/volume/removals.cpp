// Names in a volume are moved and removed (changes.hpp).
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <vector>

#include "volume/changes.hpp"
#include "volume/own_files.hpp"

namespace paes::volume {

namespace {

constexpr mode_t changeable = S_IRWXU;

// A folder of the backing tree that is to be removed, open to be looked into.
class DoomedFolder {
 public:
  DoomedFolder(WritableVolume& volume, int parent, const std::string& name)
      : volume_(volume), parent_(parent), name_(name) {}

  // 0 or an errno: ENOTDIR if it is no folder. May be called again.
  [[nodiscard]] int open() {
    Result<Descriptor> content =
        volume_.backing().open(parent_, name_.c_str(), O_PATH | O_DIRECTORY);
    content_ = content ? std::move(*content) : Descriptor();
    return content.error();
  }
  // Whether the name still has what open() found. Another thread may have renamed something before
  // the caller had locked the parent.
  [[nodiscard]] Result<bool> is_still_there() const {
    const Result<struct stat> named = volume_.backing().status(parent_, name_.c_str());
    if (!named) {
      return named.error() == ENOENT ? Result<bool>(false) : Failure{named.error()};
    }
    const Result<struct stat> opened = volume_.backing().status(descriptor(), "");
    if (!opened) {
      return Failure{opened.error()};
    }
    return named->st_dev == opened->st_dev && named->st_ino == opened->st_ino;
  }
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
  WritableVolume& volume_;
  int parent_;
  const std::string& name_;
  Descriptor content_;
};

// One place of a rename.
struct Place {
  int folder;
  StoredName stored;

  [[nodiscard]] const char* name() const noexcept { return stored.name.c_str(); }
};

// As renameat2 for file systems that know no flags. The folders are locked.
int rename_without_flags(const Backing& backing, const Place& from, const Place& to,
                         unsigned flags) {
  if (flags == RENAME_EXCHANGE) {
    return EINVAL;
  }
  const Result<struct stat> status = backing.status(to.folder, to.name());
  if (status || status.error() != ENOENT) {
    return status ? EEXIST : status.error();
  }
  return backing.rename(from.folder, from.name(), to.folder, to.name(), 0);
}

// A folder that has only its IV takes the place of another: the system does not know that the other
// is empty.
int replace_empty_folder(WritableVolume& volume, const Place& from, const Place& to,
                         DoomedFolder& doomed, int error) {
  const Backing& backing = volume.backing();
  const Result<struct stat> source = backing.status(from.folder, from.name());
  if (!source || !S_ISDIR(source->st_mode)) {
    return error;
  }
  if (const int failed = check_empty(volume.volume(), doomed.descriptor());
      failed != 0 && failed != EACCES) {
    return failed;
  }
  if (const int failed =
          backing.rename(from.folder, from.name(), to.folder, to.name(), RENAME_EXCHANGE);
      failed != 0) {
    return failed;
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
  const int error = backing.rename(from.folder, from.name(), to.folder, to.name(), flags);
  if (error == EINVAL && flags != 0) {
    return rename_without_flags(backing, from, to, flags);
  }
  // Some file systems say that a folder is not empty, others that it exists.
  if ((error == ENOTEMPTY || error == EEXIST) && flags == 0 && doomed.descriptor() >= 0) {
    return replace_empty_folder(volume, from, to, doomed, error);
  }
  return error;
}

}  // namespace

int rename(WritableVolume& volume, const Folder& folder, std::string_view name,
           const Folder& to_folder, std::string_view to_name, unsigned flags) {
  if (flags != 0 && flags != RENAME_NOREPLACE && flags != RENAME_EXCHANGE) {
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
  std::vector<std::unique_lock<std::mutex>> locks;
  for (;;) {
    const bool is_folder = doomed.open() == 0;
    locks =
        volume.lock_folders({from.folder, to.folder, is_folder ? doomed.descriptor() : to.folder});
    if (!is_folder) {
      break;
    }
    const Result<bool> is_still_there = doomed.is_still_there();
    if (!is_still_there) {
      return is_still_there.error();
    }
    if (*is_still_there) {
      break;
    }
    locks.clear();
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
  std::vector<std::unique_lock<std::mutex>> locks;
  for (;;) {
    if (const int error = doomed.open(); error != 0) {
      return error;
    }
    locks = volume.lock_folders({folder.descriptor(), doomed.descriptor()});
    const Result<bool> is_still_there = doomed.is_still_there();
    if (!is_still_there) {
      return is_still_there.error();
    }
    if (*is_still_there) {
      break;
    }
    locks.clear();
  }
  const int error = doomed.remove(folder.descriptor(), stored->name);
  if (error == 0) {
    LongNameFile(volume, folder.descriptor(), *stored).remove();
  }
  return error;
}

}  // namespace paes::volume
