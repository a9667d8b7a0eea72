// SPDX-License-Identifier: Apache-2.0
#include "volume/change/own_files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/new_name.hpp"
#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"

namespace paes::volume {

namespace {

constexpr mode_t own_file_mode = 0444;

}  // namespace

Result<void> remove_hidden(WritableVolume& volume, FolderRef folder, const std::string& name) {
  const Backing& backing = volume.backing();
  const Result<void> removed = volume.unsynced().remove(folder, name.c_str());
  if (!removed.failed_with(EISDIR, EPERM)) {
    return removed;
  }
  if (const Result<Descriptor> inside = backing.open(folder, name.c_str(), O_PATH | O_DIRECTORY);
      inside) {
    // The IV goes only once it is known that nobody needs it.
    if (const Result<void> empty = check_empty(volume.volume(), FolderRef(*inside)); !empty) {
      return empty;
    }
    (void)volume.unsynced().remove(FolderRef(*inside), folder_iv_file());
  }
  return backing.remove(folder, name.c_str(), true);
}

Result<void> rename_to_free_name(const Backing& backing, FolderRef folder, const char* name,
                                 FolderRef to_folder, const char* to_name) {
  const Result<void> renamed = backing.rename(folder, name, to_folder, to_name, RENAME_NOREPLACE);
  if (renamed || !is_refusal(renamed.error().number())) {
    return renamed;
  }
  const Result<struct stat> status = backing.status({to_folder, to_name});
  if (!status.failed_with(ENOENT)) {
    return status ? Errno(EEXIST) : status.error();
  }
  return backing.rename(folder, name, to_folder, to_name, 0);
}

Result<void> write_own_file(WritableVolume& volume, FolderRef folder, const char* name,
                            Bytes bytes) {
  const Backing& backing = volume.backing();
  Result<Descriptor> file = backing.create(folder, name, O_WRONLY, own_file_mode);
  if (!file) {
    return file.error();
  }
  const Result<void> kept = write_all(backing, *file, 0, bytes).result.and_then([&] {
    return volume.unsynced().add(std::move(*file), bytes);
  });
  if (!kept) {
    *file = Descriptor();
    (void)backing.remove(folder, name, false);
  }
  return kept;
}

Result<void> write_folder_iv(WritableVolume& volume, FolderRef folder, const vault::FolderIv& iv) {
  return write_own_file(volume, folder, folder_iv_file(), iv);
}

std::string LongNameFile::name() const {
  return stored_.name + std::string(vault::long_name_suffix);
}

Result<void> LongNameFile::make() {
  if (stored_.encoded.empty()) {
    return {};
  }
  const Backing& backing = volume_.backing();
  const Result<struct stat> content = backing.status({folder_, stored_.name.c_str()});
  if (!content && !content.failed_with(ENOENT)) {
    return content.error();
  }
  was_unused_ = !content;
  const std::string own_name = name();
  const Bytes encoded = libcrypto::bytes_of(stored_.encoded);
  const Result<void> made = write_own_file(volume_, folder_, own_name.c_str(), encoded);
  if (!made.failed_with(EEXIST)) {
    was_unused_ = was_unused_ && made;
    return made;
  }
  // Where nothing has the name, whoever left the file there may have crashed before it was on disk.
  if (content) {
    std::array<std::uint8_t, vault::max_encoded_name_bytes + 1> read{};
    if (const Result<Descriptor> file =
            backing.open(folder_, own_name.c_str(), O_RDONLY | O_NONBLOCK);
        file) {
      const Result<std::size_t> bytes = backing.read(*file, 0, read);
      if (bytes &&
          std::equal(read.begin(), read.begin() + *bytes, encoded.begin(), encoded.end())) {
        return {};
      }
    }
  }
  const std::string hidden = new_hidden_name();
  if (const Result<void> written = write_own_file(volume_, folder_, hidden.c_str(), encoded);
      !written) {
    was_unused_ = false;
    return written;
  }
  const Result<void> replaced =
      volume_.unsynced().replace(folder_, hidden.c_str(), own_name.c_str());
  if (!replaced) {
    was_unused_ = false;
    (void)volume_.unsynced().remove(folder_, hidden.c_str());
  }
  return replaced;
}

Result<void> LongNameFile::undo_unless(Result<void> named) {
  if (!named && was_unused_) {
    remove();
  }
  return named;
}

void LongNameFile::remove() {
  if (!stored_.encoded.empty()) {
    (void)volume_.unsynced().remove(folder_, name().c_str());
  }
}

Result<void> remove_empty_folder(WritableVolume& volume, FolderRef parent, const std::string& name,
                                 FolderRef content) {
  const Backing& backing = volume.backing();
  HiddenEntries found;
  if (const Result<void> done = find_hidden(volume.volume(), content, found); !done) {
    return done;
  }
  for (const auto* const names : {&found.folders, &found.long_name_files}) {
    for (const std::string& hidden : *names) {
      if (const Result<void> done = remove_hidden(volume, content, hidden); !done) {
        return done;
      }
    }
  }
  if (!has_folder_ivs(volume.volume())) {
    return backing.remove(parent, name.c_str(), true);
  }
  // Under a hidden name nobody misses the IV.
  const std::string hidden = new_hidden_name();
  if (const Result<void> done = backing.rename(parent, name.c_str(), parent, hidden.c_str(), 0);
      !done) {
    return done;
  }
  const Result<void> removed = volume.unsynced().remove(content, folder_iv_file());
  if (!removed && !removed.failed_with(ENOENT)) {
    (void)rename_to_free_name(backing, parent, hidden.c_str(), parent, name.c_str());
    return removed;
  }
  // The folder has lost its name and had no entries. If it cannot be removed now, it will be
  // together with its parent.
  (void)backing.remove(parent, hidden.c_str(), true);
  return {};
}

}  // namespace paes::volume
