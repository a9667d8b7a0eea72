// SPDX-License-Identifier: Apache-2.0
#include "cli/output_folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "stream/file/output_target.hpp"

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

void sync_changed(const Descriptor* folder, const std::string& path) {
  const bool is_open = folder != nullptr && folder->is_open();
  const int error = is_open ? sync_folder(folder->number(), folder->number()) : errno;
  if (error != 0) {
    errno = error;
    throw_errno(path);
  }
}

std::string resolved_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved =
      std::filesystem::weakly_canonical(path.empty() ? "." : path, error);
  return plain_path(error ? path : std::filesystem::absolute(resolved).string());
}

void OutputFolders::note_mode(const std::string& below, mode_t mode) {
  // Whatever the source is like, paes must be able to write here.
  modes_.try_emplace(below, (mode & 0777) | S_IRWXU);
}

void OutputFolders::make(std::vector<Outcome>& outcomes) {
  std::shared_ptr<stream::Tree> tree;
  std::map<std::string, std::optional<Error>> tried;
  for (Outcome& outcome : outcomes) {
    if (!outcome.has_output()) {
      continue;
    }
    tree = outcome.output_place.tree;
    const auto [folder, is_new] = tried.try_emplace(outcome.output_place.folder_of(outcome.output));
    if (is_new) {
      try {
        make_below(*tree, folder->first);
      } catch (...) {
        folder->second = current_error();
      }
    }
    if (folder->second) {
      outcome.fail(*folder->second);
    }
  }
  for (const std::string& below : changed_below_) {
    sync_changed(tree->folder(below).get(), tree->path_of(below));
  }
}

mode_t OutputFolders::mode_of(const std::string& below) const {
  const auto mode = modes_.find(below);
  return mode == modes_.end() ? 0777 : mode->second;
}

void OutputFolders::make_below(stream::Tree& tree, const std::string& below) {
  if (!tree.is_open()) {
    make_top(plain_path(tree.top()), mode_of(""));
    tree.open();
  }
  const std::string path = tree.path_of(below);
  if (tree.folder(below) != nullptr) {
    return;
  }
  if (errno != ENOENT) {
    throw_errno(path);
  }
  const std::string parent = folder_of(below);
  make_below(tree, parent);
  const stream::OpenFolder around = tree.folder(parent);
  if (around == nullptr ||
      (mkdirat(around->number(), stream::last_name(below).c_str(), mode_of(below)) != 0 &&
       errno != EEXIST)) {
    throw_errno(path);
  }
  changed_below_.insert(parent);
}

void OutputFolders::make_top(const std::string& path, mode_t mode) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) {
    return;  // whoever opens it says so if it is not a folder
  }
  const std::string parent = folder_of(path);
  if (!parent.empty()) {
    make_top(parent, 0777);
  }
  const stream::Target target = stream::find_target(path, stream::Links::followed);
  if (target.found.is_open()) {
    return;
  }
  if (mkdirat(target.folder->number(), target.file.c_str(), mode) != 0 && errno != EEXIST) {
    throw_errno(path);
  }
  sync_changed(target.folder.get(), path);
}

}  // namespace paes::cli
