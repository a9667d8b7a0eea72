#include "volume/unsynced.hpp"

#include <iterator>

namespace paes::volume {

void Unsynced::add(Descriptor file) {
  const std::lock_guard lock(mutex_);
  if (are_too_many_) {
    return;
  }
  if (files_.size() < max_files) {
    files_.push_back(std::move(file));
    return;
  }
  are_too_many_ = true;
  files_.clear();
}

int Unsynced::sync() {
  const std::lock_guard syncing(syncing_);
  std::vector<Descriptor> files;
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    files.swap(files_);
    std::swap(all, are_too_many_);
  }
  if (all) {
    const int error = backing_.sync_file_system(root_);
    if (error != 0) {
      const std::lock_guard lock(mutex_);
      are_too_many_ = true;
      files_.clear();
    }
    return error;
  }
  while (!files.empty()) {
    if (const int error = backing_.sync(files.back().number(), false); error != 0) {
      const std::lock_guard lock(mutex_);
      std::move(files.begin(), files.end(), std::back_inserter(files_));
      return error;
    }
    files.pop_back();
  }
  return 0;
}

}  // namespace paes::volume
