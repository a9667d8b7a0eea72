// SPDX-License-Identifier: Apache-2.0
// A folder of a volume: its IV, the names in it, and under which names they are stored.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "volume/read/volume.hpp"

namespace paes::volume {

// Under which name something is stored. A long one has a hash here, and its encoded name in a file
// beside it.
struct StoredName {
  std::string name;
  std::string encoded;  // of a long name alone
};

struct FolderEntry {
  std::string name;    // in the volume
  std::string stored;  // in the backing tree
  std::uint64_t inode = 0;
  unsigned char type = 0;  // DT_* of readdir(3), perhaps DT_UNKNOWN
};

// The path of what has that name in a folder with that path; the root's is empty.
[[nodiscard]] std::string path_of(std::string_view folder, std::string_view name);

// Open, with its IV read. Immutable, hence safe to use from any number of threads, but for list().
class Folder {
 public:
  // The folder stored under that name in a folder of the backing tree; an empty name: the volume's
  // root. EIO if its IV is damaged, after `path` has been reported. One that this process may pass
  // through but not list opens too.
  [[nodiscard]] static Result<Folder> open(const Volume& volume, FolderRef parent,
                                           const char* stored, std::string_view path);

  [[nodiscard]] FolderRef descriptor() const noexcept { return FolderRef(descriptor_); }
  [[nodiscard]] const vault::FolderIv& iv() const noexcept { return iv_; }

  // Under which name `name` is or would be stored. ENAMETOOLONG above 255 bytes, ENOENT for a name
  // that the volume keeps for itself or that no file can have.
  [[nodiscard]] Result<StoredName> stored_name(std::string_view name) const;

  // The other direction. ENOENT for what the volume keeps for itself and for what is no longer
  // there. EIO if the name is damaged, after it has been reported; `path` is the folder's. A long
  // name takes reading a file: refusals (EACCES, EPERM) and shortages (ENOMEM, EMFILE, ENFILE) come
  // out as they are.
  [[nodiscard]] Result<std::string> name_of(std::string_view stored, std::string_view path) const;

  // What an entry of this folder is. NameCipher::kind_of does not know which folder is the root.
  [[nodiscard]] vault::StoredKind kind_of(std::string_view stored) const noexcept;

  // Calls `visit` with each entry of the folder, "." and ".." left out. Damaged names are reported
  // and left out, and so are long names that may not be read. A shortage ends the listing.
  // One call at a time.
  [[nodiscard]] Result<void> list(std::string_view path,
                                  const std::function<void(FolderEntry)>& visit) const;

 private:
  Folder(const Volume& volume, Descriptor descriptor, bool is_root)
      : volume_(&volume), descriptor_(std::move(descriptor)), is_root_(is_root) {}

  [[nodiscard]] Result<void> read_iv(std::string_view path,
                                     const std::function<bool()>& has_lost_name);
  [[nodiscard]] Result<std::string> long_name_of(std::string_view stored,
                                                 std::string_view path) const;

  const Volume* volume_;
  Descriptor descriptor_;
  vault::FolderIv iv_{};
  bool is_root_;
};

}  // namespace paes::volume
