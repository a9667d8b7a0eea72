#include "volume/written_files.hpp"

#include <new>

namespace paes::volume {

int WrittenFiles::sync() {
  const std::lock_guard lock(mutex_);
  for (File* const file : open_) {
    if (!file->is_written_.exchange(false)) {
      continue;
    }
    if (const int error = backing_.sync(file->descriptor_, true); error != 0) {
      lost_ = error;
    }
  }
  return lost_;
}

void WrittenFiles::note_lost(int error) noexcept {
  const std::lock_guard lock(mutex_);
  lost_ = error;
}

void WrittenFiles::note_lost_at_close(const Key& key, int error) noexcept {
  const std::lock_guard lock(mutex_);
  lost_ = error;
  try {
    lost_at_close_[key] = error;
  } catch (const std::bad_alloc&) {
    return;  // the sync of all tells it
  }
}

int WrittenFiles::take_lost(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = lost_at_close_.find(key);
  if (found == lost_at_close_.end()) {
    return 0;
  }
  const int error = found->second;
  lost_at_close_.erase(found);
  return error;
}

WrittenFiles::File::File(WrittenFiles& all, int descriptor, const struct stat& status)
    : all_(all), descriptor_(descriptor), key_(status.st_dev, status.st_ino) {
  const std::lock_guard lock(all_.mutex_);
  all_.open_.insert(this);
}

WrittenFiles::File::~File() {
  {
    const std::lock_guard lock(all_.mutex_);
    all_.open_.erase(this);
  }
  if (!is_written_.load()) {
    return;
  }
  if (const Result<struct stat> status = all_.backing_.status(descriptor_, "");
      status && status->st_nlink == 0) {
    return;
  }
  if (const int error = all_.backing_.sync(descriptor_, true); error != 0) {
    all_.note_lost_at_close(key_, error);
  }
}

int WrittenFiles::File::sync(bool data_only) {
  // What is written from now on has to be synced again.
  is_written_.store(false);
  const int error = all_.backing_.sync(descriptor_, data_only);
  if (error != 0) {
    all_.note_lost(error);
    return error;
  }
  return all_.take_lost(key_);
}

}  // namespace paes::volume
