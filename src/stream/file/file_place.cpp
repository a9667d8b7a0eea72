// SPDX-License-Identifier: Apache-2.0
#include "stream/file/file_place.hpp"

#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <mutex>

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

// `path` may be longer than the system's paths.
Descriptor open_long(int base, const std::string& path) {
  Descriptor at;
  std::size_t begin = 0;
  while (begin < path.size()) {
    std::size_t end = path.size();
    if (end - begin >= PATH_MAX) {
      end = path.rfind('/', begin + PATH_MAX - 1);
    }
    Descriptor next =
        open_beneath(at.is_open() ? at.number() : base, path.substr(begin, end - begin));
    if (!next.is_open()) {
      return next;
    }
    at = std::move(next);
    begin = end + 1;
  }
  return at;
}

// How many folders a tree keeps open: a sixteenth of what the process may have open.
std::size_t most_kept() {
  static const std::size_t most = [] {
    constexpr rlim_t part = 16;
    constexpr rlim_t fewest = 4;
    constexpr rlim_t enough = 512;
    struct rlimit limit = {};
    const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
    return static_cast<std::size_t>(is_known ? std::clamp(limit.rlim_cur / part, fewest, enough)
                                             : fewest);
  }();
  return most;
}

// The end of the path of the folder around the one with that path: 0 if it is the top.
std::size_t end_of_parent(const std::string& below, std::size_t end) noexcept {
  const std::size_t slash = below.rfind('/', end - 1);
  return slash == std::string::npos ? 0 : slash;
}

// Where the way to a folder stops: at the ends of its last names after `from`, the last first.
std::vector<std::size_t> stops_of(const std::string& below, std::size_t from, std::size_t most) {
  std::vector<std::size_t> stops;
  for (std::size_t end = below.size(); end > from && stops.size() < most;
       end = end_of_parent(below, end)) {
    stops.push_back(end);
  }
  return stops;
}

std::mutex kept_mutex;                         // guards what all trees keep, and the next
std::array<const Tree*, 2> trees_that_keep{};  // the one that was used last first

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
    Descriptor folder = paes::open_folder(top_);
    if (!folder.is_open()) {
      throw_errno(top_);
    }
    top_folder_ = std::make_shared<const Descriptor>(std::move(folder));
  }
}

std::string Tree::path_of(const std::string& below) const {
  return top_.ends_with('/') ? top_ + below : top_ + "/" + below;
}

// How much of the path is that of the last one, too.
std::size_t Tree::same_as_last(const std::string& below) const noexcept {
  return static_cast<std::size_t>(
      std::mismatch(last_below_.begin(), last_below_.end(), below.begin(), below.end()).second -
      below.begin());
}

// How many of the folders that are kept lie on the way to that one, or are it.
std::size_t Tree::shared_with(const std::string& below) const noexcept {
  const std::size_t same = same_as_last(below);
  std::size_t shared = kept_.size();
  for (; shared > 0; --shared) {
    const std::size_t end = kept_[shared - 1].end;
    if (end <= same && (end == below.size() || below[end] == '/')) {
      break;
    }
  }
  return shared;
}

Tree::Start Tree::start_of(const std::string& below) const {
  const std::lock_guard lock(kept_mutex);
  const std::size_t shared = shared_with(below);
  const std::size_t parent = end_of_parent(below, below.size());
  // On the way back up, the folders above this one are wanted next. Anywhere else its neighbours
  // are, and a way of many stops would take longer than it saves.
  const std::size_t most = parent < same_as_last(below) ? most_kept() : 2;
  return {shared == 0 ? Kept{0, top_folder_} : kept_[shared - 1], most};
}

void Tree::keep(const std::string& below, Way way) const {
  Way closed;  // without the lock
  const std::lock_guard lock(kept_mutex);
  if (trees_that_keep.front() != this) {
    if (trees_that_keep.back() != nullptr && trees_that_keep.back() != this) {
      closed.swap(trees_that_keep.back()->kept_);
    }
    trees_that_keep = {this, trees_that_keep.front()};
  }
  const auto other = kept_.begin() + static_cast<std::ptrdiff_t>(shared_with(below));
  std::move(other, kept_.end(), std::back_inserter(closed));
  kept_.erase(other, kept_.end());
  const std::size_t known = kept_.empty() ? 0 : kept_.back().end;
  std::copy_if(way.begin(), way.end(), std::back_inserter(kept_),
               [&](const Kept& one) { return one.end > known; });
  last_below_ = below;
  if (kept_.size() > most_kept()) {
    const auto rest = kept_.end() - static_cast<std::ptrdiff_t>(most_kept());
    std::move(kept_.begin(), rest, std::back_inserter(closed));
    kept_.erase(kept_.begin(), rest);
  }
}

void Tree::let_go() const noexcept {
  Way closed;  // without the lock
  const std::lock_guard lock(kept_mutex);
  closed.swap(kept_);
  std::replace(trees_that_keep.begin(), trees_that_keep.end(), this,
               static_cast<const Tree*>(nullptr));
}

void Tree::let_all_go() noexcept {
  std::array<Way, std::tuple_size_v<decltype(trees_that_keep)>> closed;  // without the lock
  const std::lock_guard lock(kept_mutex);
  for (std::size_t i = 0; i < closed.size(); ++i) {
    if (const Tree* const tree = std::exchange(trees_that_keep[i], nullptr); tree != nullptr) {
      closed[i].swap(tree->kept_);
    }
  }
}

OpenFolder Tree::folder(const std::string& below) const {
  if (!is_open()) {
    errno = ENOENT;
    return nullptr;
  }
  auto [at, most_stops] = start_of(below);
  Way way;
  const std::vector<std::size_t> stops = stops_of(below, at.end, most_stops);
  for (auto end = stops.rbegin(); end != stops.rend(); ++end) {
    const std::size_t begin = at.end == 0 ? 0 : at.end + 1;
    Descriptor next = open_long(at.folder->number(), below.substr(begin, *end - begin));
    if (!next.is_open()) {
      const int error = errno;
      way.clear();
      errno = error;
      return nullptr;
    }
    at = {*end, std::make_shared<const Descriptor>(std::move(next))};
    way.push_back(at);
  }
  if (!way.empty()) {
    keep(below, std::move(way));
  }
  return at.folder;
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
