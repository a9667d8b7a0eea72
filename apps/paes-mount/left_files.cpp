// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/left_files.hpp"

#include <utility>
#include <vector>

namespace paes::mount {

void LeftFiles::keep(const SharedNode& node, std::shared_ptr<const Descriptor> place) {
  std::vector<SharedNode> closed;  // what has lost its place is destroyed outside of the lock
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    while (!files_.empty() &&
           (files_.size() >= max_files_ || now - files_.front().since >= longest)) {
      if (SharedNode oldest = files_.front().node.lock()) {
        closed.push_back(std::move(oldest));
      }
      files_.pop_front();
    }
    files_.push_back({node, now});
  }
  node->keep_left(std::move(place));
  for (const SharedNode& old : closed) {
    if (old != node) {
      old->drop_left();
    }
  }
}

}  // namespace paes::mount
