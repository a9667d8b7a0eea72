// SPDX-License-Identifier: Apache-2.0
#include "volume/change/written_files.hpp"

#include <new>
#include <utility>
#include <vector>

namespace paes::volume {

Result<void> WrittenFiles::sync(std::unique_lock<std::mutex>& lock, File& file, bool data_only) {
  file.is_being_synced_ = true;
  file.is_written_.store(false);  // what is written from now on has to be synced again
  lock.unlock();
  const Result<void> synced = backing_.sync(file.descriptor_, data_only);
  lock.lock();
  file.is_being_synced_ = false;
  synced_.notify_all();
  return synced;
}

Result<void> WrittenFiles::sync() {
  std::unique_lock lock(mutex_);
  const std::vector<File*> files(open_.begin(), open_.end());
  for (File* const file : files) {
    // One that is gone has been synced. Another may be at its place by now.
    synced_.wait(lock, [&] { return !open_.contains(file) || !file->is_being_synced_; });
    if (!open_.contains(file) || !file->is_written_.load()) {
      continue;
    }
    if (const Result<void> synced = sync(lock, *file, true); !synced) {
      lost_ = file->untold_ = synced;
    }
  }
  return lost_;
}

void WrittenFiles::note_lost_at_close(const Key& key, Errno error) noexcept {
  lost_ = error;
  try {
    lost_at_close_[key] = error;
  } catch (const std::bad_alloc&) {
    return;  // the sync of all tells it
  }
}

Result<void> WrittenFiles::take_lost(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = lost_at_close_.find(key);
  if (found == lost_at_close_.end()) {
    return {};
  }
  const Result<void> lost = found->second;
  lost_at_close_.erase(found);
  return lost;
}

WrittenFiles::File::File(WrittenFiles& all, FileRef descriptor, const struct stat& status)
    : all_(all), descriptor_(descriptor), key_(status.st_dev, status.st_ino) {
  const std::lock_guard lock(all_.mutex_);
  all_.open_.insert(this);
}

WrittenFiles::File::~File() {
  std::unique_lock lock(all_.mutex_);
  all_.synced_.wait(lock, [&] { return !is_being_synced_; });
  if (is_written_.load() || !untold_) {
    const Result<struct stat> status = all_.backing_.status(descriptor_);
    if (!status || status->st_nlink != 0) {
      const Result<void> synced =
          is_written_.load() ? all_.sync(lock, *this, true) : Result<void>();
      const Result<void>& lost = untold_ ? synced : untold_;
      if (!lost) {
        all_.note_lost_at_close(key_, lost.error());
      }
    }
  }
  all_.open_.erase(this);  // who syncs all may be waiting for this file
  lock.unlock();
  all_.synced_.notify_all();
}

Result<void> WrittenFiles::File::sync(bool data_only) {
  std::unique_lock lock(all_.mutex_);
  all_.synced_.wait(lock, [&] { return !is_being_synced_; });
  if (const Result<void> synced = all_.sync(lock, *this, data_only); !synced) {
    all_.lost_ = synced;
    untold_ = {};
    return synced;
  }
  if (!untold_) {
    return std::exchange(untold_, {});
  }
  lock.unlock();
  return all_.take_lost(key_);
}

}  // namespace paes::volume
