// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/file_operations.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "paes-mount/given_handles.hpp"
#include "paes-mount/opened_files.hpp"
#include "paes-mount/privileges.hpp"
#include "paes-mount/replies.hpp"
#include "volume/change/attribute_changes.hpp"
#include "volume/change/holes.hpp"

namespace paes::mount {

namespace {

// Before something is written.
Result<void> take_privileges(const Mount& mount, const FileHandle& opened) {
  const FileRef descriptor = opened.file->descriptor();
  const Result<struct stat> status = mount.backing().status(descriptor);
  if (!status || (status->st_mode & (S_ISUID | S_ISGID)) == 0) {
    return Result<void>(status);
  }
  const Result<void> removed = volume::remove_privileges(mount.volume(), descriptor);
  if (removed) {
    mount.forget_attributes(*opened.node);  // the system does not expect another mode
  }
  return removed;
}

// For requests that do not say whether they take privileges away.
Result<void> take_unless_kept(const Mount& mount, fuse_req_t request, const FileHandle& opened) {
  const bool keeps = !has_to_take_privileges() || fuse_req_ctx(request)->uid == 0;
  return keeps ? Result<void>() : take_privileges(mount, opened);
}

// After a failed write the system keeps a wrong size for the node. We make it look up a new node,
// with the right size: at once under the name that we know, under other names when it next asks for
// the attributes.
void forget_size(Mount& mount, const SharedNode& node) {
  constexpr std::chrono::milliseconds patience(500);
  const SharedNode known = mount.nodes().disown(node);
  if (known == nullptr) {
    return;
  }
  mount.forget_attributes(*known);
  const std::shared_ptr<const NodePlace> place = known->place();
  mount.forget_name(place->parent, place->name, patience);
}

}  // namespace

void open(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  const bool can_write = (file->flags & O_ACCMODE) != O_RDONLY;
  if (can_write && !mount.is_writable()) {
    return reply_error(request, Errno(EROFS));
  }
  const SharedNode node = mount.node_of(number);
  Result<std::unique_ptr<FileHandle>> opened = open_file(mount, node, can_write);
  if (!opened) {
    return reply_error(request, opened.error());
  }
  const Result<struct stat> status = mount.backing().status((*opened)->file->descriptor());
  if (!status) {
    return reply_error(request, status.error());
  }
  set_cache(mount, *node, *status, *file);
  if (!mount.holds_writes_back() && !node->are_as_told(*status)) {
    // The system would read no further than the length that it knows.
    mount.forget_attributes(*node);
  }
  reply_open(mount, request, std::move(*opened), *file);
}

void read(Mount& /*mount*/, fuse_req_t request, fuse_ino_t /*number*/, std::size_t bytes,
          off_t offset, fuse_file_info* file) {
  const FileHandle& opened = *handle_of<FileHandle>(*file);
  const MutableBytes text = reply_buffer(bytes);
  const Result<std::size_t> filled =
      opened.file->read(static_cast<std::uint64_t>(offset), text, opened.path);
  if (!filled) {
    return reply_error(request, filled.error());
  }
  reply_bytes(request, text.first(*filled));
}

void write(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, const char* from,
           std::size_t bytes, off_t offset, fuse_file_info* file) {
  const FileHandle& opened = *handle_of<FileHandle>(*file);
  if (takes_privileges()) {
    if (const Result<void> taken = take_privileges(mount, opened); !taken) {
      return reply_error(request, taken.error());
    }
  }
  const Bytes text(reinterpret_cast<const std::uint8_t*>(from), bytes);
  const auto begin = static_cast<std::uint64_t>(offset);
  Result<std::size_t> written = opened.file->write(begin, text, opened.path);
  if (file->writepage == 0) {
    return reply_written(request, written);
  }
  // What the system has held back is written at last. It takes all of it for written unless there
  // is an error, which whoever syncs or closes the file gets. So the rest is tried, too.
  for (std::size_t done = written ? *written : 0; written && done < text.size();) {
    written = opened.file->write(begin + done, text.subspan(done), opened.path);
    done += written ? *written : 0;
  }
  if (!written) {
    mount.note_lost(written.error());
    mount.volume().report(
        {opened.path, "what was written to it cannot be stored: " + written.error().message()});
    forget_size(mount, opened.node);
    return reply_error(request, written.error());
  }
  reply_written(request, text.size());
}

// What is written to a file may lie in the system's cache, which neither asks here what it holds
// nor says so. Whoever took that for a hole would copy zeros. So nothing is said of holes while
// somebody has the file open to be written. With write-back, the system may also know of a greater
// length, and then nothing right can be said: EINVAL is what programs get that have no such call,
// and they read everything.
void lseek(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, off_t offset, int whence,
           fuse_file_info* file) {
  const FileHandle& opened = *handle_of<FileHandle>(*file);
  if (whence != SEEK_DATA && whence != SEEK_HOLE) {
    return reply_error(request, Errno(EINVAL));
  }
  const bool is_data = whence == SEEK_DATA;
  const auto from = static_cast<std::uint64_t>(offset);
  Result<std::uint64_t> found = Errno(EINVAL);
  if (opened.node->open_file(true) == nullptr) {
    found = is_data ? volume::next_data(mount.volume(), *opened.file, opened.path, from)
                    : volume::next_hole(mount.volume(), *opened.file, opened.path, from);
  } else if (!mount.holds_writes_back()) {
    found = opened.file->length();
    if (found) {
      found = from >= *found ? Result<std::uint64_t>(Errno(ENXIO)) : is_data ? from : *found;
    }
  }
  found ? (void)fuse_reply_lseek(request, static_cast<off_t>(*found))
        : reply_error(request, found.error());
}

void fsync(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, int data_only,
           fuse_file_info* file) {
  const FileHandle& opened = *handle_of<FileHandle>(*file);
  settle_time(mount, opened.node->believed(), opened.file->descriptor());
  reply_status(request, opened.file->sync(data_only != 0));
}

void fallocate(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, int mode, off_t offset,
               off_t bytes, fuse_file_info* file) {
  const FileHandle& opened = *handle_of<FileHandle>(*file);
  reply_status(request, take_unless_kept(mount, request, opened).and_then([&] {
    return opened.file->allocate(mode, static_cast<std::uint64_t>(offset),
                                 static_cast<std::uint64_t>(bytes), opened.path);
  }));
}

void copy_file_range(Mount& mount, fuse_req_t request, fuse_ino_t /*from_number*/,
                     off_t from_offset, fuse_file_info* from, fuse_ino_t /*to_number*/,
                     off_t to_offset, fuse_file_info* to, std::size_t bytes, int /*flags*/) {
  // The system asks again for the rest. So no request takes longer than others may wait.
  constexpr std::size_t most = std::size_t{16} << 20;
  const FileHandle& source = *handle_of<FileHandle>(*from);
  const FileHandle& target = *handle_of<FileHandle>(*to);
  reply_written(request, take_unless_kept(mount, request, target).and_then([&] {
    return volume::copy_range(*source.file, static_cast<std::uint64_t>(from_offset), source.path,
                              *target.file, static_cast<std::uint64_t>(to_offset), target.path,
                              std::min(bytes, most));
  }));
}

void release(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* file) {
  close_handle<FileHandle>(mount, *file);
  reply_ok(request);
}

}  // namespace paes::mount
