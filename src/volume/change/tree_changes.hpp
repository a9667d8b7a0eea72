// SPDX-License-Identifier: Apache-2.0
// Names in a volume are made, moved and removed. Each call is several on the backing tree, in such
// an order that after each of them a name has what it had before or what it gets, and that what is
// left over is hidden from all who list the folder. After a failure everything is as before.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "volume/change/writable_file.hpp"
#include "volume/change/writable_volume.hpp"

namespace paes::volume {

struct Owner {
  uid_t user;
  gid_t group;  // a folder with S_ISGID gives its own instead
};

// What something new gets. The process's umask applies to the mode. Without an owner it belongs to
// whoever makes it, as far as the system is concerned. If another process gives its name to
// something else in the backing tree meanwhile, that is not given to the owner.
struct NewEntry {
  mode_t mode = 0;
  std::optional<Owner> owner;
  // Syncs a folder's IV and its long name before the folder gets its name. Without this, a power
  // failure before the next sync can leave a folder that nobody can open.
  bool is_synced_first = false;
};

// EEXIST if something has the name.
[[nodiscard]] Result<WritableFile> create_file(WritableVolume& volume, const Folder& folder,
                                               std::string_view name, const NewEntry& entry);
[[nodiscard]] Result<void> make_folder(WritableVolume& volume, const Folder& folder,
                                       std::string_view name, const NewEntry& entry);
// A pipe, a socket, a device or an empty file, as entry.mode says.
[[nodiscard]] Result<void> make_node(WritableVolume& volume, const Folder& folder,
                                     std::string_view name, const NewEntry& entry, dev_t device);
[[nodiscard]] Result<void> make_link(WritableVolume& volume, const Folder& folder,
                                     std::string_view name, std::string_view target,
                                     const std::optional<Owner>& owner);
// One more name for something in the backing tree. This and rename() sync the volume's own files
// first, so that nothing that is on disk comes to depend on what is not.
[[nodiscard]] Result<void> add_name(WritableVolume& volume, EntryRef entry, const Folder& folder,
                                    std::string_view name);

// `flags` as renameat2(2): 0, RENAME_NOREPLACE or RENAME_EXCHANGE, or RENAME_WHITEOUT with or
// without the first; EINVAL for others, and where the backing file system can neither exchange
// names nor leave whiteouts. A whiteout is stored as the system makes it, a device file that
// overlayfs knows. Where an empty folder is replaced, a crash may leave it under the old name;
// where names cannot be exchanged, it may be gone and the other folder have its old name still.
[[nodiscard]] Result<void> rename(WritableVolume& volume, const Folder& folder,
                                  std::string_view name, const Folder& to_folder,
                                  std::string_view to_name, unsigned flags);

// Everything but a folder.
[[nodiscard]] Result<void> remove_file(WritableVolume& volume, const Folder& folder,
                                       std::string_view name);
// ENOTEMPTY if it has entries. What a crash may have left over in it is removed, too.
[[nodiscard]] Result<void> remove_folder(WritableVolume& volume, const Folder& folder,
                                         std::string_view name);

}  // namespace paes::volume
