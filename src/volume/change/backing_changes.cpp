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
#include "volume/read/system_calls.hpp"

namespace paes::volume {

namespace {

// Without /proc the path of a descriptor leads nowhere.
Result<void> unless_absent(Result<void> called) noexcept {
  return called.failed_with(ENOENT) ? Errno(EOPNOTSUPP) : called;
}

bool is_one_of(FileRef file, std::initializer_list<std::uint32_t> kinds) noexcept {
  struct statfs status = {};
  return fstatfs(file.number(), &status) == 0 &&
         std::find(kinds.begin(), kinds.end(), static_cast<std::uint32_t>(status.f_type)) !=
             kinds.end();
}

// Where the system does not have the call yet, ENOSYS.
Result<void> set_mode_by_new_call(FileRef place, mode_t mode) noexcept {
#ifdef SYS_fchmodat2
  constexpr long number = SYS_fchmodat2;
#else
  constexpr long number = 452;  // Linux 6.6, on the processors that paes is built for
#endif
  return try_to([&] { return syscall(number, place.number(), "", mode, AT_EMPTY_PATH); });
}

// For a descriptor that is a mere place (O_PATH), by which no call before Linux 6.6 sets a mode.
// Its path in /proc does, if that is mounted.
Result<void> set_mode_of_place(FileRef place, mode_t mode) noexcept {
  struct stat status = {};
  if (fstatat(place.number(), "", &status, AT_EMPTY_PATH) != 0) {
    return Errno(errno);
  }
  if (S_ISLNK(status.st_mode)) {
    return Errno(EOPNOTSUPP);
  }
  const std::string path = path_of_descriptor(place.number());
  Result<void> set = try_to([&] { return chmod(path.c_str(), mode); });
  if (set.failed_with(ENOENT)) {
    set = set_mode_by_new_call(place, mode);
  }
  return set.failed_with(ENOSYS) ? Errno(EOPNOTSUPP) : set;
}

}  // namespace

bool Backing::overwrites_in_place(FileRef file) const {
  return is_one_of(file, {EXT4_SUPER_MAGIC, TMPFS_MAGIC});
}

bool Backing::reports_sync_errors(FileRef file) const {
  return syncfs_reports_errors(file.number());
}

bool Backing::removes_open_files(FileRef file) const {
  return is_one_of(file, {EXT4_SUPER_MAGIC, TMPFS_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                          F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC});
}

Result<Descriptor> Backing::create(FolderRef folder, const char* name, int flags,
                                   mode_t mode) const {
  return try_open([&] {
    return openat(folder.number(), name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  });
}

Result<std::size_t> Backing::write(FileRef file, std::uint64_t offset, Bytes from) const {
  const Result<ssize_t> bytes = try_call(
      [&] { return pwrite(file.number(), from.data(), from.size(), static_cast<off_t>(offset)); });
  return bytes ? Result<std::size_t>(static_cast<std::size_t>(*bytes)) : bytes.error();
}

Result<void> Backing::set_length(FileRef file, std::uint64_t bytes) const {
  return try_to([&] { return ftruncate(file.number(), static_cast<off_t>(bytes)); });
}

Result<void> Backing::allocate(FileRef file, int mode, std::uint64_t offset,
                               std::uint64_t bytes) const {
  return try_to([&] {
    return fallocate(file.number(), mode, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  });
}

Result<void> Backing::sync(FileRef file, bool data_only) const {
  return try_to([&] { return data_only ? fdatasync(file.number()) : fsync(file.number()); });
}

Result<void> Backing::sync_file_system(FileRef file) const {
  return try_to([&] { return syncfs(file.number()); });
}

Result<void> Backing::make_folder(FolderRef folder, const char* name, mode_t mode) const {
  return try_to([&] { return mkdirat(folder.number(), name, mode); });
}

Result<void> Backing::make_node(FolderRef folder, const char* name, mode_t mode,
                                dev_t device) const {
  return try_to([&] { return mknodat(folder.number(), name, mode, device); });
}

Result<void> Backing::make_link(FolderRef folder, const char* name, const char* target) const {
  return try_to([&] { return symlinkat(target, folder.number(), name); });
}

Result<void> Backing::add_name(EntryRef entry, FolderRef to_folder, const char* to_name) const {
  const int to = to_folder.number();
  if (!entry.is_open()) {
    return try_to([&] { return linkat(entry.base(), entry.name(), to, to_name, 0); });
  }
  // AT_EMPTY_PATH takes a capability. The path in /proc does not, but may not be there.
  const std::string path = path_of_descriptor(entry.base());
  const Result<void> added =
      try_to([&] { return linkat(AT_FDCWD, path.c_str(), to, to_name, AT_SYMLINK_FOLLOW); });
  return added.failed_with(ENOENT)
             ? try_to([&] { return linkat(entry.base(), "", to, to_name, AT_EMPTY_PATH); })
             : added;
}

Result<void> Backing::rename(FolderRef folder, const char* name, FolderRef to_folder,
                             const char* to_name, unsigned flags) const {
  return try_to(
      [&] { return renameat2(folder.number(), name, to_folder.number(), to_name, flags); });
}

Result<void> Backing::remove(FolderRef folder, const char* name, bool is_folder) const {
  return try_to([&] { return unlinkat(folder.number(), name, is_folder ? AT_REMOVEDIR : 0); });
}

Result<void> Backing::set_mode(EntryRef entry, mode_t mode) const {
  // Before Linux 6.6 the system has no call that leaves a symbolic link alone and takes a name.
  Descriptor place(entry.base(), false);
  if (!entry.is_open()) {
    Result<Descriptor> opened = open(FolderRef(entry.base()), entry.name(), O_PATH);
    if (!opened) {
      return opened.error();
    }
    place = std::move(*opened);
  }
  const Result<void> set = try_to([&] { return fchmod(place.number(), mode); });
  return set.failed_with(EBADF) ? set_mode_of_place(place, mode) : set;
}

Result<void> Backing::set_owner(EntryRef entry, uid_t user, gid_t group) const {
  return try_to([&] {
    return fchownat(entry.base(), entry.name(), user, group, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
  });
}

Result<void> Backing::set_times(EntryRef entry, const struct timespec (&times)[2]) const {
  if (!entry.is_open()) {
    return try_to(
        [&] { return utimensat(entry.base(), entry.name(), times, AT_SYMLINK_NOFOLLOW); });
  }
  const Result<void> set =
      try_to([&] { return utimensat(entry.base(), "", times, AT_EMPTY_PATH); });
  if (!set.failed_with(EINVAL)) {
    return set;
  }
  const std::string path = path_of_descriptor(entry.base());  // before Linux 5.8
  return unless_absent(try_to([&] { return utimensat(AT_FDCWD, path.c_str(), times, 0); }));
}

Result<void> Backing::set_attribute(FileRef file, const char* name, Bytes value, int flags) const {
  const Result<void> set =
      try_to([&] { return fsetxattr(file.number(), name, value.data(), value.size(), flags); });
  if (!set.failed_with(EBADF)) {
    return set;
  }
  const std::string path = path_of_descriptor(file.number());
  return unless_absent(
      try_to([&] { return setxattr(path.c_str(), name, value.data(), value.size(), flags); }));
}

Result<void> Backing::remove_attribute(FileRef file, const char* name) const {
  const Result<void> removed = try_to([&] { return fremovexattr(file.number(), name); });
  if (!removed.failed_with(EBADF)) {
    return removed;
  }
  const std::string path = path_of_descriptor(file.number());
  return unless_absent(try_to([&] { return removexattr(path.c_str(), name); }));
}

}  // namespace paes::volume
