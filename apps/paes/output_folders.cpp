#include "paes/output_folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

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
  std::unordered_map<std::string, std::optional<Error>> tried;
  for (Outcome& outcome : outcomes) {
    if (outcome.status != Status::not_begun || outcome.output.empty() || outcome.output == "-") {
      continue;
    }
    const auto [folder, is_new] = tried.try_emplace(folder_of(outcome.output));
    if (is_new && !folder->first.empty()) {
      try {
        make(plain_path(folder->first));
      } catch (...) {
        folder->second = current_error();
      }
    }
    if (folder->second) {
      outcome.fail(*folder->second);
    }
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const std::string& path : changed_) {
    const Descriptor folder = open_folder(path.empty() ? "." : path);
    if (const int error = sync_folder(folder.number(), folder.number()); error != 0) {
      errno = error;
      throw_errno(path);
    }
  }
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
  const auto mode = modes_.find(path);
  if (mkdirat(target.folder.number(), target.file.c_str(),
              mode == modes_.end() ? 0777 : mode->second) != 0 &&
      errno != EEXIST) {
    throw_errno(path);
  }
  changed_.push_back(parent);
}

}  // namespace paes::cli
