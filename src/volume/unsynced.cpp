#include "volume/unsynced.hpp"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "volume/content_change.hpp"

namespace paes::volume {

int Unsynced::add(Descriptor file, Bytes content) {
  const Result<struct stat> status = backing_.status(file.number(), "");
  if (!status) {
    return status.error();
  }
  const bool is_covered = whole_.covers(*status);
  File added = {std::move(file), {content.begin(), content.end()}, *status};
  {
    const std::lock_guard lock(mutex_);
    if (is_covered && are_too_many_) {
      return 0;
    }
    if (files_.size() < max_files) {
      files_.push_back(std::move(added));
      return 0;
    }
    if (is_covered) {
      are_too_many_ = true;
      // To sync the file system writes nothing anew.
      std::erase_if(
          files_, [&](const File& each) { return !each.has_failed && whole_.covers(each.status); });
      return 0;
    }
  }
  (void)whole_.sync();  // writes them together, so that each has less to wait for
  if (const int error = sync(); error != 0) {
    return error;
  }
  const std::lock_guard lock(mutex_);
  files_.push_back(std::move(added));
  return 0;
}

void Unsynced::forget(int folder, const char* name) { (void)take(folder, name); }

std::vector<std::uint8_t> Unsynced::take(int folder, const char* name) {
  const Result<struct stat> status = backing_.status(folder, name);
  if (!status) {
    return {};
  }
  std::unique_lock syncing(syncing_, std::defer_lock);
  if (!backing_.removes_open_files(folder)) {
    syncing.lock();  // whoever syncs has them open
  }
  File taken;  // closed outside of the lock
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& each) {
    return each.status.st_dev == status->st_dev && each.status.st_ino == status->st_ino;
  });
  if (found != files_.end()) {
    taken = std::move(*found);
    files_.erase(found);
  }
  return std::move(taken.content);
}

int Unsynced::remove(int folder, const char* name) {
  const std::vector<std::uint8_t> content = take(folder, name);
  const int error = backing_.remove(folder, name, false);
  if (error != 0 && !content.empty()) {
    // To be synced it need not be open for writing.
    if (Result<Descriptor> file = backing_.open(folder, name, O_RDONLY | O_NONBLOCK); file) {
      (void)add(std::move(*file), content);
    }
  }
  return error;
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
    lost_ = whole_.sync();
  }
  return lost_;
}

}  // namespace paes::volume
