// SPDX-License-Identifier: Apache-2.0
#include "volume/change/whole_sync.hpp"

namespace paes::volume {

WholeSync::WholeSync(const Backing& backing, FileRef root) : backing_(backing), root_(root) {
  if (const Result<struct stat> status = backing.status(root); status) {
    device_ = status->st_dev;
    reports_ = backing.reports_sync_errors(root);
  }
}

Result<void> WholeSync::sync() {
  const std::lock_guard lock(mutex_);
  const Result<void> synced = backing_.sync_file_system(root_);
  lost_ = lost_ ? synced : lost_;
  return lost_;
}

}  // namespace paes::volume
