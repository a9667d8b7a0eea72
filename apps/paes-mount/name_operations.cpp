// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/name_operations.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "paes-mount/backed_nodes.hpp"
#include "paes-mount/counted_lookup.hpp"
#include "paes-mount/given_handles.hpp"
#include "paes-mount/opened_files.hpp"
#include "paes-mount/replies.hpp"

namespace paes::mount {

using volume::WritableFile;

namespace {

constexpr mode_t permissions = 07777;
constexpr mode_t privileges = S_ISUID | S_ISGID;

// What somebody has removed may come back a moment later as room for something else, as long as it
// is no more than this.
constexpr std::int64_t most_left_bytes = 1 << 20;

// A name in a folder that is open.
struct NameInFolder {
  SharedNode parent;
  SharedFolder opened;
  const char* name;
  volume::StoredName stored;

  [[nodiscard]] const volume::Folder& folder() const noexcept { return opened->folder; }
  [[nodiscard]] volume::EntryRef entry() const noexcept {
    return {folder().descriptor(), stored.name.c_str()};
  }
};

Result<NameInFolder> find_name(Mount& mount, fuse_ino_t parent_number, const char* name) {
  SharedNode parent = mount.node_of(parent_number);
  Result<SharedFolder> opened = mount.nodes().folder(parent);
  if (!opened) {
    return opened.error();
  }
  Result<volume::StoredName> stored = (*opened)->folder.stored_name(name);
  if (!stored) {
    return stored.error();
  }
  return NameInFolder{std::move(parent), std::move(*opened), name, std::move(*stored)};
}

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

// The system leaves the umask to us, because a folder's default ACL takes its place. The process
// has none of its own.
volume::NewEntry new_entry(const Mount& mount, fuse_req_t request, const volume::Folder& folder,
                           mode_t mode) {
  const bool has_default =
      bool(mount.backing().attribute(folder.descriptor(), "system.posix_acl_default"));
  const mode_t masked = has_default ? mode : mode & ~fuse_req_ctx(request)->umask;
  return {masked, owner_of(request)};
}

// Whoever hears that something could not be made must not find it.
void unmake(Mount& mount, const NameInFolder& at) {
  if (volume::remove_file(mount.writable(), at.folder(), at.name).failed_with(EISDIR)) {
    (void)volume::remove_folder(mount.writable(), at.folder(), at.name);
  }
}

// The system has used the inode anew, or may do so.
void retire(Mount& mount, const struct stat& status) {
  if (const SharedNode known = mount.nodes().known(key_of(status)); known != nullptr) {
    mount.nodes().retire(known);
  }
}

// ---- what is new

// `make` makes it in a folder. `is_new` tells it from another name of what there was.
template <typename Make>
void reply_made(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
                bool is_new, const Make& make) {
  const Result<NameInFolder> at = find_name(mount, parent_number, name);
  if (!at) {
    return reply_error(request, at.error());
  }
  NodeTable& nodes = mount.nodes();
  const Result<void> done = with_descriptors(nodes, [&] { return make(at->folder()); });
  if (!done) {
    return reply_error(request, done.error());
  }
  const Result<struct stat> status = mount.backing().status(at->entry());
  if (!status) {
    unmake(mount, *at);
    return reply_error(request, status.error());
  }
  if (is_new) {
    retire(mount, *status);
  }
  CountedLookup made(nodes, nodes.enter(at->parent, name, at->stored.name, *status));
  made->note_first(*status);
  made->told(*status);
  if (reply_entry(request, mount.entry_of(*made, *status, at->entry()))) {
    made.given();
  }
}

void reply_created(Mount& mount, fuse_req_t request, CountedLookup& found,
                   const struct stat& status, std::unique_ptr<FileHandle> handle,
                   fuse_file_info& file) {
  const fuse_entry_param shown = mount.entry_of(*found, status, handle->file->descriptor());
  if (give_handle(mount, std::move(handle), file,
                  [&] { return fuse_reply_create(request, &shown, &file); })) {
    found.given();
  }
}

// For a file that was made for this request.
void reply_new(Mount& mount, fuse_req_t request, const NameInFolder& at,
               const volume::NewEntry& entry, WritableFile made, fuse_file_info& file) {
  const volume::Backing& backing = mount.backing();
  Result<struct stat> status = backing.status(made.descriptor());
  if (status && (entry.mode & privileges) != 0 && entry.owner) {
    // The new owner has taken them away.
    const mode_t given = (status->st_mode & permissions) | (entry.mode & privileges);
    (void)backing.set_mode(made.descriptor(), given);
    status = backing.status(made.descriptor());
  }
  if (!status) {
    unmake(mount, at);
    return reply_error(request, status.error());
  }
  retire(mount, *status);
  NodeTable& nodes = mount.nodes();
  CountedLookup found(nodes, nodes.enter(at.parent, at.name, at.stored.name, *status));
  std::unique_ptr<FileHandle> handle = new_handle(mount, found.node(), std::move(made), true);
  found->told(*status);
  file.keep_cache = mount.holds_writes_back() ? 1 : 0;
  reply_created(mount, request, found, *status, std::move(handle), file);
}

// For a file that somebody else has made.
void reply_found(Mount& mount, fuse_req_t request, CountedLookup& found,
                 std::unique_ptr<FileHandle> handle, fuse_file_info& file) {
  const Result<struct stat> status = mount.backing().status(handle->file->descriptor());
  if (!status) {
    return reply_error(request, status.error());
  }
  found->told(*status);
  set_cache(mount, *found, *status, file);
  reply_created(mount, request, found, *status, std::move(handle), file);
}

// Opens what somebody else has made under the name meanwhile, if the system would let the one who
// asks do that. EEXIST if that is uncertain.
Result<std::unique_ptr<FileHandle>> open_found(Mount& mount, fuse_req_t request,
                                               const NameInFolder& at, int flags,
                                               std::optional<CountedLookup>& found) {
  Result<struct stat> status = mount.backing().status(at.entry());
  if (!status) {
    return status.error();
  }
  if ((flags & O_TRUNC) != 0 || !lets_owner_open(*status, fuse_req_ctx(request)->uid, flags)) {
    return Errno(EEXIST);
  }
  found.emplace(enter(mount, at.parent, at.folder(), at.name, at.entry().name(), *status));
  Result<std::unique_ptr<FileHandle>> opened =
      open_file(mount, found->node(), (flags & O_ACCMODE) != O_RDONLY);
  return opened.failed_with(ESTALE) ? Errno(ENOENT) : std::move(opened);
}

// ---- what loses its name

// A mere place of what is about to lose its last name, or null. It is no loss if it cannot be had:
// the system looks again for what it cannot open, once.
std::shared_ptr<const Descriptor> place_of_doomed(Mount& mount, const NameInFolder& at,
                                                  const struct stat& status) {
  const volume::Backing& backing = mount.backing();
  if (S_ISDIR(status.st_mode) || status.st_nlink > 1 ||
      !backing.removes_open_files(at.folder().descriptor())) {
    return nullptr;
  }
  Result<Descriptor> place = backing.open(at.folder().descriptor(), at.entry().name(), O_PATH);
  const Result<struct stat> opened = place ? backing.status(*place) : place.error();
  if (!opened || key_of(*opened) != key_of(status)) {
    return nullptr;
  }
  auto shared = std::make_shared<const Descriptor>(std::move(*place));
  if (const SharedNode known = mount.nodes().known(key_of(status)); known != nullptr) {
    mount.left_files().keep(known, shared);
  }
  return shared;
}

void note_lost_name(Mount& mount, const NameInFolder& at, const struct stat& before,
                    std::shared_ptr<const Descriptor> place) {
  const SharedNode known = mount.nodes().known(key_of(before));
  if (known == nullptr) {
    return;
  }
  if (!S_ISDIR(before.st_mode)) {
    mount.nodes().lose(*known, at.parent, at.stored.name);
  }
  if (!S_ISDIR(before.st_mode) && before.st_nlink > 1) {
    return;
  }
  if (place != nullptr && known->left() == nullptr) {
    mount.left_files().keep(known, std::move(place));  // the system has asked for it just now
  }
  mount.nodes().retire(known);
}

// `take` takes the name away.
template <typename Take>
void reply_removed(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
                   const Take& take) {
  const Result<NameInFolder> at = find_name(mount, parent_number, name);
  if (!at) {
    return reply_error(request, at.error());
  }
  const NameChange changing(mount.name_changes());
  const Result<struct stat> before = mount.backing().status(at->entry());
  if (!before) {
    // Nobody would know which node has lost its name.
    return reply_error(request, before.error());
  }
  std::shared_ptr<const Descriptor> place;
  if (before->st_size <= most_left_bytes) {
    place = place_of_doomed(mount, *at, *before);
  }
  const Result<void> taken = take(mount.writable(), at->folder(), name);
  if (taken) {
    note_lost_name(mount, *at, *before, std::move(place));
  }
  reply_status(request, taken);
}

// What was found by `from` is found by `to` now.
void note_moved(Mount& mount, const struct stat& moved, const NameInFolder& from,
                const NameInFolder& to) {
  if (const SharedNode known = mount.nodes().known(key_of(moved)); known != nullptr) {
    mount.nodes().move(*known, from.parent, from.stored.name, to.parent, to.name, to.stored.name);
  }
}

// Renames and notes it.
Result<void> move(Mount& mount, const NameInFolder& from, const NameInFolder& to, unsigned flags) {
  const NameChange changing(mount.name_changes());
  const Result<struct stat> moved = mount.backing().status(from.entry());
  const Result<struct stat> replaced = mount.backing().status(to.entry());
  if (!moved || (!replaced && !replaced.failed_with(ENOENT))) {
    // Nobody would know which nodes are moved.
    return moved ? replaced.error() : moved.error();
  }
  std::shared_ptr<const Descriptor> place;
  if (replaced && flags != RENAME_EXCHANGE) {
    place = place_of_doomed(mount, to, *replaced);
  }
  const Result<void> renamed =
      volume::rename(mount.writable(), from.folder(), from.name, to.folder(), to.name, flags);
  const bool are_one = replaced && key_of(*moved) == key_of(*replaced);
  if (!renamed || are_one) {
    return renamed;
  }
  note_moved(mount, *moved, from, to);
  if (replaced && flags == RENAME_EXCHANGE) {
    note_moved(mount, *replaced, to, from);
  } else if (replaced) {
    note_lost_name(mount, to, *replaced, std::move(place));
  }
  return {};
}

}  // namespace

void create(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
            mode_t mode, fuse_file_info* file) {
  const Result<NameInFolder> at = find_name(mount, parent_number, name);
  if (!at) {
    return reply_error(request, at.error());
  }
  const volume::Folder& folder = at->folder();
  const volume::NewEntry entry = new_entry(mount, request, folder, mode & permissions);
  // Others may make and remove it all the time.
  constexpr unsigned most_tries = 1000;
  for (unsigned tries = 0; tries < most_tries; ++tries) {
    Result<WritableFile> made = with_descriptors(
        mount.nodes(), [&] { return volume::create_file(mount.writable(), folder, name, entry); });
    if (made) {
      return reply_new(mount, request, *at, entry, std::move(*made), *file);
    }
    if (!made.failed_with(EEXIST) || (file->flags & O_EXCL) != 0) {
      return reply_error(request, made.error());
    }
    // Somebody else has made it since the system looked.
    std::optional<CountedLookup> found;
    Result<std::unique_ptr<FileHandle>> there = open_found(mount, request, *at, file->flags, found);
    if (there) {
      return reply_found(mount, request, *found, std::move(*there), *file);
    }
    if (!there.failed_with(ENOENT)) {
      break;
    }
  }
  // The system has to look again: it takes what is created for new, and asks neither who may open
  // it nor whether to empty it.
  reply_error(request, Errno(ESTALE));
}

void mkdir(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
           mode_t mode) {
  reply_made(mount, request, parent_number, name, true, [&](const volume::Folder& folder) {
    return volume::make_folder(mount.writable(), folder, name,
                               new_entry(mount, request, folder, mode & permissions));
  });
}

void mknod(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
           mode_t mode, dev_t device) {
  reply_made(mount, request, parent_number, name, true, [&](const volume::Folder& folder) {
    return volume::make_node(mount.writable(), folder, name,
                             new_entry(mount, request, folder, mode), device);
  });
}

void symlink(Mount& mount, fuse_req_t request, const char* target, fuse_ino_t parent_number,
             const char* name) {
  reply_made(mount, request, parent_number, name, true, [&](const volume::Folder& folder) {
    return volume::make_link(mount.writable(), folder, name, target, owner_of(request));
  });
}

void link(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_ino_t parent_number,
          const char* name) {
  const SharedNode node = mount.node_of(number);
  reply_made(mount, request, parent_number, name, false, [&](const volume::Folder& folder) {
    return at_name(mount, node, [&](const BackedName& backed) {
      // What has the name by now may be another.
      return check_has_name(mount, *node, backed).and_then([&] {
        return volume::add_name(mount.writable(), {backed.descriptor(), backed.name()}, folder,
                                name);
      });
    });
  });
}

void unlink(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name) {
  reply_removed(mount, request, parent_number, name, volume::remove_file);
}

void rmdir(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name) {
  reply_removed(mount, request, parent_number, name, volume::remove_folder);
}

void rename(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
            fuse_ino_t to_parent_number, const char* to_name, unsigned flags) {
  const Result<NameInFolder> from = find_name(mount, parent_number, name);
  const Result<NameInFolder> to = find_name(mount, to_parent_number, to_name);
  if (!from || !to) {
    return reply_error(request, from ? to.error() : from.error());
  }
  reply_status(request, move(mount, *from, *to, flags));
}

}  // namespace paes::mount
