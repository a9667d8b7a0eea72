// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/opened_files.hpp"

#include <fcntl.h>

#include <cerrno>
#include <ctime>

#include "paes-mount/backed_nodes.hpp"
#include "paes-mount/privileges.hpp"
#include "volume/change/attribute_changes.hpp"

namespace paes::mount {

using volume::WritableFile;

void settle_time(const Mount& mount, const std::optional<timespec>& believed, FileRef descriptor) {
  if (!mount.holds_writes_back() || !believed) {
    return;
  }
  const Result<struct stat> status = mount.backing().status(descriptor);
  if (status && S_ISREG(status->st_mode) &&
      (status->st_mtim.tv_sec != believed->tv_sec ||
       status->st_mtim.tv_nsec != believed->tv_nsec)) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, *believed};
    // An error leaves the time at which the content was stored, which is later.
    (void)mount.backing().set_times(descriptor, times);
  }
}

OwnChange::OwnChange(const Mount& mount, SharedNode node, FileRef descriptor)
    : mount_(&mount), node_(std::move(node)), descriptor_(descriptor) {
  const std::uint64_t changes = node_->changes();
  const Result<struct stat> before = mount_->backing().status(descriptor_);
  node_->begin_change(before ? &*before : nullptr, changes);
}

OwnChange::~OwnChange() {
  node_->end_change([&](const std::optional<timespec>& believed) {
    settle_time(*mount_, believed, descriptor_);
    return mount_->backing().status(descriptor_);
  });
}

std::unique_ptr<FileHandle> new_handle(Mount& mount, const SharedNode& node, WritableFile file,
                                       bool can_write) {
  auto shared = std::make_shared<WritableFile>(std::move(file));
  const FileRef descriptor = shared->descriptor();
  auto handle = std::make_unique<FileHandle>();
  handle->node = node;
  handle->file = shared;
  handle->path = mount.nodes().path_of(*node);
  if (can_write) {
    handle->change = std::make_unique<OwnChange>(mount, node, descriptor);
  }
  node->opened({shared, can_write});
  return handle;
}

Result<std::unique_ptr<FileHandle>> open_file(Mount& mount, const SharedNode& node,
                                              bool can_write) {
  const std::uint64_t changes = node->changes();
  // Parts of blocks are read before they are written, so what is written is read, too. Others may
  // have put a pipe there: nobody waits for its other end.
  Result<Descriptor> opened =
      open_backing(mount, node, (can_write ? O_RDWR : O_RDONLY) | O_NONBLOCK);
  if (!opened) {
    return opened.error();
  }
  if (mount.holds_writes_back()) {
    // The system does not take sizes and times from here while it knows the file. For a file that
    // others have changed it has to look up a new node.
    const Result<struct stat> status = mount.backing().status(*opened);
    if (!status || node->has_changed_outside(*status, changes)) {
      return status ? Errno(ESTALE) : status.error();
    }
  }
  if (can_write && !mount.options().has_suid) {
    // The system does not see capabilities here, so it cannot take them away when it writes.
    const Result<void> removed =
        volume::remove_attribute(mount.volume(), *opened, capabilities_attribute);
    if (!removed && !removed.failed_with(ENODATA, EOPNOTSUPP)) {
      return removed.error();
    }
  }
  Result<WritableFile> file = WritableFile::open(mount.writable(), std::move(*opened));
  if (!file) {
    return file.error();
  }
  return new_handle(mount, node, std::move(*file), can_write);
}

void set_cache(const Mount& mount, Node& node, const struct stat& status, fuse_file_info& file) {
  // In a mount that holds writes back, open_file() refuses a file that others have changed.
  const bool may_keep =
      mount.holds_writes_back() || node.may_keep_cache(status, std::time(nullptr));
  file.keep_cache = may_keep ? 1 : 0;
}

}  // namespace paes::mount
