// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/counted_lookup.hpp"

namespace paes::mount {

CountedLookup enter(Mount& mount, const SharedNode& parent, const volume::Folder& folder,
                    std::string_view name, const char* stored, struct stat& status) {
  NodeTable& nodes = mount.nodes();
  if (mount.holds_writes_back() && S_ISREG(status.st_mode)) {
    if (const SharedNode known = nodes.known(key_of(status)); known != nullptr) {
      const std::uint64_t changes = known->changes();
      if (known->has_changed_outside(status, changes)) {
        // Or a change of our own has ended since the caller looked.
        const Result<struct stat> now = mount.backing().status({folder.descriptor(), stored});
        if (now && key_of(*now) == known->key) {
          status = *now;
          if (known->has_changed_outside(status, changes)) {
            nodes.retire(known);
          }
        }
      }
    }
  }
  CountedLookup found(nodes, nodes.enter(parent, name, stored, status));
  found->note_first(status);
  return found;
}

}  // namespace paes::mount
