// SPDX-License-Identifier: Apache-2.0
// Operations of a mounted vault that change a file's content, and the attributes of all that it
// has.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>

#include "paes-mount/handles.hpp"
#include "paes-mount/privileges.hpp"
#include "volume/change/attribute_changes.hpp"
#include "volume/read/attributes.hpp"

namespace paes::mount {

using volume::Failure;
using volume::Result;
using volume::WritableFile;

namespace {

constexpr const char* capabilities = "security.capability";

// For requests that do not say so themselves.
bool may_keep_privileges(fuse_req_t request) noexcept {
  return !has_to_take_privileges() || fuse_req_ctx(request)->uid == 0;
}

}  // namespace

// ---- files that are open

std::unique_ptr<MountedVault::OpenFile> MountedVault::new_handle(const SharedNode& node,
                                                                 WritableFile file,
                                                                 bool can_write) {
  auto shared = std::make_shared<WritableFile>(std::move(file));
  const int descriptor = shared->descriptor();
  auto handle = std::make_unique<OpenFile>();
  handle->node = node;
  handle->file = shared;
  handle->path = nodes_.path_of(*node);
  if (can_write) {
    handle->change = std::make_unique<OwnChange>(*this, node, descriptor);
  }
  node->opened({shared, can_write});
  return handle;
}

Result<std::unique_ptr<MountedVault::OpenFile>> MountedVault::open_file(const SharedNode& node,
                                                                        bool can_write) {
  const std::uint64_t changes = node->changes();
  // Parts of blocks are read before they are written, so what is written is read, too. Others may
  // have put a pipe there: nobody waits for its other end.
  Result<Descriptor> opened = open_backing(node, (can_write ? O_RDWR : O_RDONLY) | O_NONBLOCK);
  if (!opened) {
    return Failure{opened.error()};
  }
  if (options_.access == Access::write_back) {
    // The system does not take sizes and times from here while it knows the file. For a file that
    // others have changed it has to look up a new node.
    const Result<struct stat> status = volume_->backing().status(opened->number(), "");
    if (!status || node->has_changed_outside(*status, changes)) {
      return Failure{status ? ESTALE : status.error()};
    }
  }
  if (can_write && !options_.has_suid) {
    // The system does not see capabilities here, so it cannot take them away when it writes.
    const int error = volume::remove_attribute(*volume_, opened->number(), capabilities);
    if (error != 0 && error != ENODATA && error != EOPNOTSUPP) {
      return Failure{error};
    }
  }
  Result<WritableFile> file = WritableFile::open(writable_, std::move(*opened));
  if (!file) {
    return Failure{file.error()};
  }
  return new_handle(node, std::move(*file), can_write);
}

// Before something is written. 0 or an errno.
int MountedVault::take_privileges(const OpenFile& opened) {
  const int descriptor = opened.file->descriptor();
  const Result<struct stat> status = volume_->backing().status(descriptor, "");
  if (!status || (status->st_mode & (S_ISUID | S_ISGID)) == 0) {
    return status.error();
  }
  const int error = volume::remove_privileges(*volume_, descriptor);
  if (error == 0) {
    // The system does not expect another mode. There are no locks in the way of attributes alone.
    (void)fuse_lowlevel_notify_inval_inode(session, number_of(*opened.node), -1, 0);
  }
  return error;
}

void MountedVault::write(fuse_req_t request, Bytes text, off_t offset, const fuse_file_info* file) {
  const OpenFile& opened = *handle_of<OpenFile>(*file);
  if (const int error = takes_privileges() ? take_privileges(opened) : 0; error != 0) {
    return refuse(request, error);
  }
  const auto begin = static_cast<std::uint64_t>(offset);
  Result<std::size_t> written = opened.file->write(begin, text, opened.path);
  if (file->writepage == 0) {
    return written ? (void)fuse_reply_write(request, *written) : refuse(request, written.error());
  }
  // What the system has held back is written at last. It takes all of it for written unless there
  // is an error, which whoever syncs or closes the file gets. So the rest is tried, too.
  for (std::size_t done = written ? *written : 0; written && done < text.size();) {
    written = opened.file->write(begin + done, text.subspan(done), opened.path);
    done += written ? *written : 0;
  }
  if (!written) {
    lost_.store(written.error());
    volume_->report({opened.path, "what was written to it cannot be stored: " +
                                      std::generic_category().message(written.error())});
    forget_size(opened.node);
    return refuse(request, written.error());
  }
  (void)fuse_reply_write(request, text.size());
}

// The system has a size of its own for a file that it holds writes of, and keeps it when a write
// fails. So it gets to know another node by the same name, with the size that the file has: at once
// by the name under which we know the file, by others when it asks for the attributes.
void MountedVault::forget_size(const SharedNode& node) {
  constexpr std::chrono::milliseconds patience(500);
  const SharedNode known = nodes_.disown(node);
  if (known == nullptr) {
    return;
  }
  (void)fuse_lowlevel_notify_inval_inode(session, number_of(*known), -1, 0);
  const std::shared_ptr<const NodePlace> place = known->place();
  notices_.post(place->parent, place->name, patience);
}

void MountedVault::sync_file(fuse_req_t request, bool data_only, const fuse_file_info* file) {
  const OpenFile& opened = *handle_of<OpenFile>(*file);
  settle_time(opened.node->believed(), opened.file->descriptor());
  refuse(request, opened.file->sync(data_only));
}

void MountedVault::settle_time(const std::optional<timespec>& believed, int descriptor) const {
  if (options_.access != Access::write_back || !believed) {
    return;
  }
  const Result<struct stat> status = volume_->backing().status(descriptor, "");
  if (status && S_ISREG(status->st_mode) &&
      (status->st_mtim.tv_sec != believed->tv_sec ||
       status->st_mtim.tv_nsec != believed->tv_nsec)) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, *believed};
    // An error leaves the time at which the content was stored, which is later.
    (void)volume_->backing().set_times(descriptor, "", times);
  }
}

void MountedVault::sync_folder(fuse_req_t request, const fuse_file_info* file) {
  const Listing& listing = *handle_of<Listing>(*file);
  refuse(request, writable_.sync_folder(listing.folder->folder));
}

void MountedVault::allocate(fuse_req_t request, int mode, off_t offset, off_t bytes,
                            const fuse_file_info* file) {
  const OpenFile& opened = *handle_of<OpenFile>(*file);
  if (const int error = may_keep_privileges(request) ? 0 : take_privileges(opened); error != 0) {
    return refuse(request, error);
  }
  refuse(request, opened.file->allocate(mode, static_cast<std::uint64_t>(offset),
                                        static_cast<std::uint64_t>(bytes), opened.path));
}

void MountedVault::copy_range(fuse_req_t request, off_t from_offset, const fuse_file_info* from,
                              off_t to_offset, const fuse_file_info* to, std::size_t bytes) {
  // The system asks again for the rest. So no request takes longer than others may wait.
  constexpr std::size_t most = std::size_t{16} << 20;
  const OpenFile& source = *handle_of<OpenFile>(*from);
  const OpenFile& target = *handle_of<OpenFile>(*to);
  if (const int error = may_keep_privileges(request) ? 0 : take_privileges(target); error != 0) {
    return refuse(request, error);
  }
  const Result<std::size_t> copied = volume::copy_range(
      *source.file, static_cast<std::uint64_t>(from_offset), source.path, *target.file,
      static_cast<std::uint64_t>(to_offset), target.path, std::min(bytes, most));
  if (!copied) {
    return refuse(request, copied.error());
  }
  (void)fuse_reply_write(request, *copied);
}

void MountedVault::write_back() {
  for (const SharedNode& node : nodes_.with_open_files()) {
    // Before the system forgets what it has of a file, it writes that. It waits for the writes.
    const int error = -fuse_lowlevel_notify_inval_inode(session, number_of(*node), 0, 0);
    if (error != 0 && error != ENOENT) {  // the latter: the system has forgotten the file
      lost_.store(error);
    }
  }
}

int MountedVault::sync() {
  const int error = writable_.sync();
  const int lost = lost_.load();
  return lost != 0 ? lost : error;
}

// ---- attributes

int MountedVault::set_length(const SharedNode& node, OpenFile* opened, off_t bytes) {
  const auto length = static_cast<std::uint64_t>(bytes);
  if (opened != nullptr && opened->change != nullptr) {
    return opened->file->set_length(length, opened->path);
  }
  if (const std::shared_ptr<WritableFile> file = node->open_file(true)) {
    return file->set_length(length, nodes_.path_of(*node));
  }
  const Result<std::unique_ptr<OpenFile>> now = open_file(node, true);
  return now ? (*now)->file->set_length(length, (*now)->path) : now.error();
}

// Whoever takes the last one away says so a moment later.
bool MountedVault::has_lost_all_names(const Node& node) const {
  constexpr std::chrono::milliseconds step(1);
  for (unsigned tries = 0; tries < 100 && !node.is_retired() && changing_names_.load() != 0;
       ++tries) {
    std::this_thread::sleep_for(step);
  }
  return node.is_retired();
}

void MountedVault::set_attributes(fuse_req_t request, fuse_ino_t number, const struct stat& wanted,
                                  int which, const fuse_file_info* file) {
  const SharedNode node = node_of(number);
  const volume::Backing& backing = volume_->backing();
  OpenFile* const opened =
      file != nullptr && node->type == S_IFREG ? handle_of<OpenFile>(*file) : nullptr;
  Status status = {};
  const auto change = [&](int place) {
    const OwnChange own(*this, node, place);
    if ((which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
      const auto user = (which & FUSE_SET_ATTR_UID) != 0 ? wanted.st_uid : static_cast<uid_t>(-1);
      const auto group = (which & FUSE_SET_ATTR_GID) != 0 ? wanted.st_gid : static_cast<gid_t>(-1);
      if (const int error = backing.set_owner(place, "", user, group); error != 0) {
        return error;
      }
    }
    if (takes_privileges()) {
      if (const int error = volume::remove_privileges(*volume_, place); error != 0) {
        return error;
      }
    }
    // A new owner takes privileges away, which a mode may give anew.
    if ((which & FUSE_SET_ATTR_MODE) != 0) {
      const mode_t mode = wanted.st_mode & ~static_cast<mode_t>(S_IFMT);
      if (const int error = backing.set_mode(place, "", mode); error != 0) {
        return error;
      }
    }
    if ((which & FUSE_SET_ATTR_SIZE) != 0) {
      if (const int error = set_length(node, opened, wanted.st_size); error != 0) {
        return error;
      }
    }
    if ((which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0) {
      struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
      if ((which & FUSE_SET_ATTR_ATIME) != 0) {
        times[0] = wanted.st_atim;
        times[0].tv_nsec = (which & FUSE_SET_ATTR_ATIME_NOW) != 0 ? UTIME_NOW : times[0].tv_nsec;
      }
      if ((which & FUSE_SET_ATTR_MTIME) != 0) {
        times[1] = wanted.st_mtim;
        times[1].tv_nsec = (which & FUSE_SET_ATTR_MTIME_NOW) != 0 ? UTIME_NOW : times[1].tv_nsec;
      }
      if (const int error = backing.set_times(place, "", times); error != 0) {
        return error;
      }
      if (times[1].tv_nsec != UTIME_OMIT && times[1].tv_nsec != UTIME_NOW) {
        node->believe(times[1]);
      }
    }
    const Result<Status> now = status_at(place, "");
    if (now) {
      status = *now;
      // The request does not say which time a new length, or "now", has left.
      const bool is_told = (which & FUSE_SET_ATTR_MTIME) != 0;
      if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0 ||
          ((which & FUSE_SET_ATTR_SIZE) != 0 && !is_told)) {
        node->believe(now->backing.st_mtim);
      }
    }
    return now.error();
  };
  int error =
      opened != nullptr ? change(opened->file->descriptor()) : with_place(node, O_PATH, change);
  if (error == EOPNOTSUPP && opened == nullptr && node->type == S_IFREG) {
    error = with_place(node, O_RDONLY, change);  // without /proc, old systems take no mere place
  }
  if (error == ESTALE && which == (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME) &&
      has_lost_all_names(*node)) {
    // The system writes back the times of a file that is not open any more and has no name. Nobody
    // will see them, and an error would come out of the next sync of the whole file system. What
    // the system is told must not last: it may be the change that a program asks for, by a place
    // that it holds.
    status.shown.st_mode = node->type;
    (void)fuse_reply_attr(request, &status.shown, 0);
    return;
  }
  if (error != 0) {
    return refuse(request, error);
  }
  node->told(status.backing);
  (void)fuse_reply_attr(request, &status.shown, options_.lifetimes.attributes);
}

// Who may change an attribute is the system's business, but for those that begin with "system.": it
// leaves them to the file system. Of these, it checks ACLs itself where it enforces them, and since
// Linux 6.2 elsewhere as well. Before 6.2 the system lets anyone ask; then only the owner and root
// may change it here.
int MountedVault::check_may_change(fuse_req_t request, int place, const char* attribute) const {
  const uid_t user = fuse_req_ctx(request)->uid;
  if (!std::string_view(attribute).starts_with("system.") || user == 0 ||
      (system_checks_acls_.load() && volume::is_acl(attribute))) {
    return 0;
  }
  const Result<struct stat> status = volume_->backing().status(place, "");
  return !status ? status.error() : status->st_uid == user ? 0 : EPERM;
}

void MountedVault::set_attribute(fuse_req_t request, fuse_ino_t number, const char* name,
                                 Bytes value, int flags) {
  if (!options_.has_suid && std::strcmp(name, capabilities) == 0) {
    return refuse(request, EOPNOTSUPP);
  }
  refuse(request, with_place(node_of(number), O_PATH, [&](int place) {
           const int error = check_may_change(request, place, name);
           return error != 0 ? error : volume::set_attribute(*volume_, place, name, value, flags);
         }));
}

void MountedVault::remove_attribute(fuse_req_t request, fuse_ino_t number, const char* name) {
  if (!options_.has_suid && std::strcmp(name, capabilities) == 0) {
    return refuse(request, EOPNOTSUPP);
  }
  refuse(request, with_place(node_of(number), O_PATH, [&](int place) {
           const int error = check_may_change(request, place, name);
           return error != 0 ? error : volume::remove_attribute(*volume_, place, name);
         }));
}

}  // namespace paes::mount
