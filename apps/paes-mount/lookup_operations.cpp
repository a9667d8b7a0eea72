// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/lookup_operations.hpp"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <string>

#include "paes-mount/backed_nodes.hpp"
#include "paes-mount/counted_lookup.hpp"
#include "paes-mount/given_handles.hpp"
#include "paes-mount/opened_files.hpp"
#include "paes-mount/replies.hpp"
#include "volume/read/link.hpp"

namespace paes::mount {

void lookup(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name) {
  const SharedNode parent = mount.node_of(parent_number);
  const Result<SharedFolder> folder = mount.nodes().folder(parent);
  if (!folder) {
    return reply_error(request, folder.error());
  }
  const FolderRef descriptor = (*folder)->folder.descriptor();
  const Result<volume::StoredName> stored = (*folder)->folder.stored_name(name);
  const auto look = [&] {
    return stored ? mount.backing().status({descriptor, stored->name.c_str()}) : stored.error();
  };
  const NameChanges& changes = mount.name_changes();
  std::uint64_t ended = changes.ended();
  Result<struct stat> status = look();
  std::optional<CountedLookup> entered;
  while (status) {
    entered.emplace(enter(mount, parent, (*folder)->folder, name, stored->name.c_str(), *status));
    if (!changes.are_under_way() && changes.ended() == ended) {
      break;
    }
    // Whoever takes a name away may not have seen the node that was entered.
    ended = changes.ended();
    status = look();
    if (status && is_of(**entered, *status)) {
      break;
    }
    entered.reset();
  }
  const double absences = mount.options().lifetimes.absences;
  if (!status) {
    return status.failed_with(ENOENT) && absences > 0 ? reply_absent(request, absences)
                                                      : reply_error(request, status.error());
  }
  if (!S_ISDIR(status->st_mode)) {
    mount.listers().has_asked(fuse_req_ctx(request)->pid);
  }
  CountedLookup& found = *entered;
  found->told(*status);
  if (reply_entry(request, mount.entry_of(*found, *status, {descriptor, stored->name.c_str()}))) {
    found.given();
  }
}

void forget(Mount& mount, fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
  mount.nodes().forget(mount.node_at(number), lookups);
  fuse_reply_none(request);
}

void forget_multi(Mount& mount, fuse_req_t request, std::size_t count,
                  fuse_forget_data* forgotten) {
  for (std::size_t i = 0; i < count; ++i) {
    mount.nodes().forget(mount.node_at(forgotten[i].ino), forgotten[i].nlookup);
  }
  fuse_reply_none(request);
}

void getattr(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  const SharedNode node = mount.node_of(number);
  const bool has_file = file != nullptr && node->type == S_IFREG;
  // The system keeps its own size of such a node. It looks for another after ESTALE, which somebody
  // who has the file open would get themselves.
  const bool is_disowned = node->is_disowned();
  if (is_disowned && node->open_file() == nullptr) {
    return reply_error(request, Errno(ESTALE));
  }
  const Result<NodeStatus> status =
      has_file ? status_at(mount, handle_of<FileHandle>(*file)->file->descriptor())
               : status_of(mount, node);
  if (!status) {
    return reply_error(request, status.error());
  }
  node->told(status->backing);
  reply_attributes(request, status->shown, is_disowned ? 0 : mount.options().lifetimes.attributes);
}

void readlink(Mount& mount, fuse_req_t request, fuse_ino_t number) {
  const SharedNode node = mount.node_of(number);
  const Result<Descriptor> link = open_backing(mount, node, O_PATH);
  if (!link) {
    return reply_error(request, link.error());
  }
  const Result<std::string> target =
      volume::read_link(mount.volume(), *link, mount.nodes().path_of(*node));
  if (!target) {
    return reply_error(request, target.error());
  }
  (void)fuse_reply_readlink(request, target->c_str());
}

}  // namespace paes::mount
