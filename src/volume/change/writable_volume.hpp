// SPDX-License-Identifier: Apache-2.0
// A volume that is written to, and what all who write share. Files are written with
// writable_file.hpp, names are changed with tree_changes.hpp, attributes with
// attribute_changes.hpp.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "volume/change/pending_writes.hpp"
#include "volume/change/unsynced.hpp"
#include "volume/change/whole_sync.hpp"
#include "volume/change/written_files.hpp"
#include "volume/read/open_files.hpp"
#include "volume/read/volume.hpp"
#include "volume/read/volume_folder.hpp"

namespace paes::volume {

class SealingAhead;

// Whether whole blocks are read before they are written over. A block that was written in part,
// because there was no room for the rest, can be put back only then.
enum class SavedBlocks {
  where_room_may_end,  // in files with holes, and where the file system writes elsewhere
  always,
};

// Whether other programs change the backing files, too, such as one that synchronises them between
// machines. Nothing is then believed about a file that was true a moment ago: not its id, which a
// program that replaces the content replaces with it, and not that it has no holes. A change that
// falls into one of our calls can still damage blocks, because nothing locks out other programs.
enum class OtherWriters { none, some };

// Safe to use from any number of threads.
class WritableVolume {
 public:
  // `volume` outlives this, and so do `ahead` and `pending` unless they are null. `ahead` has the
  // key of the volume's content. Without `pending` no other process completes what is under way.
  // Throws std::bad_alloc.
  explicit WritableVolume(const Volume& volume, SavedBlocks saved = SavedBlocks::where_room_may_end,
                          OtherWriters others = OtherWriters::none,
                          const SealingAhead* ahead = nullptr, PendingWrites* pending = nullptr);

  [[nodiscard]] const Volume& volume() const noexcept { return volume_; }
  [[nodiscard]] const Backing& backing() const noexcept { return volume_.backing(); }
  [[nodiscard]] OpenFiles& open_files() noexcept { return open_files_; }
  [[nodiscard]] WholeSync& whole_sync() noexcept { return whole_sync_; }
  [[nodiscard]] WrittenFiles& written_files() noexcept { return written_files_; }
  [[nodiscard]] UnsyncedFiles& unsynced() noexcept { return unsynced_; }
  [[nodiscard]] bool saves_all_blocks() const noexcept { return saves_all_blocks_; }
  // Null: nothing is made ahead.
  [[nodiscard]] const SealingAhead* ahead() const noexcept { return ahead_; }

  [[nodiscard]] PendingWrites& pending() noexcept { return *pending_; }

  // Nobody else changes names in these folders until the answer is gone. Several steps on the
  // backing tree are then one. The folders are open, so that none of them can become another. Where
  // the system does not say which one it is, it might be any, and all are locked.
  [[nodiscard]] std::vector<std::unique_lock<std::mutex>> lock_folders(
      const std::vector<FolderRef>& folders);

  // Syncs what has changed in the folder.
  [[nodiscard]] Result<void> sync_folder(const Folder& folder);
  // Syncs all of the volume. Fails also for what could not be synced before.
  [[nodiscard]] Result<void> sync();

 private:
  const Volume& volume_;
  OpenFiles open_files_;
  WholeSync whole_sync_;
  WrittenFiles written_files_;
  UnsyncedFiles unsynced_;
  bool saves_all_blocks_;
  const SealingAhead* ahead_;
  std::unique_ptr<PendingWrites> own_pending_;
  PendingWrites* pending_;
  // Each for many folders. ThreadSanitizer follows 64 locks of a thread, and one may hold all
  // these.
  std::array<std::mutex, 32> folder_locks_;
};

}  // namespace paes::volume
