// SPDX-License-Identifier: Apache-2.0
#include "volume/change/unfinished.hpp"

#include <fcntl.h>

#include <vector>

#include "volume/change/own_files.hpp"
#include "volume/read/link.hpp"
#include "volume/read/listing.hpp"

namespace paes::volume {

namespace {

constexpr mode_t own_mode = S_IRUSR | S_IWUSR;

}  // namespace

Unfinished::Unfinished(WritableVolume& volume, std::shared_ptr<const Folder> folder)
    : volume_(&volume), folder_(std::move(folder)), stored_(new_hidden_name(volume.volume())) {}

Unfinished::~Unfinished() {
  if (folder_ != nullptr && is_there_) {
    (void)volume_->backing().remove(folder_->descriptor(), stored_.c_str(), false);
  }
}

Result<WritableFile> Unfinished::make_file() {
  const FolderRef folder = folder_->descriptor();
  Result<Descriptor> made = volume_->backing().create(folder, stored_.c_str(), O_RDWR, own_mode);
  if (!made) {
    return made.error();
  }
  is_there_ = true;
  return WritableFile::open(*volume_, std::move(*made));
}

Result<void> Unfinished::make_link(std::string_view target) {
  const Result<std::string> stored = stored_target(volume_->volume(), target);
  if (!stored) {
    return stored.error();
  }
  const Result<void> made =
      volume_->backing().make_link(folder_->descriptor(), stored_.c_str(), stored->c_str());
  is_there_ = bool(made);
  return made;
}

Result<void> Unfinished::take_name(std::string_view name, bool replaces) {
  const Result<StoredName> stored = folder_->stored_name(name);
  if (!stored) {
    return stored.error();
  }
  const FolderRef folder = folder_->descriptor();
  const Backing& backing = volume_->backing();
  const auto locks = volume_->lock_folders({folder});
  LongNameFile long_name(*volume_, folder, *stored);
  const Result<void> named = long_name.make().and_then([&] {
    // What is synced must not come to depend on a long name that is not.
    const Result<void> synced =
        stored->encoded.empty() ? Result<void>() : volume_->unsynced().sync();
    return long_name.undo_unless(synced.and_then([&] {
      return replaces ? backing.rename(folder, stored_.c_str(), folder, stored->name.c_str(), 0)
                      : rename_to_free_name(backing, folder, stored_.c_str(), folder,
                                            stored->name.c_str());
    }));
  });
  is_there_ = !named;
  return named;
}

void remove_unfinished(WritableVolume& volume, const Folder& folder) {
  const auto locks = volume.lock_folders({folder.descriptor()});
  std::vector<std::string> found;
  (void)for_each_stored(volume.backing(), folder.descriptor(), [&](const StoredEntry& entry) {
    if (is_hidden(volume.volume(), entry.name)) {
      found.emplace_back(entry.name);
    }
    return Result<void>();
  });
  for (const std::string& name : found) {
    (void)remove_hidden(volume, folder.descriptor(), name);
  }
}

}  // namespace paes::volume
