// SPDX-License-Identifier: Apache-2.0
#include "volume/read/open_files.hpp"

namespace paes::volume {

std::optional<vault::FileId> OpenFile::id() const {
  const std::lock_guard lock(mutex_);
  return id_;
}

void OpenFile::set_id(const std::optional<vault::FileId>& id) {
  if (!keeps_id_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  id_ = id;
}

std::shared_ptr<OpenFile> OpenFiles::of(const struct stat& status) {
  const Key key(status.st_dev, status.st_ino);
  const std::lock_guard lock(table_->mutex);
  std::weak_ptr<OpenFile>& entry = table_->files[key];
  if (std::shared_ptr<OpenFile> known = entry.lock(); known != nullptr) {
    return known;
  }
  const auto forget = [table = table_, key](OpenFile* file) {
    {
      const std::lock_guard forgetting(table->mutex);
      const auto found = table->files.find(key);
      // Somebody may have opened the file anew since the last one let go of it.
      if (found != table->files.end() && found->second.expired()) {
        table->files.erase(found);
      }
    }
    delete file;
  };
  std::shared_ptr<OpenFile> file(new OpenFile(keeps_ids_), forget);
  entry = file;
  return file;
}

}  // namespace paes::volume
