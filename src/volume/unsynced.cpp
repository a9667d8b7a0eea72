#include "volume/unsynced.hpp"

#include <iterator>
#include <utility>

#include "volume/content_change.hpp"

namespace paes::volume {

void Unsynced::add(Descriptor file, Bytes content) {
  const std::lock_guard lock(mutex_);
  if (are_too_many_) {
    return;
  }
  if (files_.size() < max_files) {
    files_.push_back({std::move(file), {content.begin(), content.end()}, false});
    return;
  }
  are_too_many_ = true;
  // To sync the file system writes nothing anew.
  std::erase_if(files_, [](const File& each) { return !each.has_failed; });
}

int Unsynced::sync(File& file) const {
  if (file.has_failed) {
    const WriteOutcome written = write_all(backing_, file.descriptor.number(), 0, file.content);
    if (written.error != 0) {
      return written.error;
    }
  }
  const int error = backing_.sync(file.descriptor.number(), false);
  file.has_failed = file.has_failed || error != 0;
  return error;
}

int Unsynced::sync() {
  const std::lock_guard syncing(syncing_);
  if (lost_ != 0) {
    return lost_;
  }
  std::vector<File> files;
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    files.swap(files_);
    std::swap(all, are_too_many_);
  }
  while (!files.empty()) {
    if (const int error = sync(files.back()); error != 0) {
      const std::lock_guard lock(mutex_);
      std::move(files.begin(), files.end(), std::back_inserter(files_));
      are_too_many_ = are_too_many_ || all;
      return error;
    }
    files.pop_back();
  }
  if (all) {
    lost_ = backing_.sync_file_system(root_);
  }
  return lost_;
}

}  // namespace paes::volume
