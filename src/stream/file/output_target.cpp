// SPDX-License-Identifier: Apache-2.0
#include "stream/file/output_target.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <memory>
#include <optional>

#include "core/folder.hpp"
#include "paes/error.hpp"
#include "stream/file/file_system.hpp"
#include "stream/file/input.hpp"

namespace paes::stream {

namespace {

bool is_in_proc(int descriptor) { return file_system_of(descriptor).kind == PROC_SUPER_MAGIC; }

bool is_own_or_roots(const struct stat& status) {
  return status.st_uid == geteuid() || status.st_uid == 0;
}

bool others_can_write(const struct stat& folder) {
  return (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// The folder of this process's own descriptors: what lies in it was handed over open.
bool is_own_descriptors(const struct stat& folder) {
  struct stat own = {};
  return stat("/proc/self/fd", &own) == 0 && identity_of(folder) == identity_of(own);
}

std::string text_of_link(int link, const std::string& name) {
  std::array<char, PATH_MAX> text;
  const ssize_t bytes = readlinkat(link, "", text.data(), text.size());
  if (bytes < 0) {
    throw_errno(name);
  }
  return {text.data(), static_cast<std::size_t>(bytes)};
}

// The rule of Linux's fs.protected_symlinks, applied also in folders without the sticky bit.
void refuse_planted_link(const struct stat& folder, const struct stat& link,
                         const std::string& name) {
  if (others_can_write(folder) && !is_own_or_roots(link) && link.st_uid != folder.st_uid) {
    throw Error(ErrorCode::failure,
                name +
                    ": leads through another user's symbolic link in a folder that others can "
                    "write to",
                "name the file that it leads to");
  }
}

void count_link(unsigned& links, const std::string& name) {
  constexpr unsigned most = 40;  // as many as the system follows
  if (++links > most) {
    errno = ELOOP;
    throw_errno(name);
  }
}

Descriptor open_path(int base, const std::string& path, int flags, const std::string& name) {
  Descriptor opened(openat(base, path.c_str(), O_PATH | O_CLOEXEC | flags));
  if (!opened.is_open()) {
    throw_errno(name);
  }
  return opened;
}

// The folder of that name. Not open if it is none: errno is ENOTDIR, also for a link, or says what
// else failed. With O_DIRECTORY, what is to be mounted there (autofs) gets mounted. Without it,
// O_PATH gives the empty folder below.
Descriptor enter(int base, const std::string& name) {
  return Descriptor(openat(base, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The folder that `path` leads to from `base`, a name at a time.
Descriptor walk(int base, std::string path, unsigned& links, const std::string& name) {
  Descriptor at = open_path(base, path.starts_with('/') ? "/" : ".", O_DIRECTORY, name);
  for (;;) {
    const std::size_t begin = path.find_first_not_of('/');
    if (begin == std::string::npos) {
      return at;
    }
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    path.erase(0, end);
    if (Descriptor folder = enter(at.number(), part); folder.is_open()) {
      at = std::move(folder);
      continue;
    }
    if (errno != ENOTDIR) {
      throw_errno(name);
    }
    const Descriptor entry = open_path(at.number(), part, O_NOFOLLOW, name);
    const struct stat status = status_of(entry.number(), name);
    if (!S_ISLNK(status.st_mode)) {
      errno = ENOTDIR;
      throw_errno(name);
    }
    count_link(links, name);
    refuse_planted_link(status_of(at.number(), name), status, name);
    if (is_in_proc(at.number())) {
      at = open_path(at.number(), part, O_DIRECTORY, name);  // its text may not lead there
      continue;
    }
    const std::string text = text_of_link(entry.number(), name);
    if (text.starts_with('/')) {
      at = open_path(AT_FDCWD, "/", O_DIRECTORY, name);
    }
    path.insert(0, text);
  }
}

// Goes to the folder of `path`, which is relative to the target's present folder.
void enter_folder(Target& target, const std::string& path, unsigned& links,
                  const std::string& name) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const int base = target.folder != nullptr ? target.folder->number() : AT_FDCWD;
  const Descriptor found = walk(base, folder, links, name);
  Descriptor opened = open_folder(".", found.number());
  if (!opened.is_open()) {
    throw_errno(name);
  }
  target.folder = std::make_shared<const Descriptor>(std::move(opened));
  target.in_folder = folder.starts_with('/') ? folder : target.in_folder + folder;
  target.file = path.substr(folder.size());
  if (target.file.empty()) {
    target.file = std::string(1, '.');
  }
}

// Finds the place of a file below a folder that was named. Others may own what lies there.
Target find_in_folder(const FilePlace& place, Links links) {
  const std::string& path = place.path;
  Target target;
  target.folder = place.kept_folder;
  if (target.folder == nullptr) {
    Descriptor own(fcntl(place.folder, F_DUPFD_CLOEXEC, 0));
    if (!own.is_open()) {
      throw_errno(path);
    }
    target.folder = std::make_shared<const Descriptor>(std::move(own));
  }
  target.file = place.name();
  target.in_folder = path.substr(0, path.size() - target.file.size());
  target.is_private = false;
  target.found =
      Descriptor(openat(place.folder, target.file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!target.found.is_open()) {
    if (errno != ENOENT) {
      throw_errno(path);
    }
    return target;
  }
  target.status = status_of(target.found.number(), path);
  if (S_ISLNK(target.status.st_mode) && links == Links::followed) {
    throw Error(ErrorCode::failure,
                path + ": is a symbolic link, which is not followed below a folder",
                "move it away, or name the file that it leads to");
  }
  return target;
}

}  // namespace

bool Target::is_among_devices() const {
  // Asked once: nobody mounts another /dev while a program writes its outputs.
  struct Devices {
    struct stat folder = {};
    struct stat root = {};
    bool are_known = stat("/dev", &folder) == 0 && stat("/", &root) == 0;
  };
  static const Devices devices;
  // Files of one run mostly lie in one folder after another, and on one file system.
  thread_local std::weak_ptr<const Descriptor> ordinary_folder;
  if (ordinary_folder.lock() == folder) {
    return false;
  }
  static std::atomic<dev_t> ordinary{0};
  struct stat here = {};
  const bool is_known = fstat(folder->number(), &here) == 0;
  if (is_known && here.st_dev == ordinary.load(std::memory_order_relaxed)) {
    ordinary_folder = folder;
    return false;
  }
  if (is_in_proc(folder->number())) {
    return true;
  }
  if (!devices.are_known || !is_known) {
    return false;
  }
  if (here.st_dev != devices.folder.st_dev) {
    ordinary.store(here.st_dev, std::memory_order_relaxed);
    return false;
  }
  // /dev is mostly a file system of its own, subfolders included; /dev/shm is another one.
  return devices.folder.st_dev != devices.root.st_dev
             ? here.st_dev == devices.folder.st_dev
             : identity_of(here) == identity_of(devices.folder);
}

Target find_target(const FilePlace& place, Links links) {
  const std::string& path = place.path;
  refuse_zero_byte(path);
  if (place.has_folder()) {
    return find_in_folder(place, links);
  }
  Target target;
  std::optional<FileIdentity> expected;  // behind a descriptor, which may have lost its name
  std::string rest = path;
  for (unsigned followed = 0;;) {
    enter_folder(target, rest, followed, path);
    const int folder = target.folder->number();
    Descriptor entry(openat(folder, target.file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!entry.is_open()) {
      if (errno != ENOENT || expected) {
        throw_errno(path);
      }
      return target;
    }
    const struct stat around = status_of(folder, path);
    target.status = status_of(entry.number(), path);
    target.is_private = is_own_descriptors(around) ||
                        (target.is_private && !is_in_proc(folder) && is_own_or_roots(around) &&
                         !others_can_write(around) && is_own_or_roots(target.status));
    if (!S_ISLNK(target.status.st_mode) || links == Links::kept) {
      if (expected && expected != identity_of(target.status)) {
        errno = ENOENT;
        throw_errno(path);
      }
      target.found = std::move(entry);
      return target;
    }
    target.has_links = true;
    count_link(followed, path);
    refuse_planted_link(around, target.status, path);
    if (is_in_proc(folder)) {
      Descriptor behind(openat(folder, target.file.c_str(), O_PATH | O_CLOEXEC));
      if (!behind.is_open()) {
        throw_errno(path);
      }
      target.status = status_of(behind.number(), path);
      if (!S_ISREG(target.status.st_mode)) {
        target.found = std::move(behind);
        return target;
      }
      expected = identity_of(target.status);
    }
    rest = text_of_link(entry.number(), path);
  }
}

Descriptor open_found(const Target& target, const std::string& path, const Cancel* cancel) {
  // In /proc a descriptor's name is a link. find_target did not read its text, so the system
  // follows it here.
  const int follow = is_in_proc(target.folder->number()) ? 0 : O_NOFOLLOW;
  // Opening a FIFO waits for its reader, and only a signal would end that. So who can be stopped by
  // another thread asks again and again.
  const bool asks_again = cancel != nullptr && S_ISFIFO(target.status.st_mode);
  const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | follow | (asks_again ? O_NONBLOCK : 0);
  Descriptor opened;
  for (;;) {
    check(cancel);
    opened = Descriptor(openat(target.folder->number(), target.file.c_str(), flags));
    if (opened.is_open() || (errno != EINTR && !(asks_again && errno == ENXIO))) {
      break;
    }
    if (errno == ENXIO) {
      constexpr int interval_ms = 20;
      pollfd stop = {cancel->descriptor(), POLLIN, 0};
      (void)poll(&stop, 1, interval_ms);
    }
  }
  if (!opened.is_open()) {
    throw_errno(path);
  }
  const struct stat status = status_of(opened.number(), path);
  if (status.st_dev != target.status.st_dev || status.st_ino != target.status.st_ino) {
    throw Error(ErrorCode::failure, path + ": was replaced while it was being opened");
  }
  return opened;
}

}  // namespace paes::stream
