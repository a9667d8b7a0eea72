// SPDX-License-Identifier: Apache-2.0
#include "volume/read/hidden_names.hpp"

#include <fcntl.h>

#include <cerrno>

#include "vault/unfinished_names.hpp"
#include "volume/read/listing.hpp"

namespace paes::volume {

namespace {

// With plain names what looks like the file of a long name is the user's.
bool has_hidden_names(const Volume& volume) noexcept {
  return !volume.features().has_plaintext_names;
}

}  // namespace

std::string new_hidden_name() { return vault::new_unfinished_name(/*has_plain_names=*/false); }

bool is_hidden_name(std::string_view stored) noexcept {
  return vault::is_unfinished_name(stored, /*has_plain_names=*/false);
}

std::string new_hidden_name(const Volume& volume) {
  return vault::new_unfinished_name(!has_hidden_names(volume));
}

bool is_hidden(const Volume& volume, std::string_view stored) noexcept {
  return vault::is_unfinished_name(stored, !has_hidden_names(volume));
}

const char* folder_iv_file() noexcept {
  return vault::folder_iv_name.data();  // NOLINT: made of a literal, so that a zero byte follows
}

bool has_folder_ivs(const Volume& volume) noexcept {
  return volume.features().has_directory_ivs && !volume.features().has_plaintext_names;
}

Result<void> find_hidden(const Volume& volume, FolderRef folder, HiddenEntries& hidden) {
  // A descriptor of its own has a position of its own.
  const Result<Descriptor> list = volume.backing().open(folder, ".", O_RDONLY | O_DIRECTORY);
  if (!list) {
    return list.error();
  }
  return for_each_stored(volume.backing(), FolderRef(*list),
                         [&](const StoredEntry& stored) -> Result<void> {
                           if (is_hidden(volume, stored.name)) {
                             hidden.folders.emplace(stored.name);
                             return {};
                           }
                           switch (volume.names().kind_of(stored.name)) {
                             case vault::StoredKind::long_name_file:
                               if (!has_hidden_names(volume)) {
                                 return Errno(ENOTEMPTY);
                               }
                               hidden.long_name_files.emplace(stored.name);
                               return {};
                             case vault::StoredKind::folder_iv:
                               return has_folder_ivs(volume) ? Result<void>() : Errno(ENOTEMPTY);
                             default:
                               return Errno(ENOTEMPTY);
                           }
                         });
}

Result<void> check_empty(const Volume& volume, FolderRef folder) {
  HiddenEntries found;
  return find_hidden(volume, folder, found);
}

}  // namespace paes::volume
