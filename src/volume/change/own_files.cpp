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
// 0, or the errno for which a hidden file or folder stays.
int remove_hidden(WritableVolume& volume, int folder, const std::string& name) {
  const Backing& backing = volume.backing();
  const int error = volume.unsynced().remove(folder, name.c_str());
  if (error != EISDIR && error != EPERM) {
    return error;
  }
  if (const Result<Descriptor> inside = backing.open(folder, name.c_str(), O_PATH | O_DIRECTORY);
      inside) {
    // The IV goes only once it is known that nobody needs it.
    if (const int not_empty = check_empty(volume.volume(), inside->number()); not_empty != 0) {
      return not_empty;
    }
    (void)volume.unsynced().remove(inside->number(), folder_iv_file());
  }
  return backing.remove(folder, name.c_str(), true);
}

}  // namespace

int rename_to_free_name(const Backing& backing, int folder, const char* name, int to_folder,
                        const char* to_name) {
  const int error = backing.rename(folder, name, to_folder, to_name, RENAME_NOREPLACE);
  if (error == 0 || !is_refusal(error)) {
    return error;
  }
  const Result<struct stat> status = backing.status(to_folder, to_name);
  if (status || status.error() != ENOENT) {
    return status ? EEXIST : status.error();
  }
  return backing.rename(folder, name, to_folder, to_name, 0);
}

int write_own_file(WritableVolume& volume, int folder, const char* name, Bytes bytes) {
  const Backing& backing = volume.backing();
  Result<Descriptor> file = backing.create(folder, name, O_WRONLY, own_file_mode);
  if (!file) {
    return file.error();
  }
  const int error = write_all(backing, file->number(), 0, bytes).error;
  const int refused = error != 0 ? error : volume.unsynced().add(std::move(*file), bytes);
  if (refused != 0) {
    *file = Descriptor();
    (void)backing.remove(folder, name, false);
  }
  return refused;
}

int write_folder_iv(WritableVolume& volume, int folder, const vault::FolderIv& iv) {
  return write_own_file(volume, folder, folder_iv_file(), iv);
}

std::string LongNameFile::name() const {
  return stored_.name + std::string(vault::long_name_suffix);
}

int LongNameFile::make() {
  if (stored_.encoded.empty()) {
    return 0;
  }
  const Backing& backing = volume_.backing();
  const Result<struct stat> content = backing.status(folder_, stored_.name.c_str());
  if (!content && content.error() != ENOENT) {
    return content.error();
  }
  was_unused_ = !content;
  const std::string own_name = name();
  const int error =
      write_own_file(volume_, folder_, own_name.c_str(), libcrypto::bytes_of(stored_.encoded));
  if (error != EEXIST) {
    was_unused_ = was_unused_ && error == 0;
    return error;
  }
  // Where nothing has the name, whoever left the file there may have crashed before it was on disk.
  if (content) {
    std::array<std::uint8_t, vault::max_encoded_name_bytes + 1> read{};
    if (const Result<Descriptor> file =
            backing.open(folder_, own_name.c_str(), O_RDONLY | O_NONBLOCK);
        file) {
      const Result<std::size_t> bytes = backing.read(file->number(), 0, read);
      const Bytes encoded = libcrypto::bytes_of(stored_.encoded);
      if (bytes &&
          std::equal(read.begin(), read.begin() + *bytes, encoded.begin(), encoded.end())) {
        return 0;
      }
    }
  }
  const std::string hidden = new_hidden_name();
  if (const int failed =
          write_own_file(volume_, folder_, hidden.c_str(), libcrypto::bytes_of(stored_.encoded));
      failed != 0) {
    was_unused_ = false;
    return failed;
  }
  const int failed = volume_.unsynced().replace(folder_, hidden.c_str(), own_name.c_str());
  if (failed != 0) {
    was_unused_ = false;
    (void)volume_.unsynced().remove(folder_, hidden.c_str());
  }
  return failed;
}

int LongNameFile::undo(int error) {
  if (error != 0 && was_unused_) {
    remove();
  }
  return error;
}

void LongNameFile::remove() {
  if (!stored_.encoded.empty()) {
    (void)volume_.unsynced().remove(folder_, name().c_str());
  }
}

int remove_empty_folder(WritableVolume& volume, int parent, const std::string& name, int content) {
  const Backing& backing = volume.backing();
  HiddenEntries found;
  if (const int error = find_hidden(volume.volume(), content, found); error != 0) {
    return error;
  }
  for (const auto* const names : {&found.folders, &found.long_name_files}) {
    for (const std::string& hidden : *names) {
      if (const int error = remove_hidden(volume, content, hidden); error != 0) {
        return error;
      }
    }
  }
  if (!has_folder_ivs(volume.volume())) {
    return backing.remove(parent, name.c_str(), true);
  }
  // Under a hidden name nobody misses the IV.
  const std::string hidden = new_hidden_name();
  if (const int error = backing.rename(parent, name.c_str(), parent, hidden.c_str(), 0);
      error != 0) {
    return error;
  }
  const int error = volume.unsynced().remove(content, folder_iv_file());
  if (error != 0 && error != ENOENT) {
    (void)rename_to_free_name(backing, parent, hidden.c_str(), parent, name.c_str());
    return error;
  }
  // The folder has lost its name and had no entries. If it cannot be removed now, it will be
  // together with its parent.
  (void)backing.remove(parent, hidden.c_str(), true);
  return 0;
}

}  // namespace paes::volume
