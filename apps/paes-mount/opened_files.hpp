// SPDX-License-Identifier: Apache-2.0
// Files of a mount that are open.
#pragma once

#include <time.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "paes-mount/mount_context.hpp"
#include "volume/change/writable_file.hpp"

namespace paes::mount {

// What the system has held back changes the time of modification only when it is written. The file
// gets the time in which the system believes.
void settle_time(const Mount& mount, const std::optional<timespec>& believed, FileRef descriptor);

// A change of a file through this mount, as long as it goes on (Node::begin_change).
class OwnChange {
 public:
  // `mount` and `descriptor` outlive this.
  OwnChange(const Mount& mount, SharedNode node, FileRef descriptor);
  ~OwnChange();
  OwnChange(const OwnChange&) = delete;
  OwnChange& operator=(const OwnChange&) = delete;

 private:
  const Mount* mount_;
  SharedNode node_;
  FileRef descriptor_;
};

// What the system holds of a file that it has opened.
struct FileHandle {
  SharedNode node;
  std::shared_ptr<volume::WritableFile> file;
  std::string path;                   // for messages
  std::unique_ptr<OwnChange> change;  // null unless open for writing; destroyed before `file`
};

// Opens the file of a node. ESTALE: it is not there any more, or others have changed it and the
// system has to look it up anew.
[[nodiscard]] Result<std::unique_ptr<FileHandle>> open_file(Mount& mount, const SharedNode& node,
                                                            bool can_write);
// The handle of a file that is open already.
[[nodiscard]] std::unique_ptr<FileHandle> new_handle(Mount& mount, const SharedNode& node,
                                                     volume::WritableFile file, bool can_write);

// Says in `file` what the system may keep of a file that it opens.
void set_cache(const Mount& mount, Node& node, const struct stat& status, fuse_file_info& file);

}  // namespace paes::mount
