// SPDX-License-Identifier: Apache-2.0
#include "volume/change/writable_volume.hpp"

#include <cerrno>

namespace paes::volume {

namespace {

// How many threads write at once. Others wait.
constexpr std::size_t own_slots = 16;

}  // namespace

WritableVolume::WritableVolume(const Volume& volume, SavedBlocks saved, OtherWriters others,
                               const SealingAhead* ahead, PendingWrites* pending)
    : volume_(volume),
      open_files_(others == OtherWriters::none),
      whole_sync_(volume.backing(), volume.root()),
      written_files_(volume.backing()),
      unsynced_(volume.backing(), whole_sync_),
      saves_all_blocks_(saved == SavedBlocks::always || others == OtherWriters::some ||
                        !volume.backing().overwrites_in_place(volume.root())),
      ahead_(ahead),
      own_pending_(pending == nullptr ? std::make_unique<PendingWrites>(own_slots) : nullptr),
      pending_(pending == nullptr ? own_pending_.get() : pending) {}

std::vector<std::unique_lock<std::mutex>> WritableVolume::lock_folders(
    const std::vector<FolderRef>& folders) {
  std::set<std::size_t> places;  // in order, so that no two threads wait for each other
  for (const FolderRef folder : folders) {
    if (const Result<struct stat> status = backing().status(folder); status) {
      places.insert(static_cast<std::size_t>(status->st_ino) % folder_locks_.size());
      continue;
    }
    for (std::size_t place = 0; place < folder_locks_.size(); ++place) {
      places.insert(place);
    }
  }
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(places.size());
  for (const std::size_t place : places) {
    locks.emplace_back(folder_locks_[place]);
  }
  return locks;
}

Result<void> WritableVolume::sync_folder(const Folder& folder) {
  if (const Result<void> done = unsynced_.sync(); !done) {
    return done;
  }
  const Result<void> synced = backing().sync(folder.descriptor(), false);
  if (!synced.failed_with(EBADF)) {
    return synced;
  }
  // The folder is open as a mere place, because it may not be listed. Nobody knows whether its
  // names are on disk where the sync of everything may keep quiet about errors.
  const Result<struct stat> status = backing().status(folder.descriptor());
  const Result<void> whole = whole_sync_.sync();
  return !whole || (status && whole_sync_.covers(*status)) ? whole : Errno(EIO);
}

Result<void> WritableVolume::sync() {
  const Result<void> own = unsynced_.sync();
  const Result<void> written = written_files_.sync();
  const Result<void> whole = whole_sync_.sync();
  return !own ? own : !written ? written : whole;
}

}  // namespace paes::volume
