// SPDX-License-Identifier: Apache-2.0
// Where a file's name is looked up. What lies below a folder that a user has named may belong to
// somebody else, who can put a symbolic link in the place of a folder at any moment. So no path
// through it is opened twice: the folder that was named is opened once, the folders below it are
// opened from there without following links, and a file's last name is looked up in its folder.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"

namespace paes::stream {

// What comes after the last slash.
[[nodiscard]] std::string last_name(const std::string& path);

// An open folder, which files that lie in it share.
using OpenFolder = std::shared_ptr<const Descriptor>;

struct FilePlace {
  // Without a folder the path is opened as it is, from the present folder.
  FilePlace(std::string file, int in_folder = AT_FDCWD)
      : path(std::move(file)), folder(in_folder) {}
  FilePlace(std::string file, OpenFolder in_folder)
      : path(std::move(file)),
        folder(in_folder != nullptr ? in_folder->number() : AT_FDCWD),
        kept_folder(std::move(in_folder)) {}

  [[nodiscard]] bool has_folder() const noexcept { return folder != AT_FDCWD; }
  // What openat and its like take beside `folder`: the last name, or the path if there is no
  // folder.
  [[nodiscard]] std::string name() const;
  // What has that name itself, also if it is a symbolic link. Gives back 0 or -1 and errno.
  [[nodiscard]] int lstat(struct stat& status) const noexcept;

  std::string path;  // for messages
  int folder;        // where its last name is looked up, without following a link; or AT_FDCWD
  OpenFolder kept_folder;  // that folder, if this keeps it open
};

// A folder that a user has named, and everything below it.
class Tree {
 public:
  explicit Tree(std::string top) : top_(std::move(top)) {}

  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { let_go(); }

  // Follows links: the user has named it. Throws Error(failure) "TOP: why".
  void open();
  [[nodiscard]] bool is_open() const noexcept { return top_folder_ != nullptr; }
  [[nodiscard]] const std::string& top() const noexcept { return top_; }
  // The path of what is `below`.
  [[nodiscard]] std::string path_of(const std::string& below) const;

  // The folder `below`, which counts from the top and has no ".." in it; the top itself if it is
  // empty. A link on the way is not followed. Null if there is no such folder; errno then says why.
  // The path may be longer than the system's paths.
  //
  // The next call mostly asks for the same folder, one in it, a neighbour or the one above. So that
  // no tree is too deep, the last folders of the way are kept open, within limits. What is
  // exchanged meanwhile is used as it was. The two trees that were used last keep folders: an
  // input's and an output's.
  [[nodiscard]] OpenFolder folder(const std::string& below) const;
  // Closes what is kept open. Whatever is asked for next is looked up from the top.
  void let_go() const noexcept;
  static void let_all_go() noexcept;

 private:
  // A folder on the way to the one that was asked for last.
  struct Kept {
    std::size_t end;  // of its path in that one's
    OpenFolder folder;
  };
  using Way = std::vector<Kept>;  // each lies below the one before it
  // Where the way to a folder starts, and at how many of its last folders it stops to keep them.
  struct Start {
    Kept at;
    std::size_t most_stops;
  };

  [[nodiscard]] std::size_t same_as_last(const std::string& below) const noexcept;
  [[nodiscard]] std::size_t shared_with(const std::string& below) const noexcept;
  [[nodiscard]] Start start_of(const std::string& below) const;
  void keep(const std::string& below, Way way) const;

  std::string top_;
  OpenFolder top_folder_;
  // A mutex of all trees guards the next two: the path that was asked for last, and what is kept of
  // the way to it.
  mutable std::string last_below_;
  mutable Way kept_;
};

// The place of a path in a tree. Without a tree it is a path that the user has named.
struct TreePlace {
  std::shared_ptr<Tree> tree;
  std::size_t begin = 0;  // of the path's part below the top

  // The folder in which the path's last name lies, below the top: "" or "a/b".
  [[nodiscard]] std::string folder_of(const std::string& path) const;
  // That folder; null if there is no tree. Throws Error(failure) "PATH: why".
  [[nodiscard]] OpenFolder folder(const std::string& path) const;
  // As FilePlace's. Of a tree that is not open nothing exists.
  [[nodiscard]] int lstat(const std::string& path, struct stat& status) const;
};

}  // namespace paes::stream
