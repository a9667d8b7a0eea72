// SPDX-License-Identifier: Apache-2.0
// Files that have lost their last name a moment ago. The system looks a name up first and opens
// what it has found after that. On other file systems the file is still there then, whatever has
// the name by now. So its place is held for a while, unless the system forgets the node before.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "core/descriptor.hpp"
#include "paes-mount/node_table.hpp"

namespace paes::mount {

// Safe to use from any number of threads.
class LeftFiles {
 public:
  // So many descriptors are held at most.
  explicit LeftFiles(std::size_t max_files) noexcept : max_files_(max_files) {}

  // `place` is open as a mere place (O_PATH).
  void keep(const SharedNode& node, std::shared_ptr<const Descriptor> place);

 private:
  using Clock = std::chrono::steady_clock;
  struct LeftFile {
    std::weak_ptr<Node> node;
    Clock::time_point since;
  };
  static constexpr std::chrono::seconds longest{10};

  const std::size_t max_files_;
  std::mutex mutex_;
  std::deque<LeftFile> files_;  // the oldest first
};

}  // namespace paes::mount
