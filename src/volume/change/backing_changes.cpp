// SPDX-License-Identifier: Apache-2.0
// The calls of Backing that change the tree.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "core/syncfs.hpp"
#include "volume/read/backing.hpp"

namespace paes::volume {

namespace {

// 0 or the errno of `call`, which no signal interrupts.
template <typename Call>
int error_of(const Call& call) noexcept {
  while (call() != 0) {
    if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// Without /proc the path of a descriptor leads nowhere.
int unless_absent(int error) noexcept { return error == ENOENT ? EOPNOTSUPP : error; }

bool is_one_of(int file, std::initializer_list<std::uint32_t> kinds) noexcept {
  struct statfs status = {};
  return fstatfs(file, &status) == 0 &&
         std::find(kinds.begin(), kinds.end(), static_cast<std::uint32_t>(status.f_type)) !=
             kinds.end();
}

// Where the system does not have the call yet, ENOSYS.
int set_mode_by_new_call(int place, mode_t mode) noexcept {
#ifdef SYS_fchmodat2
  constexpr long number = SYS_fchmodat2;
#else
  constexpr long number = 452;  // Linux 6.6, on the processors that paes is built for
#endif
  return error_of(
      [&] { return static_cast<int>(syscall(number, place, "", mode, AT_EMPTY_PATH)); });
}

// For a descriptor that is a mere place (O_PATH), by which no call before Linux 6.6 sets a mode.
// Its path in /proc does, if that is mounted.
int set_mode_of_place(int place, mode_t mode) noexcept {
  struct stat status = {};
  if (fstatat(place, "", &status, AT_EMPTY_PATH) != 0) {
    return errno;
  }
  if (S_ISLNK(status.st_mode)) {
    return EOPNOTSUPP;
  }
  const std::string path = path_of_descriptor(place);
  int error = error_of([&] { return chmod(path.c_str(), mode); });
  if (error == ENOENT) {
    error = set_mode_by_new_call(place, mode);
  }
  return error == ENOSYS ? EOPNOTSUPP : error;
}

}  // namespace

bool Backing::overwrites_in_place(int file) const {
  return is_one_of(file, {EXT4_SUPER_MAGIC, TMPFS_MAGIC});
}

bool Backing::reports_sync_errors(int file) const { return syncfs_reports_errors(file); }

bool Backing::removes_open_files(int file) const {
  return is_one_of(file, {EXT4_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                          F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC});
}

Result<Descriptor> Backing::create(int folder, const char* name, int flags, mode_t mode) const {
  int number = -1;
  const int error = error_of([&] {
    number = openat(folder, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    return number < 0 ? -1 : 0;
  });
  if (error != 0) {
    return Failure{error};
  }
  return Descriptor(number);
}

Result<std::size_t> Backing::write(int file, std::uint64_t offset, Bytes from) const {
  ssize_t bytes = -1;
  const int error = error_of([&] {
    bytes = pwrite(file, from.data(), from.size(), static_cast<off_t>(offset));
    return bytes < 0 ? -1 : 0;
  });
  if (error != 0) {
    return Failure{error};
  }
  return static_cast<std::size_t>(bytes);
}

int Backing::set_length(int file, std::uint64_t bytes) const {
  return error_of([&] { return ftruncate(file, static_cast<off_t>(bytes)); });
}

int Backing::allocate(int file, int mode, std::uint64_t offset, std::uint64_t bytes) const {
  return error_of(
      [&] { return fallocate(file, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes)); });
}

int Backing::sync(int file, bool data_only) const {
  return error_of([&] { return data_only ? fdatasync(file) : fsync(file); });
}

int Backing::sync_file_system(int file) const {
  return error_of([&] { return syncfs(file); });
}

int Backing::make_folder(int folder, const char* name, mode_t mode) const {
  return error_of([&] { return mkdirat(folder, name, mode); });
}

int Backing::make_node(int folder, const char* name, mode_t mode, dev_t device) const {
  return error_of([&] { return mknodat(folder, name, mode, device); });
}

int Backing::make_link(int folder, const char* name, const char* target) const {
  return error_of([&] { return symlinkat(target, folder, name); });
}

int Backing::add_name(int folder, const char* name, int to_folder, const char* to_name) const {
  if (*name != '\0') {
    return error_of([&] { return linkat(folder, name, to_folder, to_name, 0); });
  }
  // AT_EMPTY_PATH takes a capability. The path in /proc does not, but may not be there.
  const std::string path = path_of_descriptor(folder);
  const int error = error_of(
      [&] { return linkat(AT_FDCWD, path.c_str(), to_folder, to_name, AT_SYMLINK_FOLLOW); });
  return error != ENOENT
             ? error
             : error_of([&] { return linkat(folder, "", to_folder, to_name, AT_EMPTY_PATH); });
}

int Backing::rename(int folder, const char* name, int to_folder, const char* to_name,
                    unsigned flags) const {
  return error_of([&] { return renameat2(folder, name, to_folder, to_name, flags); });
}

int Backing::remove(int folder, const char* name, bool is_folder) const {
  return error_of([&] { return unlinkat(folder, name, is_folder ? AT_REMOVEDIR : 0); });
}

int Backing::set_mode(int folder, const char* name, mode_t mode) const {
  // Before Linux 6.6 the system has no call that leaves a symbolic link alone and takes a name.
  Descriptor place(folder, false);
  if (*name != '\0') {
    Result<Descriptor> opened = open(folder, name, O_PATH);
    if (!opened) {
      return opened.error();
    }
    place = std::move(*opened);
  }
  const int error = error_of([&] { return fchmod(place.number(), mode); });
  return error == EBADF ? set_mode_of_place(place.number(), mode) : error;
}

int Backing::set_owner(int folder, const char* name, uid_t user, gid_t group) const {
  return error_of(
      [&] { return fchownat(folder, name, user, group, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH); });
}

int Backing::set_times(int folder, const char* name, const struct timespec (&times)[2]) const {
  if (*name != '\0') {
    return error_of([&] { return utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW); });
  }
  const int error = error_of([&] { return utimensat(folder, "", times, AT_EMPTY_PATH); });
  if (error != EINVAL) {
    return error;
  }
  const std::string path = path_of_descriptor(folder);  // before Linux 5.8
  return unless_absent(error_of([&] { return utimensat(AT_FDCWD, path.c_str(), times, 0); }));
}

int Backing::set_attribute(int file, const char* name, Bytes value, int flags) const {
  const int error =
      error_of([&] { return fsetxattr(file, name, value.data(), value.size(), flags); });
  if (error != EBADF) {
    return error;
  }
  const std::string path = path_of_descriptor(file);
  return unless_absent(
      error_of([&] { return setxattr(path.c_str(), name, value.data(), value.size(), flags); }));
}

int Backing::remove_attribute(int file, const char* name) const {
  const int error = error_of([&] { return fremovexattr(file, name); });
  if (error != EBADF) {
    return error;
  }
  const std::string path = path_of_descriptor(file);
  return unless_absent(error_of([&] { return removexattr(path.c_str(), name); }));
}

}  // namespace paes::volume
