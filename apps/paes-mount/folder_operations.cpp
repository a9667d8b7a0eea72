// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/folder_operations.hpp"

#include <cerrno>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "paes-mount/counted_lookup.hpp"
#include "paes-mount/given_handles.hpp"
#include "paes-mount/replies.hpp"

namespace paes::mount {

namespace {

// What the system holds of a folder that somebody reads. The entries are those of one moment, and
// stay until the reader begins anew, so that a position always means the same entry.
struct FolderHandle {
  SharedNode node;
  SharedFolder folder;
  std::mutex mutex;  // guards the rest
  bool is_listed = false;
  std::vector<volume::FolderEntry> entries;
};

// What a thread answers about the entries of a folder.
class EntriesReply {
 public:
  // `has_attributes`: each entry has room for them, whether they are there or not.
  EntriesReply(fuse_req_t request, std::size_t bytes, bool has_attributes)
      : request_(request), has_attributes_(has_attributes), room_(reply_buffer(bytes)) {}

  [[nodiscard]] bool has_room_for(const std::string& name) const noexcept {
    return (has_attributes_ ? fuse_add_direntry_plus(request_, nullptr, 0, name.c_str(), nullptr, 0)
                            : fuse_add_direntry(request_, nullptr, 0, name.c_str(), nullptr, 0)) <=
           room_.size() - used_;
  }
  // There is room. `next` is the position after the entry.
  void add(const std::string& name, const fuse_entry_param& entry, off_t next) noexcept {
    char* const to = reinterpret_cast<char*>(room_.data()) + used_;
    const std::size_t left = room_.size() - used_;
    used_ += has_attributes_
                 ? fuse_add_direntry_plus(request_, to, left, name.c_str(), &entry, next)
                 : fuse_add_direntry(request_, to, left, name.c_str(), &entry.attr, next);
  }
  [[nodiscard]] bool send() noexcept {
    return fuse_reply_buf(request_, reinterpret_cast<const char*>(room_.data()), used_) == 0;
  }

 private:
  fuse_req_t request_;
  bool has_attributes_;
  MutableBytes room_;
  std::size_t used_ = 0;
};

// Position 0 is ".", 1 is "..", then the entries follow.
constexpr std::size_t first_entry = 2;

// Lists the folder's entries. The caller holds the handle's lock.
Result<void> list(Mount& mount, FolderHandle& opened) {
  std::vector<volume::FolderEntry> entries;
  const std::lock_guard one_at_a_time(opened.folder->listing);
  const Result<void> listed = opened.folder->folder.list(
      mount.nodes().path_of(*opened.node),
      [&](volume::FolderEntry entry) { entries.push_back(std::move(entry)); });
  if (listed) {
    opened.entries = std::move(entries);
    opened.is_listed = true;
  }
  return listed;
}

// Adds the entries from a position on, as many as the reply has room for. With attributes their
// nodes are in `entered`.
Result<void> fill(Mount& mount, FolderHandle& opened, off_t offset, bool with_attributes,
                  EntriesReply& reply, std::vector<CountedLookup>& entered) {
  const volume::Folder& folder = opened.folder->folder;
  const std::lock_guard lock(opened.mutex);
  if (!opened.is_listed || offset == 0) {
    if (const Result<void> done = list(mount, opened); !done) {
      return done;
    }
  }
  const NodeKey own = opened.node->key;
  const SharedNode above = opened.node->place()->parent;
  const NodeKey parent = above == nullptr ? own : above->key;
  for (auto position = static_cast<std::size_t>(offset);
       position < opened.entries.size() + first_entry; ++position) {
    fuse_entry_param entry{};  // without a node: the system takes only name, number and type of it
    const auto next = static_cast<off_t>(position + 1);
    if (position < first_entry) {
      const std::string name(position + 1, '.');
      const NodeKey& key = position == 0 ? own : parent;
      if (!reply.has_room_for(name)) {
        break;
      }
      entry.attr.st_ino = mount.shown_inode(key.device, key.inode);
      entry.attr.st_mode = S_IFDIR;
      reply.add(name, entry, next);
      continue;
    }
    const volume::FolderEntry& listed = opened.entries[position - first_entry];
    if (!reply.has_room_for(listed.name)) {
      break;
    }
    entry.attr.st_ino = mount.shown_inode(own.device, listed.inode);
    entry.attr.st_mode = static_cast<mode_t>(listed.type) << 12;  // DT_* (readdir(3))
    if (with_attributes) {
      const char* const stored = listed.stored.c_str();
      Result<struct stat> status = mount.backing().status({folder.descriptor(), stored});
      if (status.failed_with(ENOENT)) {
        continue;
      }
      if (status) {
        CountedLookup found = enter(mount, opened.node, folder, listed.name, stored, *status);
        found->told(*status);
        entry = mount.entry_of(*found, *status, {folder.descriptor(), stored});
        entered.push_back(std::move(found));
      }
    }
    reply.add(listed.name, entry, next);
  }
  return {};
}

// As soon as the reply is there, another thread may be asked to close the folder. So nothing is
// answered before its lock is free.
void read_entries(Mount& mount, fuse_req_t request, std::size_t bytes, off_t offset,
                  const fuse_file_info& file, bool has_room_for_attributes) {
  // The system knows who wants attributes from the second part of a folder on.
  const bool with_attributes =
      has_room_for_attributes &&
      (offset != 0 || mount.listers().wants_attributes(fuse_req_ctx(request)->pid));
  EntriesReply reply(request, bytes, has_room_for_attributes);
  std::vector<CountedLookup> entered;
  FolderHandle& opened = *handle_of<FolderHandle>(file);
  if (const Result<void> done = fill(mount, opened, offset, with_attributes, reply, entered);
      !done) {
    return reply_error(request, done.error());
  }
  if (reply.send()) {
    for (CountedLookup& found : entered) {
      found.given();
    }
  }
}

}  // namespace

void opendir(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  const SharedNode node = mount.node_of(number);
  Result<SharedFolder> folder = mount.nodes().folder(node);
  if (!folder) {
    return reply_error(request, folder.error());
  }
  const Result<struct stat> status = mount.backing().status((*folder)->folder.descriptor());
  if (!status) {
    return reply_error(request, status.error());
  }
  const Lifetimes& lifetimes = mount.options().lifetimes;
  if (lifetimes.keeps_names) {
    const auto lifetime_s = static_cast<std::time_t>(lifetimes.entries);
    file->cache_readdir = 1;
    file->keep_cache = node->may_keep_names(*status, std::time(nullptr), lifetime_s) ? 1 : 0;
  }
  auto opened = std::make_unique<FolderHandle>();
  opened->node = node;
  opened->folder = std::move(*folder);
  reply_open(mount, request, std::move(opened), *file);
}

void readdir(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, std::size_t bytes,
             off_t offset, fuse_file_info* file) {
  read_entries(mount, request, bytes, offset, *file, false);
}

void readdirplus(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, std::size_t bytes,
                 off_t offset, fuse_file_info* file) {
  read_entries(mount, request, bytes, offset, *file, true);
}

void fsyncdir(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, int /*data_only*/,
              fuse_file_info* file) {
  const FolderHandle& opened = *handle_of<FolderHandle>(*file);
  reply_status(request, mount.writable().sync_folder(opened.folder->folder));
}

void releasedir(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* file) {
  close_handle<FolderHandle>(mount, *file);
  reply_ok(request);
}

}  // namespace paes::mount
