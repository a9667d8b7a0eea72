// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/backed_nodes.hpp"

namespace paes::mount {

namespace {

// What is no longer where it was found. The system looks it up anew then.
Errno stale_instead_of_absent(Errno error) noexcept {
  return error.is(ENOENT, ENOTDIR, ELOOP) ? Errno(ESTALE) : error;
}

// What is still open of a node that has no name: a file, or its place. Null: nothing.
std::shared_ptr<const Descriptor> place_left(const SharedNode& node) {
  struct OpenPlace {
    std::shared_ptr<volume::WritableFile> file;  // stays open
    Descriptor descriptor;
  };
  if (std::shared_ptr<volume::WritableFile> file = node->open_file()) {
    Descriptor descriptor(file->descriptor().number(), false);
    auto place = std::make_shared<OpenPlace>(OpenPlace{std::move(file), std::move(descriptor)});
    return {place, &place->descriptor};
  }
  return node->left();
}

}  // namespace

Result<void> check_has_name(const Mount& mount, const Node& node, const BackedName& backed) {
  const Result<struct stat> status = mount.backing().status({backed.descriptor(), backed.name()});
  return status && is_of(node, *status) ? Result<void>()
         : status                       ? Errno(ESTALE)
                                        : stale_instead_of_absent(status.error());
}

Result<NodeStatus> status_at(Mount& mount, volume::EntryRef entry) {
  const Result<struct stat> backing = mount.backing().status(entry);
  if (!backing) {
    return backing.error();
  }
  return NodeStatus{*backing, mount.shown(*backing, entry)};
}

Result<NodeStatus> status_of(Mount& mount, const SharedNode& node) {
  if (const SharedFolder folder = mount.nodes().kept_folder(*node)) {
    return status_at(mount, folder->folder.descriptor());
  }
  if (const std::shared_ptr<volume::WritableFile> file = node->open_file()) {
    return status_at(mount, file->descriptor());
  }
  Result<NodeStatus> status =
      at_name(mount, node, [&](const BackedName& backed) -> Result<NodeStatus> {
        Result<NodeStatus> named = status_at(mount, {backed.descriptor(), backed.name()});
        if (!named) {
          return stale_instead_of_absent(named.error());
        }
        return is_of(*node, named->backing) ? named : Errno(ESTALE);
      });
  if (status.failed_with(ESTALE)) {
    if (const std::shared_ptr<const Descriptor> left = place_left(node)) {
      return status_at(mount, *left);
    }
  }
  return status;
}

Result<Descriptor> open_backing(Mount& mount, const SharedNode& node, int flags) {
  const volume::Backing& backing = mount.backing();
  NodeTable& nodes = mount.nodes();
  Result<Descriptor> opened =
      at_name(mount, node, [&](const BackedName& backed) -> Result<Descriptor> {
        Result<Descriptor> named = with_descriptors(
            nodes, [&] { return backing.open(backed.descriptor(), backed.name(), flags); });
        if (!named) {
          const Result<void> has_name = check_has_name(mount, *node, backed);
          return has_name ? std::move(named) : has_name.error();
        }
        const Result<struct stat> status = backing.status(*named);
        if (!status || !is_of(*node, *status)) {
          return status ? Errno(ESTALE) : status.error();
        }
        return named;
      });
  if (opened.failed_with(ESTALE)) {
    if (const std::shared_ptr<const Descriptor> left = place_left(node)) {
      opened = with_descriptors(nodes, [&] { return backing.open_again(*left, flags); });
      // The path in /proc may be what is absent.
      return opened ? std::move(opened) : stale_instead_of_absent(opened.error());
    }
  }
  return opened;
}

// Attributes of a file that may not be read are found through its place, which takes longer. So are
// those of pipes and devices, because to open such a thing is to use it.
Result<Descriptor> open_for_attributes(Mount& mount, const SharedNode& node) {
  if (node->type == S_IFREG) {
    Result<Descriptor> opened = open_backing(mount, node, O_RDONLY | O_NONBLOCK);
    if (!opened.failed_with(EACCES)) {
      return opened;
    }
  }
  return open_backing(mount, node, O_PATH);
}

}  // namespace paes::mount
