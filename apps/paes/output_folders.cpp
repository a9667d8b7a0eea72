#include "paes/output_folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "stream/output_target.hpp"

namespace paes::cli {

namespace {

// "a//b/" and "a/./b" are the folder "a/b".
std::string plain_path(const std::string& path) {
  std::string plain = std::filesystem::path(path).lexically_normal().string();
  while (plain.size() > 1 && plain.ends_with('/')) {
    plain.pop_back();
  }
  return plain;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash == 0 ? 1 : slash);
}

}  // namespace

std::string resolved_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved =
      std::filesystem::weakly_canonical(path.empty() ? "." : path, error);
  return plain_path(error ? path : std::filesystem::absolute(resolved).string());
}

void OutputFolders::note_mode(const std::string& path, mode_t mode) {
  // Whatever the source is like, paes must be able to write here.
  modes_.try_emplace(plain_path(path), (mode & 0777) | S_IRWXU);
}

void OutputFolders::make(std::vector<Outcome>& outcomes) {
  // A named file and one that was found may lie in one folder, which each of them reaches by a way
  // of its own.
  std::map<std::pair<const stream::Tree*, std::string>, std::optional<Error>> tried;
  for (Outcome& outcome : outcomes) {
    if (!outcome.has_output()) {
      continue;
    }
    const auto [folder, is_new] =
        tried.try_emplace({outcome.output_place.tree.get(), folder_of(outcome.output)});
    if (is_new && !folder->first.second.empty()) {
      try {
        make_for(outcome);
      } catch (...) {
        folder->second = current_error();
      }
    }
    if (folder->second) {
      outcome.fail(*folder->second);
    }
  }
  for (std::vector<std::string>* const changed : {&changed_, &changed_below_}) {
    std::sort(changed->begin(), changed->end());
    changed->erase(std::unique(changed->begin(), changed->end()), changed->end());
  }
  for (const std::string& path : changed_) {
    sync_changed(open_folder(path.empty() ? "." : path), path);
  }
  for (const std::string& below : changed_below_) {
    sync_changed(tree_->open_folder(below), tree_->path_of(below));
  }
}

void OutputFolders::sync_changed(const Descriptor& folder, const std::string& path) const {
  const int error = folder.is_open() ? sync_folder(folder.number(), folder.number()) : errno;
  if (error != 0) {
    errno = error;
    throw_errno(path);
  }
}

void OutputFolders::make_for(const Outcome& outcome) {
  const stream::TreePlace& place = outcome.output_place;
  if (place.tree == nullptr) {
    make(plain_path(folder_of(outcome.output)));
    return;
  }
  if (!place.tree->is_open()) {
    make(plain_path(place.tree->top()));
    place.tree->open();
  }
  tree_ = place.tree;
  make_below(*tree_, place.folder_of(outcome.output));
}

mode_t OutputFolders::mode_of(const std::string& path) const {
  const auto mode = modes_.find(plain_path(path));
  return mode == modes_.end() ? 0777 : mode->second;
}

void OutputFolders::make_below(const stream::Tree& tree, const std::string& below) {
  const std::string path = tree.path_of(below);
  if (tree.open_folder(below).is_open()) {
    return;
  }
  if (errno != ENOENT) {
    throw_errno(path);
  }
  const std::string parent = folder_of(below);
  make_below(tree, parent);
  const Descriptor around = tree.open_folder(parent);
  if (!around.is_open() ||
      (mkdirat(around.number(), stream::last_name(below).c_str(), mode_of(path)) != 0 &&
       errno != EEXIST)) {
    throw_errno(path);
  }
  changed_below_.push_back(parent);
}

void OutputFolders::make(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) {
    return;  // if it is no folder, the output says so
  }
  const std::string parent = folder_of(path);
  if (!parent.empty()) {
    make(parent);
  }
  const stream::Target target = stream::find_target(path, stream::Links::followed);
  if (target.found.is_open()) {
    return;
  }
  if (mkdirat(target.folder.number(), target.file.c_str(), mode_of(path)) != 0 && errno != EEXIST) {
    throw_errno(path);
  }
  changed_.push_back(parent);
}

}  // namespace paes::cli
