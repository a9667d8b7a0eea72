// Committing an output: a complete file is synced and gets its permissions and its own name, by a
// link or rename that cannot replace another file. Each way has one to fall back on for file
// systems that lack it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "paes/error.hpp"
#include "stream/files.hpp"
#include "stream/resumable_files.hpp"
#include "stream/temporary.hpp"

namespace paes::stream {

void Output::commit(std::uint64_t bytes) {
  check(options_.cancel);
  if (seekable_ && ftruncate(number(), static_cast<off_t>(start_ + bytes)) != 0) {
    fail_to_write();
  }
  if (kind_ == Kind::direct || kind_ == Kind::standard_file) {
    if (is_storage_) {
      sync_written(number(), name_);
    }
    if (kind_ == Kind::standard_file) {
      // Whoever shares the descriptor continues after us.
      (void)lseek(number(), static_cast<off_t>(start_ + bytes), SEEK_SET);
    }
  } else {
    // Synced before it is anybody else's to read: that takes long, and a kill leaves the file.
    if (fsync(number()) != 0) {
      fail_to_write();
    }
    if (resumable_ != nullptr) {
      temporary_ = resumable_->partial_file();
    }
    try {
      set_permissions();
      place();
      has_its_name_ = true;
    } catch (const Error&) {
      if (resumable_ != nullptr) {
        resumable_->protect();
      }
      throw;
    }
    sync_name();
  }
  finished_ = true;
}

// The file is there by now, complete and for all to see: where its name may not outlast a crash,
// the error says so.
void Output::sync_name() {
  const int error = sync_folder(folder_.number(), number());
  if (resumable_ != nullptr) {
    resumable_->finish();
  }
  if (error == 0) {
    return;
  }
  if (options_.must_last) {
    (void)unlinkat(folder_.number(), file_.c_str(), 0);
    has_its_name_ = false;
  }
  errno = error;
  throw_errno(name_ + (options_.must_last
                           ? ": removed again, because its folder could not be synced"
                           : ": complete, but its folder could not be synced"));
}

// A file system without permission bits (FAT, some of FUSE) refuses to set them, which is no reason
// to lose what was written. It matters where others can do more with the file than they should.
void Output::set_permissions() {
  const mode_t wanted = options_.permissions & 0777;
  if (fchmod(number(), wanted) == 0) {
    return;
  }
  const int error = errno;
  struct stat status = {};
  if ((error != EPERM && error != EOPNOTSUPP && error != ENOSYS) || fstat(number(), &status) != 0) {
    errno = error;
    throw_errno(name_);
  }
  constexpr mode_t of_others = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  if ((status.st_mode & ~wanted & of_others) != 0) {
    warning_ = name_ +
               ": other users have more access than they should, for its permissions "
               "could not be set: " +
               std::strerror(error);
  }
}

// Gives the finished file its name: as one step, and never over a file that is there unless asked.
void Output::place() {
  const int folder = folder_.number();
  if (kind_ == Kind::unnamed) {
    if (link_unnamed(file_)) {
      return;
    }
    if (errno != EEXIST || !options_.overwrite) {
      fail_to_place();
    }
    // A link cannot replace what is there, but a rename can, and needs a name for that.
    const std::string name = new_temporary_name();
    if (!link_unnamed(name)) {
      fail_to_place();
    }
    temporary_ = name;
  }
  if (options_.overwrite) {
    rename_temporary();
    return;
  }
  if (!options_.avoid_noreplace) {
    if (renameat2(folder, temporary_.c_str(), folder, file_.c_str(), RENAME_NOREPLACE) == 0) {
      temporary_.clear();
      return;
    }
    if (errno != EINVAL && errno != ENOSYS) {
      fail_to_place();
    }
  }
  if (!options_.avoid_link) {
    if (linkat(folder, temporary_.c_str(), folder, file_.c_str(), 0) == 0) {
      (void)unlinkat(folder, temporary_.c_str(), 0);
      temporary_.clear();
      return;
    }
    if (errno == EEXIST) {
      fail_to_place();
    }
  }
  // A file system without either: an empty file of our own holds the name until the rename.
  const Descriptor holder(
      openat(folder, file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!holder.is_open()) {
    fail_to_place();
  }
  try {
    rename_temporary();
  } catch (...) {
    (void)unlinkat(folder, file_.c_str(), 0);
    throw;
  }
}

bool Output::link_unnamed(const std::string& name) const {
  return linkat(AT_FDCWD, path_of_descriptor(descriptor_.number()).c_str(), folder_.number(),
                name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void Output::rename_temporary() {
  if (renameat(folder_.number(), temporary_.c_str(), folder_.number(), file_.c_str()) != 0) {
    throw_errno(name_);
  }
  temporary_.clear();
}

void Output::fail_to_place() const {
  if (errno == EEXIST) {
    throw_exists();
  }
  throw_errno(name_);
}

}  // namespace paes::stream
