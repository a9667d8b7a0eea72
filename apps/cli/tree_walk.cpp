// SPDX-License-Identifier: Apache-2.0
#include "cli/tree_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "cli/process.hpp"
#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "stream/file/input.hpp"

namespace paes::cli {

namespace {

struct Entry {
  std::string name;
  int error;
  struct stat status;
};

// A folder that the walk is in. The tree decides which of them stay open, so that none is too deep.
struct Level {
  std::string below;
  stream::FileIdentity identity = {};
  std::vector<Entry> entries = {};
  std::size_t next = 0;
};

// Fills in what lies in the folder. Gives back 0 or an errno.
int list(const stream::Tree& tree, Level& level) {
  const stream::OpenFolder folder = tree.folder(level.below);
  if (folder == nullptr) {
    return errno;
  }
  const int listed = openat(folder->number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listed < 0) {
    return errno;
  }
  const FolderReader entries(fdopendir(listed));
  if (entries == nullptr) {
    const int error = errno;
    (void)close(listed);
    return error;
  }
  level.identity = stream::identity_of(stream::status_of(listed, tree.path_of(level.below)));
  for (;;) {
    errno = 0;
    const dirent* const found = readdir(entries.get());
    if (found == nullptr) {
      break;
    }
    const std::string name = found->d_name;
    if (name != "." && name != "..") {
      level.entries.push_back({name, 0, {}});
    }
  }
  const int error = errno;
  std::sort(level.entries.begin(), level.entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  for (Entry& entry : level.entries) {
    if (fstatat(listed, entry.name.c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) != 0) {
      entry.error = errno;
    }
  }
  return error;
}

class Walk {
 public:
  Walk(const stream::Tree& tree, const std::function<Next(const VisitedEntry& visited)>& visit)
      : tree_(tree), visit_(visit) {}

  void run() {
    const stream::OpenFolder top = tree_.folder("");
    struct stat status = {};
    const int error = top != nullptr && fstat(top->number(), &status) == 0 ? 0 : errno;
    enter("", error, status);
    while (!levels_.empty()) {
      cancel().check();
      Level& level = levels_.back();
      if (level.next == level.entries.size()) {
        levels_.pop_back();
        continue;
      }
      const Entry entry = std::move(level.entries[level.next++]);
      const std::string below = level.below.empty() ? entry.name : level.below + "/" + entry.name;
      if (entry.error == 0 && S_ISDIR(entry.status.st_mode)) {
        enter(below, 0, entry.status);
      } else {
        tell(below, entry.error, entry.status);
      }
    }
  }

 private:
  // Gives back whether to go on into it, if it is a folder.
  bool tell(const std::string& below, int error, const struct stat& status) {
    const Next next = visit_({below, error, status});
    if (next == Next::stop) {
      levels_.clear();
    }
    return next == Next::on;
  }

  void enter(const std::string& below, int error, const struct stat& status) {
    if (!tell(below, error, status) || error != 0) {
      return;
    }
    Level level{below};
    int failed = list(tree_, level);
    // Only a damaged file system has a folder in itself.
    if (failed == 0 && std::any_of(levels_.begin(), levels_.end(), [&](const Level& above) {
          return above.identity == level.identity;
        })) {
      failed = ELOOP;
    }
    if (failed != 0) {
      (void)tell(below, failed, status);
      return;
    }
    levels_.push_back(std::move(level));
  }

  const stream::Tree& tree_;
  const std::function<Next(const VisitedEntry& visited)>& visit_;
  std::vector<Level> levels_;
};

}  // namespace

void walk(const stream::Tree& tree, const std::function<Next(const VisitedEntry& visited)>& visit) {
  Walk(tree, visit).run();
  tree.let_go();
}

}  // namespace paes::cli
