// SPDX-License-Identifier: Apache-2.0
// The files that a volume keeps for itself beside those of its users are made and removed: encoded
// long names and the IVs of folders. read/hidden_names.hpp says which these are.
#pragma once

#include <string>

#include "volume/change/writable_volume.hpp"
#include "volume/read/hidden_names.hpp"

namespace paes::volume {

// Renames if nothing has the new name: renameat2(2) with RENAME_NOREPLACE, and two steps where the
// file system knows no flags. The caller has locked both folders.
[[nodiscard]] Result<void> rename_to_free_name(const Backing& backing, FolderRef folder,
                                               const char* name, FolderRef to_folder,
                                               const char* to_name);

// Writes a small file, which is then in the volume's list of what has to be synced. The file is
// gone again if that fails.
[[nodiscard]] Result<void> write_own_file(WritableVolume& volume, FolderRef folder,
                                          const char* name, Bytes bytes);
// The IV of a new folder.
[[nodiscard]] Result<void> write_folder_iv(WritableVolume& volume, FolderRef folder,
                                           const vault::FolderIv& iv);

// The file of a long name, which has to be there before something gets the name. For names that are
// not long nothing happens. The caller has locked the folder.
class LongNameFile {
 public:
  LongNameFile(WritableVolume& volume, FolderRef folder, const StoredName& stored)
      : volume_(volume), folder_(folder), stored_(stored) {}

  // Makes it. If there is one already, it stays, or is replaced if it does not hold this name.
  [[nodiscard]] Result<void> make();
  // If that has failed for which it was made, nothing got the name: removes the file, if nothing
  // had the name before. Gives back `named`.
  Result<void> undo_unless(Result<void> named);
  // Nothing has the name any more. What cannot be removed harms nobody.
  void remove();

 private:
  [[nodiscard]] std::string name() const;

  WritableVolume& volume_;
  FolderRef folder_;
  const StoredName& stored_;
  bool was_unused_ = false;
};

// Removes what has a hidden name, in a folder that the caller has locked. ENOTEMPTY for a folder
// that has entries.
[[nodiscard]] Result<void> remove_hidden(WritableVolume& volume, FolderRef folder,
                                         const std::string& name);

// Removes what is stored under `name`, a folder without entries in it, and everything hidden in
// that. `content` is that folder. ENOTEMPTY if it has entries. The caller has locked both.
[[nodiscard]] Result<void> remove_empty_folder(WritableVolume& volume, FolderRef parent,
                                               const std::string& name, FolderRef content);

}  // namespace paes::volume
