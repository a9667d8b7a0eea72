// SPDX-License-Identifier: Apache-2.0
// Where a node's file or folder is found in the backing tree, whatever names it has by now.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "paes-mount/mount_context.hpp"
#include "volume/change/writable_file.hpp"

namespace paes::mount {

// A name of a node, in a folder that is held open meanwhile.
struct BackedName {
  SharedFolder folder;
  std::shared_ptr<const NodePlace> place;  // not the root's
  [[nodiscard]] FolderRef descriptor() const noexcept { return folder->folder.descriptor(); }
  [[nodiscard]] const char* name() const noexcept { return place->stored.c_str(); }
};

// What stat(2) says of something in the backing tree, and what the system is told of it.
struct NodeStatus {
  struct stat backing;
  struct stat shown;
};

[[nodiscard]] inline bool is_of(const Node& node, const struct stat& status) noexcept {
  return key_of(status) == node.key && (status.st_mode & S_IFMT) == node.type;
}

// ESTALE if something else has the node's name by now, or nothing has it.
[[nodiscard]] Result<void> check_has_name(const Mount& mount, const Node& node,
                                          const BackedName& backed);

// The status of something in the backing tree.
[[nodiscard]] Result<NodeStatus> status_at(Mount& mount, volume::EntryRef entry);
[[nodiscard]] Result<NodeStatus> status_of(Mount& mount, const SharedNode& node);

// Opens what the node stands for in the backing tree. ESTALE: it is not there any more.
[[nodiscard]] Result<Descriptor> open_backing(Mount& mount, const SharedNode& node, int flags);
// Opens it so that its extended attributes can be read.
[[nodiscard]] Result<Descriptor> open_for_attributes(Mount& mount, const SharedNode& node);

// Calls `use`, whose answer is a Result, with each name under which the node may be found, until
// the answer is not ESTALE: `use` says so of a name that something else has by now.
template <typename Use>
[[nodiscard]] auto at_name(Mount& mount, const SharedNode& node, const Use& use) {
  using Answer = decltype(use(std::declval<const BackedName&>()));
  const auto at = [&](const std::shared_ptr<const NodePlace>& place) -> Answer {
    if (place->parent == nullptr) {
      return Errno(EINVAL);  // the root has no name
    }
    Result<SharedFolder> folder = mount.nodes().folder(place->parent);
    return folder ? use(BackedName{std::move(*folder), place}) : folder.error();
  };
  Answer answer = at(node->place());
  if (!answer.failed_with(ESTALE)) {
    return answer;
  }
  for (const std::shared_ptr<const NodePlace>& place : node->other_places()) {
    Answer other = at(place);
    if (!other.failed_with(ESTALE)) {
      return other;
    }
  }
  return answer;
}

// Calls `open`, whose answer is a Result. Calls it again after folders were closed, if the process
// had no descriptor left.
template <typename Open>
[[nodiscard]] auto with_descriptors(NodeTable& nodes, const Open& open) {
  auto opened = open();
  if (!opened.failed_with(EMFILE, ENFILE)) {
    return opened;
  }
  nodes.close_folders();
  return open();
}

// Calls `use` with a descriptor through which a node's attributes are found, perhaps a mere place
// (O_PATH): a folder that is kept, a file that is open, whose name may be gone, or what is opened
// for this call. Its answer is a Result.
template <typename Use>
[[nodiscard]] auto with_place(Mount& mount, const SharedNode& node, int flags, const Use& use)
    -> decltype(use(FileRef())) {
  if (node->type == S_IFDIR) {
    const Result<SharedFolder> folder = mount.nodes().folder(node);
    return folder ? use((*folder)->folder.descriptor()) : folder.error();
  }
  if (const std::shared_ptr<volume::WritableFile> file = node->open_file()) {
    return use(file->descriptor());
  }
  const Result<Descriptor> opened =
      flags == O_PATH ? open_backing(mount, node, O_PATH) : open_for_attributes(mount, node);
  return opened ? use(*opened) : opened.error();
}

}  // namespace paes::mount
