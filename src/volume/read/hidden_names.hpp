// SPDX-License-Identifier: Apache-2.0
// What a volume keeps for itself beside the files of its users: encoded long names, the IVs of
// folders, and under hidden names what is not complete yet, or no longer.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "volume/read/volume.hpp"

namespace paes::volume {

// Readers of the format take such a name for the file of some long name, and pass over it.
[[nodiscard]] std::string new_hidden_name();
[[nodiscard]] bool is_hidden_name(std::string_view stored) noexcept;
// In a volume with plain names readers of the format pass over nothing. There a hidden name is
// ".paes-put-" and 16 hexadecimal digits, and only paes does not show it.
[[nodiscard]] std::string new_hidden_name(const Volume& volume);
[[nodiscard]] bool is_hidden(const Volume& volume, std::string_view stored) noexcept;

// vault::folder_iv_name, as the system's calls take it.
[[nodiscard]] const char* folder_iv_file() noexcept;

// Whether the folders of the volume have IVs.
[[nodiscard]] bool has_folder_ivs(const Volume& volume) noexcept;

// What a folder has beside its IV that is the volume's own.
struct HiddenEntries {
  std::set<std::string> long_name_files;
  std::set<std::string> folders;
};

// ENOTEMPTY if the folder has anything but that.
[[nodiscard]] Result<void> find_hidden(const Volume& volume, FolderRef folder,
                                       HiddenEntries& hidden);

// ENOTEMPTY if the folder has anything but what is the volume's own. A caller to whom it matters
// that this stays so has locked the folder.
[[nodiscard]] Result<void> check_empty(const Volume& volume, FolderRef folder);

}  // namespace paes::volume
