// SPDX-License-Identifier: Apache-2.0
#include "volume/change/unsynced.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "volume/change/pending_writes.hpp"

namespace paes::volume {

Result<void> UnsyncedFiles::add(Descriptor file, Bytes content) {
  const Result<struct stat> status = backing_.status(file);
  if (!status) {
    return status.error();
  }
  const bool is_covered = whole_.covers(*status);
  File added = {std::move(file), {content.begin(), content.end()}, *status};
  {
    const std::lock_guard lock(mutex_);
    if (is_covered && are_too_many_) {
      return {};
    }
    if (files_.size() < max_files) {
      files_.push_back(std::move(added));
      return {};
    }
    if (is_covered) {
      are_too_many_ = true;
      // To sync the file system writes nothing anew.
      std::erase_if(
          files_, [&](const File& each) { return !each.has_failed && whole_.covers(each.status); });
      return {};
    }
  }
  (void)whole_.sync();  // writes them together, so that each has less to wait for
  if (const Result<void> done = sync(); !done) {
    return done;
  }
  const std::lock_guard lock(mutex_);
  files_.push_back(std::move(added));
  return {};
}

// Another file may have been made since, and have its inode, if it was in the list no more.
void UnsyncedFiles::drop_removed(const struct stat& status) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [&](const File& each) {
    if (each.status.st_dev != status.st_dev || each.status.st_ino != status.st_ino) {
      return false;
    }
    const Result<struct stat> now = backing_.status(each.descriptor);
    return now && now->st_nlink == 0;
  });
}

std::optional<UnsyncedFiles::File> UnsyncedFiles::take(const struct stat& status) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& each) {
    return each.status.st_dev == status.st_dev && each.status.st_ino == status.st_ino;
  });
  if (found == files_.end()) {
    return std::nullopt;
  }
  std::optional<File> taken(std::move(*found));
  files_.erase(found);
  return taken;
}

// Nobody who syncs meanwhile misses a file that stays after all: it leaves the list after the
// change or, where a file that is open would get another name instead, while nobody can sync.
template <typename Change>
Result<void> UnsyncedFiles::lose(FolderRef folder, const char* name, const Change& change) {
  const Result<struct stat> status = backing_.status({folder, name});
  if (!status) {
    return change();
  }
  if (backing_.removes_open_files(folder)) {
    const Result<void> changed = change();
    if (changed) {
      drop_removed(*status);
    }
    return changed;
  }
  const std::lock_guard syncing(syncing_);  // whoever syncs has them open
  std::optional<File> taken = take(*status);
  if (taken) {
    taken->descriptor = Descriptor();
  }
  const Result<void> changed = change();
  if (!changed && taken) {
    put_back(folder, name, std::move(*taken));
  }
  return changed;
}

// The descriptor that would have heard of errors is closed, so the content is written anew. Where
// nobody but root may open the file for writing, it is synced at once: in the list it would fail
// whenever it is to be written. Who opens it after its error was told hears nothing of that, so
// such a file is then lost.
void UnsyncedFiles::put_back(FolderRef folder, const char* name, File file) {
  constexpr int flags = O_NONBLOCK;
  if (Result<Descriptor> writing = backing_.open(folder, name, O_WRONLY | flags); writing) {
    file.descriptor = std::move(*writing);
    file.has_failed = true;
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
    return;
  }
  if (file.has_failed) {
    lost_ = Errno(EIO);
    return;
  }
  const Result<Descriptor> reading = backing_.open(folder, name, O_RDONLY | flags);
  const Result<void> synced = reading ? backing_.sync(*reading, false) : reading.error();
  if (!synced && !synced.failed_with(ENOENT)) {
    lost_ = synced;
  }
}

Result<void> UnsyncedFiles::remove(FolderRef folder, const char* name) {
  return lose(folder, name, [&] { return backing_.remove(folder, name, false); });
}

Result<void> UnsyncedFiles::replace(FolderRef folder, const char* from, const char* name) {
  return lose(folder, name, [&] { return backing_.rename(folder, from, folder, name, 0); });
}

Result<void> UnsyncedFiles::sync(File& file) const {
  if (file.has_failed) {
    const WriteOutcome written = write_all(backing_, file.descriptor, 0, file.content);
    if (!written.result) {
      return written.result;
    }
  }
  const Result<void> synced = backing_.sync(file.descriptor, false);
  file.has_failed = file.has_failed || !synced;
  return synced;
}

Result<void> UnsyncedFiles::sync() {
  const std::lock_guard syncing(syncing_);
  if (!lost_) {
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
    if (const Result<void> synced = sync(files.back()); !synced) {
      const std::lock_guard lock(mutex_);
      std::move(files.begin(), files.end(), std::back_inserter(files_));
      are_too_many_ = are_too_many_ || all;
      return synced;
    }
    files.pop_back();
  }
  if (all) {
    lost_ = whole_.sync();
  }
  return lost_;
}

}  // namespace paes::volume
