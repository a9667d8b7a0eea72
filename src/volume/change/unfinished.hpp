// SPDX-License-Identifier: Apache-2.0
// A file or a symbolic link that is made beside what it replaces, and takes its name in one step
// once it is complete. Whatever ends the process, the name has the old or the new content, and what
// is left over has a hidden name (read/hidden_names.hpp), by which the next writer knows it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "volume/change/writable_file.hpp"
#include "volume/change/writable_volume.hpp"

namespace paes::volume {

class Unfinished {
 public:
  // Makes nothing yet. `volume` outlives this.
  Unfinished(WritableVolume& volume, std::shared_ptr<const Folder> folder);
  ~Unfinished();  // removes what has not taken a name
  Unfinished(Unfinished&&) = default;
  Unfinished& operator=(Unfinished&&) = delete;

  [[nodiscard]] const std::shared_ptr<const Folder>& folder() const noexcept { return folder_; }
  // What was made, until it takes its name.
  [[nodiscard]] EntryRef entry() const noexcept { return {folder_->descriptor(), stored_.c_str()}; }

  // An empty file for this user alone.
  [[nodiscard]] Result<WritableFile> make_file();
  [[nodiscard]] Result<void> make_link(std::string_view target);

  // Gives it the name, in place of what has it if `replaces`; otherwise EEXIST. A folder is never
  // replaced: EISDIR. The content must be synced before, and the folder after it.
  [[nodiscard]] Result<void> take_name(std::string_view name, bool replaces);

 private:
  WritableVolume* volume_;
  std::shared_ptr<const Folder> folder_;  // null: moved from
  std::string stored_;
  bool is_there_ = false;
};

// Removes what killed writers have left in the folder. The caller knows that nobody else writes.
void remove_unfinished(WritableVolume& volume, const Folder& folder);

}  // namespace paes::volume
