// SPDX-License-Identifier: Apache-2.0
// The system counts how often it was told of a node, and forgets the node as often.
#pragma once

#include <sys/stat.h>

#include <string_view>
#include <utility>

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

// A lookup of a node, which is taken back unless the system gets to know of it.
class CountedLookup {
 public:
  CountedLookup(NodeTable& nodes, SharedNode node) noexcept
      : nodes_(&nodes), node_(std::move(node)) {}
  CountedLookup(CountedLookup&& other) noexcept
      : nodes_(other.nodes_), node_(std::move(other.node_)) {}
  CountedLookup& operator=(CountedLookup&&) = delete;
  ~CountedLookup() {
    if (node_ != nullptr) {
      nodes_->forget(*node_, 1);
    }
  }

  [[nodiscard]] const SharedNode& node() const noexcept { return node_; }
  Node* operator->() const noexcept { return node_.get(); }
  Node& operator*() const noexcept { return *node_; }

  // The system has it. The node may be forgotten, and gone, from now on.
  void given() noexcept { node_.reset(); }

 private:
  NodeTable* nodes_;
  SharedNode node_;
};

// Enters what was found by a name in a folder, as NodeTable does; a file that others have changed
// as another node. `status` is what was found, and is brought up to date.
[[nodiscard]] CountedLookup enter(Mount& mount, const SharedNode& parent,
                                  const volume::Folder& folder, std::string_view name,
                                  const char* stored, struct stat& status);

}  // namespace paes::mount
