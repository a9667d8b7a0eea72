// SPDX-License-Identifier: Apache-2.0
#include "volume/read/hidden_names.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"
#include "volume/read/listing.hpp"

namespace paes::volume {

namespace {

// No hash in Base 64 has the length of what follows here.
constexpr std::string_view hidden_mark = "paes-";
constexpr std::string_view plain_prefix = ".paes-put-";
constexpr std::size_t digits = 16;

std::string random_digits() {
  std::array<std::uint8_t, digits / 2> random;
  random_bytes(random);
  std::array<char, digits + 1> text;
  (void)std::snprintf(text.data(), text.size(), "%016llx",
                      static_cast<unsigned long long>(load_be64(random.data())));
  return text.data();
}

// With plain names what looks like the file of a long name is the user's.
bool has_hidden_names(const Volume& volume) noexcept {
  return !volume.features().has_plaintext_names;
}

}  // namespace

std::string new_hidden_name() {
  std::string name(vault::long_name_prefix);
  name += hidden_mark;
  name += random_digits();
  name += vault::long_name_suffix;
  return name;
}

bool is_hidden_name(std::string_view stored) noexcept {
  constexpr std::size_t bytes =
      vault::long_name_prefix.size() + hidden_mark.size() + digits + vault::long_name_suffix.size();
  return stored.size() == bytes && stored.starts_with(vault::long_name_prefix) &&
         stored.substr(vault::long_name_prefix.size()).starts_with(hidden_mark) &&
         stored.ends_with(vault::long_name_suffix);
}

std::string new_hidden_name(const Volume& volume) {
  return has_hidden_names(volume) ? new_hidden_name() : std::string(plain_prefix) + random_digits();
}

bool is_hidden(const Volume& volume, std::string_view stored) noexcept {
  if (has_hidden_names(volume)) {
    return is_hidden_name(stored);
  }
  return stored.size() == plain_prefix.size() + digits && stored.starts_with(plain_prefix) &&
         stored.find_first_not_of("0123456789abcdef", plain_prefix.size()) ==
             std::string_view::npos;
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
