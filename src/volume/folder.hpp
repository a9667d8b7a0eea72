// A folder of a volume: its IV, the names in it, and under which names they are stored.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "volume/volume.hpp"

namespace paes::volume {

// Under which name something is stored. A long one has a hash here, and its encoded name in a file
// beside it.
struct StoredName {
  std::string name;
  std::string encoded;  // of a long name alone
};

struct Entry {
  std::string name;    // in the volume
  std::string stored;  // in the backing tree
  std::uint64_t inode = 0;
  unsigned char type = 0;  // DT_* of readdir(3), perhaps DT_UNKNOWN
};

// Open, with its IV read. Immutable, hence safe to use from any number of threads, but for list().
class Folder {
 public:
  // The folder stored under that name in a folder of the backing tree; an empty name: the volume's
  // root. EIO if its IV is damaged, after `path` has been reported.
  [[nodiscard]] static Result<Folder> open(const Volume& volume, int parent, const char* stored,
                                           std::string_view path);

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }
  [[nodiscard]] const vault::FolderIv& iv() const noexcept { return iv_; }

  // Under which name `name` is or would be stored. ENAMETOOLONG above 255 bytes, ENOENT for a name
  // that the volume keeps for itself.
  [[nodiscard]] Result<StoredName> stored_name(std::string_view name) const;

  // Calls `visit` with each entry of the folder, "." and ".." left out. Damaged names are reported
  // and left out. 0, or the error that ended the listing. One call at a time.
  [[nodiscard]] int list(std::string_view path, const std::function<void(Entry)>& visit) const;

 private:
  Folder(const Volume& volume, Descriptor descriptor, const vault::FolderIv& iv)
      : volume_(&volume), descriptor_(std::move(descriptor)), iv_(iv) {}

  const Volume* volume_;
  Descriptor descriptor_;
  vault::FolderIv iv_;
};

}  // namespace paes::volume
