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

// Calls `call`, whose answer is below 0 if it fails, until no signal interrupts it.
template <typename Call>
auto called(const Call& call) noexcept -> Result<decltype(call())> {
  auto answer = call();
  while (answer < 0 && errno == EINTR) {
    answer = call();
  }
  return answer < 0 ? Errno(errno) : Result<decltype(call())>(answer);
}
// Whether a call has done what it has no other answer to.
template <typename Call>
Result<void> done(const Call& call) noexcept {
  return Result<void>(called(call));
}

// Without /proc the path of a descriptor leads nowhere.
Result<void> unless_absent(Result<void> called) noexcept {
  return called.failed_with(ENOENT) ? Errno(EOPNOTSUPP) : called;
}

bool is_one_of(int file, std::initializer_list<std::uint32_t> kinds) noexcept {
  struct statfs status = {};
  return fstatfs(file, &status) == 0 &&
         std::find(kinds.begin(), kinds.end(), static_cast<std::uint32_t>(status.f_type)) !=
             kinds.end();
}

// Where the system does not have the call yet, ENOSYS.
Result<void> set_mode_by_new_call(int place, mode_t mode) noexcept {
#ifdef SYS_fchmodat2
  constexpr long number = SYS_fchmodat2;
#else
  constexpr long number = 452;  // Linux 6.6, on the processors that paes is built for
#endif
  return done([&] { return syscall(number, place, "", mode, AT_EMPTY_PATH); });
}

// For a descriptor that is a mere place (O_PATH), by which no call before Linux 6.6 sets a mode.
// Its path in /proc does, if that is mounted.
Result<void> set_mode_of_place(int place, mode_t mode) noexcept {
  struct stat status = {};
  if (fstatat(place, "", &status, AT_EMPTY_PATH) != 0) {
    return Errno(errno);
  }
  if (S_ISLNK(status.st_mode)) {
    return Errno(EOPNOTSUPP);
  }
  const std::string path = path_of_descriptor(place);
  Result<void> set = done([&] { return chmod(path.c_str(), mode); });
  if (set.failed_with(ENOENT)) {
    set = set_mode_by_new_call(place, mode);
  }
  return set.failed_with(ENOSYS) ? Errno(EOPNOTSUPP) : set;
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
  const Result<int> number = called([&] {
    return openat(folder, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  });
  return number ? Result<Descriptor>(Descriptor(*number)) : number.error();
}

Result<std::size_t> Backing::write(int file, std::uint64_t offset, Bytes from) const {
  const Result<ssize_t> bytes =
      called([&] { return pwrite(file, from.data(), from.size(), static_cast<off_t>(offset)); });
  return bytes ? Result<std::size_t>(static_cast<std::size_t>(*bytes)) : bytes.error();
}

Result<void> Backing::set_length(int file, std::uint64_t bytes) const {
  return done([&] { return ftruncate(file, static_cast<off_t>(bytes)); });
}

Result<void> Backing::allocate(int file, int mode, std::uint64_t offset,
                               std::uint64_t bytes) const {
  return done(
      [&] { return fallocate(file, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes)); });
}

Result<void> Backing::sync(int file, bool data_only) const {
  return done([&] { return data_only ? fdatasync(file) : fsync(file); });
}

Result<void> Backing::sync_file_system(int file) const {
  return done([&] { return syncfs(file); });
}

Result<void> Backing::make_folder(int folder, const char* name, mode_t mode) const {
  return done([&] { return mkdirat(folder, name, mode); });
}

Result<void> Backing::make_node(int folder, const char* name, mode_t mode, dev_t device) const {
  return done([&] { return mknodat(folder, name, mode, device); });
}

Result<void> Backing::make_link(int folder, const char* name, const char* target) const {
  return done([&] { return symlinkat(target, folder, name); });
}

Result<void> Backing::add_name(int folder, const char* name, int to_folder,
                               const char* to_name) const {
  if (*name != '\0') {
    return done([&] { return linkat(folder, name, to_folder, to_name, 0); });
  }
  // AT_EMPTY_PATH takes a capability. The path in /proc does not, but may not be there.
  const std::string path = path_of_descriptor(folder);
  const Result<void> added =
      done([&] { return linkat(AT_FDCWD, path.c_str(), to_folder, to_name, AT_SYMLINK_FOLLOW); });
  return added.failed_with(ENOENT)
             ? done([&] { return linkat(folder, "", to_folder, to_name, AT_EMPTY_PATH); })
             : added;
}

Result<void> Backing::rename(int folder, const char* name, int to_folder, const char* to_name,
                             unsigned flags) const {
  return done([&] { return renameat2(folder, name, to_folder, to_name, flags); });
}

Result<void> Backing::remove(int folder, const char* name, bool is_folder) const {
  return done([&] { return unlinkat(folder, name, is_folder ? AT_REMOVEDIR : 0); });
}

Result<void> Backing::set_mode(int folder, const char* name, mode_t mode) const {
  // Before Linux 6.6 the system has no call that leaves a symbolic link alone and takes a name.
  Descriptor place(folder, false);
  if (*name != '\0') {
    Result<Descriptor> opened = open(folder, name, O_PATH);
    if (!opened) {
      return opened.error();
    }
    place = std::move(*opened);
  }
  const Result<void> set = done([&] { return fchmod(place.number(), mode); });
  return set.failed_with(EBADF) ? set_mode_of_place(place.number(), mode) : set;
}

Result<void> Backing::set_owner(int folder, const char* name, uid_t user, gid_t group) const {
  return done(
      [&] { return fchownat(folder, name, user, group, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH); });
}

Result<void> Backing::set_times(int folder, const char* name,
                                const struct timespec (&times)[2]) const {
  if (*name != '\0') {
    return done([&] { return utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW); });
  }
  const Result<void> set = done([&] { return utimensat(folder, "", times, AT_EMPTY_PATH); });
  if (!set.failed_with(EINVAL)) {
    return set;
  }
  const std::string path = path_of_descriptor(folder);  // before Linux 5.8
  return unless_absent(done([&] { return utimensat(AT_FDCWD, path.c_str(), times, 0); }));
}

Result<void> Backing::set_attribute(int file, const char* name, Bytes value, int flags) const {
  const Result<void> set =
      done([&] { return fsetxattr(file, name, value.data(), value.size(), flags); });
  if (!set.failed_with(EBADF)) {
    return set;
  }
  const std::string path = path_of_descriptor(file);
  return unless_absent(
      done([&] { return setxattr(path.c_str(), name, value.data(), value.size(), flags); }));
}

Result<void> Backing::remove_attribute(int file, const char* name) const {
  const Result<void> removed = done([&] { return fremovexattr(file, name); });
  if (!removed.failed_with(EBADF)) {
    return removed;
  }
  const std::string path = path_of_descriptor(file);
  return unless_absent(done([&] { return removexattr(path.c_str(), name); }));
}

}  // namespace paes::volume
