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
// Where nothing is hidden, a name that nobody gives to a file, followed by 16 hexadecimal digits.
constexpr std::string_view plain_prefix = ".paes-put-";
constexpr std::size_t digits = 16;

bool has_plain_names(const WritableVolume& volume) noexcept {
  return volume.volume().features().has_plaintext_names;
}

std::string new_name(const WritableVolume& volume) {
  if (!has_plain_names(volume)) {
    return new_hidden_name();
  }
  return std::string(plain_prefix) + new_temporary_name().substr(temporary_prefix.size());
}

bool is_unfinished(const WritableVolume& volume, std::string_view stored) noexcept {
  if (!has_plain_names(volume)) {
    return is_hidden_name(stored);
  }
  return stored.size() == plain_prefix.size() + digits && stored.starts_with(plain_prefix) &&
         stored.find_first_not_of("0123456789abcdef", plain_prefix.size()) ==
             std::string_view::npos;
}

}  // namespace

Unfinished::Unfinished(WritableVolume& volume, std::shared_ptr<const Folder> folder)
    : volume_(&volume), folder_(std::move(folder)), stored_(new_name(volume)) {}

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
    if (is_unfinished(volume, entry.name)) {
      found.emplace_back(entry.name);
    }
    return Result<void>();
  });
  for (const std::string& name : found) {
    // With plain names a folder of that name is the user's.
    (void)(has_plain_names(volume)
               ? volume.backing().remove(folder.descriptor(), name.c_str(), false)
               : remove_hidden(volume, folder.descriptor(), name));
  }
}

}  // namespace paes::volume
