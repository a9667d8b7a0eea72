// SPDX-License-Identifier: Apache-2.0
// Operations of a mounted vault that make, move and remove names.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "paes-mount/handles.hpp"

namespace paes::mount {

using volume::Failure;
using volume::Result;
using volume::WritableFile;

namespace {

constexpr mode_t permissions = 07777;
constexpr mode_t privileges = S_ISUID | S_ISGID;

// What somebody has removed may come back a moment later as room for something else, as long as it
// is no more than this.
constexpr std::int64_t most_left_bytes = 1 << 20;

// Whether the system lets a file's owner open it so, without any other rule that could say
// otherwise.
bool lets_owner_open(const struct stat& status, uid_t user, int flags) noexcept {
  const int access = flags & O_ACCMODE;
  const mode_t wanted = (access != O_WRONLY ? S_IRUSR : 0U) | (access != O_RDONLY ? S_IWUSR : 0U);
  return S_ISREG(status.st_mode) && status.st_uid == user && (status.st_mode & wanted) == wanted;
}

// To whom something new belongs. Only root can give it away; others own what they make.
std::optional<volume::Owner> owner_of(fuse_req_t request) noexcept {
  const fuse_ctx& asking = *fuse_req_ctx(request);
  if (geteuid() != 0 || (asking.uid == geteuid() && asking.gid == getegid())) {
    return std::nullopt;
  }
  return volume::Owner{asking.uid, asking.gid};
}

}  // namespace

// The system leaves the umask to us, because a folder's default ACL takes its place. The process
// has none of its own.
volume::NewEntry MountedVault::new_entry(fuse_req_t request, const volume::Folder& folder,
                                         mode_t mode) const {
  const bool has_default =
      bool(volume_->backing().attribute(folder.descriptor(), "system.posix_acl_default"));
  const mode_t masked = has_default ? mode : mode & ~fuse_req_ctx(request)->umask;
  return {masked, owner_of(request)};
}

// Whoever hears that something could not be made must not find it.
void MountedVault::unmake(const volume::Folder& folder, const char* name) {
  if (volume::remove_file(writable_, folder, name) == EISDIR) {
    (void)volume::remove_folder(writable_, folder, name);
  }
}

// `make` makes it in a folder and answers 0 or an errno. `is_new` tells it from another name of
// what there was.
template <typename Make>
void MountedVault::make(fuse_req_t request, fuse_ino_t parent_number, const char* name, bool is_new,
                        const Make& make) {
  const SharedNode parent = node_of(parent_number);
  const Result<SharedFolder> opened = nodes_.folder(parent);
  if (!opened) {
    return refuse(request, opened.error());
  }
  const volume::Folder& folder = (*opened)->folder;
  const auto done = with_descriptors([&] {
    const int error = make(folder);
    return error == 0 ? Result<bool>(true) : Failure{error};
  });
  if (!done) {
    return refuse(request, done.error());
  }
  const Result<volume::StoredName> stored = folder.stored_name(name);
  const Result<struct stat> status =
      stored ? volume_->backing().status(folder.descriptor(), stored->name.c_str())
             : Result<struct stat>(Failure{stored.error()});
  if (!status) {
    unmake(folder, name);
    return refuse(request, status.error());
  }
  if (is_new) {
    retire(*status);
  }
  Lookup made(nodes_, nodes_.enter(parent, name, stored->name, *status));
  made->note_first(*status);
  made->told(*status);
  const fuse_entry_param entry =
      entry_of(*made, *status, folder.descriptor(), stored->name.c_str());
  if (fuse_reply_entry(request, &entry) == 0) {
    made.given();
  }
}

void MountedVault::create(fuse_req_t request, fuse_ino_t parent_number, const char* name,
                          mode_t mode, fuse_file_info* file) {
  const SharedNode parent = node_of(parent_number);
  const Result<SharedFolder> opened = nodes_.folder(parent);
  if (!opened) {
    return refuse(request, opened.error());
  }
  const volume::Folder& folder = (*opened)->folder;
  const volume::NewEntry entry = new_entry(request, folder, mode & permissions);
  const Result<volume::StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return refuse(request, stored.error());
  }
  // Others may make and remove it all the time.
  constexpr unsigned most_tries = 1000;
  for (unsigned tries = 0; tries < most_tries; ++tries) {
    Result<WritableFile> made =
        with_descriptors([&] { return volume::create_file(writable_, folder, name, entry); });
    if (made) {
      return reply_new(request, parent, folder, *stored, name, entry, std::move(*made), file);
    }
    if (made.error() != EEXIST || (file->flags & O_EXCL) != 0) {
      return refuse(request, made.error());
    }
    // Somebody else has made it since the system looked.
    std::optional<Lookup> found;
    Result<std::unique_ptr<OpenFile>> there =
        open_made(request, parent, folder, *stored, name, file->flags, found);
    if (there) {
      return reply_made(request, *found, std::move(*there), file);
    }
    if (there.error() != ENOENT) {
      break;
    }
  }
  // The system has to look again: it takes what is created for new, and asks neither who may open
  // it nor whether to empty it.
  refuse(request, ESTALE);
}

void MountedVault::reply_new(fuse_req_t request, const SharedNode& parent,
                             const volume::Folder& folder, const volume::StoredName& stored,
                             const char* name, const volume::NewEntry& entry, WritableFile made,
                             fuse_file_info* file) {
  const volume::Backing& backing = volume_->backing();
  Result<struct stat> status = backing.status(made.descriptor(), "");
  if (status && (entry.mode & privileges) != 0 && entry.owner) {
    // The new owner has taken them away.
    const mode_t given = (status->st_mode & permissions) | (entry.mode & privileges);
    (void)backing.set_mode(made.descriptor(), "", given);
    status = backing.status(made.descriptor(), "");
  }
  if (!status) {
    unmake(folder, name);
    return refuse(request, status.error());
  }
  retire(*status);
  Lookup found(nodes_, nodes_.enter(parent, name, stored.name, *status));
  std::unique_ptr<OpenFile> handle = new_handle(found.node(), std::move(made), true);
  found->told(*status);
  file->keep_cache = options_.access == Access::write_back ? 1 : 0;
  reply_created(request, found, *status, std::move(handle), file);
}

void MountedVault::reply_created(fuse_req_t request, Lookup& found, const struct stat& status,
                                 std::unique_ptr<OpenFile> handle, fuse_file_info* file) {
  const fuse_entry_param shown_entry = entry_of(*found, status, handle->file->descriptor(), "");
  if (Answers::give_handle(*this, std::move(handle), file,
                           [&] { return fuse_reply_create(request, &shown_entry, file); })) {
    found.given();
  }
}

void MountedVault::reply_made(fuse_req_t request, Lookup& found, std::unique_ptr<OpenFile> handle,
                              fuse_file_info* file) {
  const Result<struct stat> status = volume_->backing().status(handle->file->descriptor(), "");
  if (!status) {
    return refuse(request, status.error());
  }
  found->told(*status);
  set_cache(*found, *status, *file);
  reply_created(request, found, *status, std::move(handle), file);
}

Result<std::unique_ptr<MountedVault::OpenFile>> MountedVault::open_made(
    fuse_req_t request, const SharedNode& parent, const volume::Folder& folder,
    const volume::StoredName& stored, const char* name, int flags, std::optional<Lookup>& found) {
  Result<struct stat> status = volume_->backing().status(folder.descriptor(), stored.name.c_str());
  if (!status) {
    return Failure{status.error()};
  }
  if ((flags & O_TRUNC) != 0 || !lets_owner_open(*status, fuse_req_ctx(request)->uid, flags)) {
    return Failure{EEXIST};
  }
  found.emplace(enter(parent, folder, name, stored.name.c_str(), *status));
  Result<std::unique_ptr<OpenFile>> opened =
      open_file(found->node(), (flags & O_ACCMODE) != O_RDONLY);
  return opened.error() == ESTALE ? Failure{ENOENT} : std::move(opened);
}

void MountedVault::make_folder(fuse_req_t request, fuse_ino_t parent, const char* name,
                               mode_t mode) {
  make(request, parent, name, true, [&](const volume::Folder& folder) {
    return volume::make_folder(writable_, folder, name,
                               new_entry(request, folder, mode & permissions));
  });
}

void MountedVault::make_node(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                             dev_t device) {
  make(request, parent, name, true, [&](const volume::Folder& folder) {
    return volume::make_node(writable_, folder, name, new_entry(request, folder, mode), device);
  });
}

void MountedVault::make_link(fuse_req_t request, const char* target, fuse_ino_t parent,
                             const char* name) {
  make(request, parent, name, true, [&](const volume::Folder& folder) {
    return volume::make_link(writable_, folder, name, target, owner_of(request));
  });
}

void MountedVault::add_name(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent,
                            const char* name) {
  const SharedNode node = node_of(number);
  make(request, parent, name, false, [&](const volume::Folder& folder) {
    const auto add = [&](const Backed& backed) -> Result<bool> {
      // What has the name by now may be another.
      if (const int error = error_at(*node, backed, 0); error != 0) {
        return Failure{error};
      }
      const int error =
          volume::add_name(writable_, backed.descriptor(), backed.name(), folder, name);
      return error == 0 ? Result<bool>(true) : Failure{error};
    };
    return at_name(node, add).error();
  });
}

void MountedVault::remove(fuse_req_t request, fuse_ino_t parent_number, const char* name,
                          bool is_folder) {
  const SharedNode parent = node_of(parent_number);
  const Result<SharedFolder> opened = nodes_.folder(parent);
  if (!opened) {
    return refuse(request, opened.error());
  }
  const volume::Folder& folder = (*opened)->folder;
  const Result<volume::StoredName> stored = folder.stored_name(name);
  if (!stored) {
    return refuse(request, stored.error());
  }
  const NameChange changing(*this);
  const Result<struct stat> before =
      volume_->backing().status(folder.descriptor(), stored->name.c_str());
  if (!before) {
    return refuse(request, before.error());  // nobody would know which node has lost its name
  }
  std::shared_ptr<const Descriptor> place;
  if (before->st_size <= most_left_bytes) {
    place = place_of_doomed(folder, stored->name, *before);
  }
  const int error = is_folder ? volume::remove_folder(writable_, folder, name)
                              : volume::remove_file(writable_, folder, name);
  if (error == 0) {
    lost_name(*before, parent, stored->name, std::move(place));
  }
  refuse(request, error);
}

// The system has used the inode anew, or may do so.
void MountedVault::retire(const struct stat& status) {
  if (const SharedNode known = nodes_.known(key_of(status)); known != nullptr) {
    nodes_.retire(known);
  }
}

// A mere place of what is about to lose its last name, or null. It is no loss if it cannot be had:
// the system looks again for what it cannot open, once.
std::shared_ptr<const Descriptor> MountedVault::place_of_doomed(const volume::Folder& folder,
                                                                const std::string& stored,
                                                                const struct stat& status) {
  const volume::Backing& backing = volume_->backing();
  if (S_ISDIR(status.st_mode) || status.st_nlink > 1 ||
      !backing.removes_open_files(folder.descriptor())) {
    return nullptr;
  }
  Result<Descriptor> place = backing.open(folder.descriptor(), stored.c_str(), O_PATH);
  const Result<struct stat> opened =
      place ? backing.status(place->number(), "") : Result<struct stat>(Failure{place.error()});
  if (!opened || key_of(*opened) != key_of(status)) {
    return nullptr;
  }
  auto shared = std::make_shared<const Descriptor>(std::move(*place));
  if (const SharedNode known = nodes_.known(key_of(status)); known != nullptr) {
    left_files_.keep(known, shared);
  }
  return shared;
}

void MountedVault::lost_name(const struct stat& before, const SharedNode& parent,
                             const std::string& stored, std::shared_ptr<const Descriptor> place) {
  const SharedNode known = nodes_.known(key_of(before));
  if (known == nullptr) {
    return;
  }
  if (!S_ISDIR(before.st_mode)) {
    nodes_.lose(*known, parent, stored);
  }
  if (!S_ISDIR(before.st_mode) && before.st_nlink > 1) {
    return;
  }
  if (place != nullptr && known->left() == nullptr) {
    left_files_.keep(known, std::move(place));  // the system has asked for it just now
  }
  nodes_.retire(known);
}

void MountedVault::rename(fuse_req_t request, fuse_ino_t parent_number, const char* name,
                          fuse_ino_t to_parent_number, const char* to_name, unsigned flags) {
  const SharedNode parent = node_of(parent_number);
  const SharedNode to_parent = node_of(to_parent_number);
  const Result<SharedFolder> opened = nodes_.folder(parent);
  const Result<SharedFolder> to_opened = nodes_.folder(to_parent);
  if (!opened || !to_opened) {
    return refuse(request, opened ? to_opened.error() : opened.error());
  }
  const volume::Folder& folder = (*opened)->folder;
  const volume::Folder& to_folder = (*to_opened)->folder;
  const Result<volume::StoredName> stored = folder.stored_name(name);
  const Result<volume::StoredName> to_stored = to_folder.stored_name(to_name);
  if (!stored || !to_stored) {
    return refuse(request, stored ? to_stored.error() : stored.error());
  }
  const NameChange changing(*this);
  const volume::Backing& backing = volume_->backing();
  const Result<struct stat> moved = backing.status(folder.descriptor(), stored->name.c_str());
  const Result<struct stat> replaced =
      backing.status(to_folder.descriptor(), to_stored->name.c_str());
  if (!moved || (!replaced && replaced.error() != ENOENT)) {
    // Nobody would know which nodes are moved.
    return refuse(request, moved ? replaced.error() : moved.error());
  }
  std::shared_ptr<const Descriptor> place;
  if (replaced && flags != RENAME_EXCHANGE) {
    place = place_of_doomed(to_folder, to_stored->name, *replaced);
  }
  const int error = volume::rename(writable_, folder, name, to_folder, to_name, flags);
  const bool are_one = replaced && key_of(*moved) == key_of(*replaced);
  if (error == 0 && !are_one) {
    if (const SharedNode known = nodes_.known(key_of(*moved)); known != nullptr) {
      nodes_.move(*known, parent, stored->name, to_parent, to_name, to_stored->name);
    }
    if (replaced && flags == RENAME_EXCHANGE) {
      if (const SharedNode known = nodes_.known(key_of(*replaced)); known != nullptr) {
        nodes_.move(*known, to_parent, to_stored->name, parent, name, stored->name);
      }
    } else if (replaced) {
      lost_name(*replaced, to_parent, to_stored->name, std::move(place));
    }
  }
  refuse(request, error);
}

}  // namespace paes::mount
