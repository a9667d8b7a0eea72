// SPDX-License-Identifier: Apache-2.0
#include "stream/file/file_place.hpp"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/folder.hpp"

namespace paes::stream {

namespace {

// Opens a folder, which the user may be allowed to list or not.
template <typename Open>
Descriptor open_listed_or_not(const Open& open) {
  Descriptor folder(open(O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() && errno == EACCES) {
    folder = Descriptor(open(O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return folder;
}

// A name at a time, where the system cannot do it at once.
Descriptor open_by_hand(int base, const std::string& path) {
  Descriptor at;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const int from = at.is_open() ? at.number() : base;
    Descriptor next = open_listed_or_not(
        [&](int flags) { return openat(from, name.c_str(), flags | O_NOFOLLOW); });
    if (!next.is_open()) {
      return next;
    }
    at = std::move(next);
    begin = end + 1;
  }
  return at;
}

// `path` is shorter than PATH_MAX.
Descriptor open_beneath(int base, const std::string& path) {
  Descriptor folder = open_listed_or_not([&](int flags) {
    struct open_how how = {};
    how.flags = static_cast<decltype(how.flags)>(flags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return static_cast<int>(syscall(SYS_openat2, base, path.c_str(), &how, sizeof how));
  });
  // Old systems lack it, filters of system calls refuse it, and a busy system may ask to try again.
  if (!folder.is_open() && (errno == ENOSYS || errno == EPERM || errno == EAGAIN)) {
    folder = open_by_hand(base, path);
  }
  return folder;
}

}  // namespace

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string FilePlace::name() const { return has_folder() ? last_name(path) : path; }

int FilePlace::lstat(struct stat& status) const noexcept {
  const char* const text = path.c_str();
  return fstatat(folder, has_folder() ? text + path.rfind('/') + 1 : text, &status,
                 AT_SYMLINK_NOFOLLOW);
}

void Tree::open() {
  if (!is_open()) {
    folder_ = paes::open_folder(top_);
    if (!is_open()) {
      throw_errno(top_);
    }
  }
}

std::string Tree::path_of(const std::string& below) const {
  return top_.ends_with('/') ? top_ + below : top_ + "/" + below;
}

Descriptor Tree::open_folder(const std::string& below) const {
  if (!is_open()) {
    errno = ENOENT;
    return {};
  }
  if (below.empty()) {
    return paes::open_folder(".", folder_.number());
  }
  Descriptor at;
  std::size_t begin = 0;
  while (begin < below.size()) {
    std::size_t end = below.size();
    if (end - begin >= PATH_MAX) {
      end = below.rfind('/', begin + PATH_MAX - 1);
    }
    Descriptor next = open_beneath(at.is_open() ? at.number() : folder_.number(),
                                   below.substr(begin, end - begin));
    if (!next.is_open()) {
      return next;
    }
    at = std::move(next);
    begin = end + 1;
  }
  return at;
}

OpenFolder Tree::folder(const std::string& below) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_folder_ != nullptr && last_below_ == below) {
      return last_folder_;
    }
  }
  Descriptor opened = open_folder(below);
  if (!opened.is_open()) {
    return nullptr;
  }
  auto folder = std::make_shared<const Descriptor>(std::move(opened));
  const std::lock_guard lock(mutex_);
  last_below_ = below;
  last_folder_ = folder;
  return folder;
}

std::string TreePlace::folder_of(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash < begin ? "" : path.substr(begin, slash - begin);
}

int TreePlace::lstat(const std::string& path, struct stat& status) const {
  if (tree == nullptr) {
    return FilePlace(path).lstat(status);
  }
  const OpenFolder folder = tree->folder(folder_of(path));
  return folder != nullptr ? FilePlace(path, folder).lstat(status) : -1;
}

OpenFolder TreePlace::folder(const std::string& path) const {
  if (tree == nullptr) {
    return nullptr;
  }
  OpenFolder folder = tree->folder(folder_of(path));
  if (folder == nullptr) {
    throw_errno(path);
  }
  return folder;
}

}  // namespace paes::stream
