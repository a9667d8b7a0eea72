// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/mountpoint.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "cli/mount_table.hpp"
#include "core/file_ref.hpp"
#include "paes/error.hpp"

namespace paes::mount {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why,
                       const std::string& hint = {}) {
  throw Error(ErrorCode::failure, path + ": " + why, hint);
}

// The end of a mount that was not unmounted: its process was killed, say.
[[noreturn]] void fail_as_abandoned(const std::string& path) {
  fail(path, "something was mounted there, and its process is gone",
       "unmount it with `fusermount3 -u " + path + "`, or as root with `umount " + path + "`");
}

std::string real_folder(const std::string& path) {
  refuse_zero_byte(path);
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  struct stat status = {};
  struct statvfs statistics = {};  // which the system never remembers, unlike the status
  if (real == nullptr || stat(real.get(), &status) != 0 || statvfs(real.get(), &statistics) != 0) {
    if (errno == ENOTCONN || errno == ECONNABORTED) {  // the latter just after its end
      fail_as_abandoned(path);
    }
    throw_errno(path);
  }
  if (!S_ISDIR(status.st_mode)) {
    fail(path, "is not a folder");
  }
  return real.get();
}

void check_empty(const std::string& path, FolderRef place) {
  const int list = openat(place.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(list < 0 ? nullptr : fdopendir(list), &closedir);
  if (folder == nullptr) {
    throw_errno(path);
  }
  while (const dirent* entry = readdir(folder.get())) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) {
      fail(path, "is not empty, and the mount would hide what is in it",
           "choose an empty folder, or mount with -o nonempty");
    }
  }
}

void check_may_mount() {
  const Descriptor device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device.is_open()) {
    return;
  }
  const int error = errno;
  if (error == ENOENT || error == ENODEV || error == ENXIO) {
    fail("/dev/fuse", "this system has no FUSE", "as root, try `modprobe fuse`");
  }
  // fusermount3 opens it for users who may mount and may not open it, but then there is one channel
  // alone.
  if (geteuid() == 0) {
    errno = error;
    throw_errno("/dev/fuse");
  }
}

}  // namespace

MountPaths check_paths(const std::string& vault, const std::string& mountpoint,
                       bool may_have_files) {
  MountPaths paths{real_folder(vault), real_folder(mountpoint), {}};
  if (cli::lies_within(paths.mountpoint, paths.vault)) {
    fail(mountpoint, "lies in the vault itself");
  }
  if (cli::lies_within(paths.vault, paths.mountpoint)) {
    fail(mountpoint, "contains the vault, which the mount would hide");
  }
  constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  paths.place = Descriptor(open(paths.mountpoint.c_str(), flags));
  if (!paths.place.is_open()) {
    throw_errno(paths.mountpoint);
  }
  if (!may_have_files) {
    check_empty(paths.mountpoint, FolderRef(paths.place));
  }
  check_may_mount();
  return paths;
}

void check_may_allow_others() {
  if (geteuid() == 0) {
    return;
  }
  std::ifstream file("/etc/fuse.conf");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos &&
        std::string_view(line).substr(first).starts_with("user_allow_other")) {
      return;
    }
  }
  fail("allow_other", "only root may mount for other users here",
       "root can allow it to all users with a line 'user_allow_other' in /etc/fuse.conf");
}

void check_may_allow(bool is_wanted, const char* option) {
  if (is_wanted && geteuid() != 0) {
    fail(std::string("-o ") + option, "only root may mount with it");
  }
}

}  // namespace paes::mount
