// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/attribute_operations.hpp"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "paes-mount/backed_nodes.hpp"
#include "paes-mount/given_handles.hpp"
#include "paes-mount/opened_files.hpp"
#include "paes-mount/privileges.hpp"
#include "paes-mount/replies.hpp"
#include "volume/change/attribute_changes.hpp"
#include "volume/read/attributes.hpp"

namespace paes::mount {

using volume::WritableFile;

namespace {

// What setattr is to change.
struct WantedAttributes {
  const struct stat& values;
  int which;  // FUSE_SET_ATTR_...
  [[nodiscard]] bool has(int any) const noexcept { return (which & any) != 0; }
};

Result<void> set_length(Mount& mount, const SharedNode& node, FileHandle* opened, off_t bytes) {
  const auto length = static_cast<std::uint64_t>(bytes);
  if (opened != nullptr && opened->change != nullptr) {
    return opened->file->set_length(length, opened->path);
  }
  if (const std::shared_ptr<WritableFile> file = node->open_file(true)) {
    return file->set_length(length, mount.nodes().path_of(*node));
  }
  const Result<std::unique_ptr<FileHandle>> now = open_file(mount, node, true);
  return now ? (*now)->file->set_length(length, (*now)->path) : now.error();
}

Result<void> change_owner_and_mode(const Mount& mount, FileRef place,
                                   const WantedAttributes& wanted) {
  if (wanted.has(FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
    const auto user = wanted.has(FUSE_SET_ATTR_UID) ? wanted.values.st_uid : static_cast<uid_t>(-1);
    const auto group =
        wanted.has(FUSE_SET_ATTR_GID) ? wanted.values.st_gid : static_cast<gid_t>(-1);
    if (const Result<void> done = mount.backing().set_owner(place, user, group); !done) {
      return done;
    }
  }
  if (takes_privileges()) {
    if (const Result<void> done = volume::remove_privileges(mount.volume(), place); !done) {
      return done;
    }
  }
  // A new owner takes privileges away, which a mode may give anew.
  if (wanted.has(FUSE_SET_ATTR_MODE)) {
    const mode_t mode = wanted.values.st_mode & ~static_cast<mode_t>(S_IFMT);
    return mount.backing().set_mode(place, mode);
  }
  return {};
}

Result<void> change_times(const Mount& mount, Node& node, FileRef place,
                          const WantedAttributes& wanted) {
  if (!wanted.has(FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) {
    return {};
  }
  struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
  if (wanted.has(FUSE_SET_ATTR_ATIME)) {
    times[0] = wanted.values.st_atim;
    times[0].tv_nsec = wanted.has(FUSE_SET_ATTR_ATIME_NOW) ? UTIME_NOW : times[0].tv_nsec;
  }
  if (wanted.has(FUSE_SET_ATTR_MTIME)) {
    times[1] = wanted.values.st_mtim;
    times[1].tv_nsec = wanted.has(FUSE_SET_ATTR_MTIME_NOW) ? UTIME_NOW : times[1].tv_nsec;
  }
  if (const Result<void> done = mount.backing().set_times(place, times); !done) {
    return done;
  }
  if (times[1].tv_nsec != UTIME_OMIT && times[1].tv_nsec != UTIME_NOW) {
    node.believe(times[1]);
  }
  return {};
}

// Changes what is found at `place`, and says what that has then. `opened` is the handle of the
// request, or null.
Result<NodeStatus> change_attributes(Mount& mount, const SharedNode& node, FileHandle* opened,
                                     FileRef place, const WantedAttributes& wanted) {
  const OwnChange own(mount, node, place);
  Result<void> changed = change_owner_and_mode(mount, place, wanted);
  if (changed && wanted.has(FUSE_SET_ATTR_SIZE)) {
    changed = set_length(mount, node, opened, wanted.values.st_size);
  }
  changed = changed.and_then([&] { return change_times(mount, *node, place, wanted); });
  if (!changed) {
    return changed.error();
  }
  const Result<NodeStatus> now = status_at(mount, place);
  if (now) {
    // The request does not say which time a new length, or "now", has left.
    const bool is_told = wanted.has(FUSE_SET_ATTR_MTIME);
    if (wanted.has(FUSE_SET_ATTR_MTIME_NOW) || (wanted.has(FUSE_SET_ATTR_SIZE) && !is_told)) {
      node->believe(now->backing.st_mtim);
    }
  }
  return now;
}

// Whoever takes the last one away says so a moment later.
bool has_lost_all_names(Mount& mount, const Node& node) {
  constexpr std::chrono::milliseconds step(1);
  for (unsigned tries = 0;
       tries < 100 && !node.is_retired() && mount.name_changes().are_under_way(); ++tries) {
    std::this_thread::sleep_for(step);
  }
  return node.is_retired();
}

// Without suid, capabilities have no effect, and nobody can give them.
bool is_capability_without_effect(const Mount& mount, const char* name) noexcept {
  return !mount.options().has_suid && std::strcmp(name, capabilities_attribute) == 0;
}

// Who may change an attribute is the system's business, but for those that begin with "system.": it
// leaves them to the file system. Of these, it checks ACLs itself where it enforces them, and since
// Linux 6.2 elsewhere as well. Before 6.2 the system lets anyone ask; then only the owner and root
// may change it here.
Result<void> check_may_change(const Mount& mount, fuse_req_t request, FileRef place,
                              const char* attribute) {
  const uid_t user = fuse_req_ctx(request)->uid;
  if (!std::string_view(attribute).starts_with("system.") || user == 0 ||
      (mount.enforces_acls() && volume::is_acl(attribute))) {
    return {};
  }
  const Result<struct stat> status = mount.backing().status(place);
  return !status ? status.error() : status->st_uid == user ? Result<void>() : Errno(EPERM);
}

// `change` changes the extended attribute of what is found at a place.
template <typename Change>
void reply_changed(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* name,
                   const Change& change) {
  if (is_capability_without_effect(mount, name)) {
    return reply_error(request, Errno(EOPNOTSUPP));
  }
  reply_status(request, with_place(mount, mount.node_of(number), O_PATH, [&](FileRef place) {
                 return check_may_change(mount, request, place, name).and_then([&] {
                   return change(place);
                 });
               }));
}

}  // namespace

void setattr(Mount& mount, fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
             fuse_file_info* file) {
  const SharedNode node = mount.node_of(number);
  FileHandle* const opened =
      file != nullptr && node->type == S_IFREG ? handle_of<FileHandle>(*file) : nullptr;
  const auto change = [&](FileRef place) {
    return change_attributes(mount, node, opened, place, {*wanted, which});
  };
  Result<NodeStatus> changed = opened != nullptr ? change(opened->file->descriptor())
                                                 : with_place(mount, node, O_PATH, change);
  if (changed.failed_with(EOPNOTSUPP) && opened == nullptr && node->type == S_IFREG) {
    // Without /proc, old systems take no mere place.
    changed = with_place(mount, node, O_RDONLY, change);
  }
  if (changed.failed_with(ESTALE) && which == (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME) &&
      has_lost_all_names(mount, *node)) {
    // The system writes back the times of a file that is not open any more and has no name. Nobody
    // will see them, and an error would come out of the next sync of the whole file system. What
    // the system is told must not last: it may be the change that a program asks for, by a place
    // that it holds.
    struct stat shown = {};
    shown.st_mode = node->type;
    return reply_attributes(request, shown, 0);
  }
  if (!changed) {
    return reply_error(request, changed.error());
  }
  node->told(changed->backing);
  reply_attributes(request, changed->shown, mount.options().lifetimes.attributes);
}

void getxattr(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* name,
              std::size_t bytes) {
  // The system asks for capabilities at each execution. Labels of SELinux belong to a machine, and
  // not to a vault; ls would ask for that of each file.
  if (is_capability_without_effect(mount, name) || std::strcmp(name, "security.selinux") == 0) {
    return reply_error(request, Errno(EOPNOTSUPP));
  }
  const SharedNode node = mount.node_of(number);
  const Result<std::vector<std::uint8_t>> value =
      with_place(mount, node, O_RDONLY, [&](FileRef place) {
        return volume::read_attribute(mount.volume(), place, name, mount.nodes().path_of(*node));
      });
  if (!value) {
    return reply_error(request, value.error());
  }
  reply_sized(request, *value, bytes);
}

void listxattr(Mount& mount, fuse_req_t request, fuse_ino_t number, std::size_t bytes) {
  const SharedNode node = mount.node_of(number);
  const Result<std::vector<std::string>> names =
      with_place(mount, node, O_RDONLY, [&](FileRef place) {
        return volume::list_attributes(mount.volume(), place, mount.nodes().path_of(*node));
      });
  if (!names) {
    return reply_error(request, names.error());
  }
  std::string all;
  for (const std::string& name : *names) {
    all += name;
    all += '\0';
  }
  reply_sized(request, {reinterpret_cast<const std::uint8_t*>(all.data()), all.size()}, bytes);
}

void setxattr(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* name,
              const char* value, std::size_t bytes, int flags) {
  const Bytes content(reinterpret_cast<const std::uint8_t*>(value), bytes);
  reply_changed(mount, request, number, name, [&](FileRef place) {
    return volume::set_attribute(mount.volume(), place, name, content, flags);
  });
}

void removexattr(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* name) {
  reply_changed(mount, request, number, name, [&](FileRef place) {
    return volume::remove_attribute(mount.volume(), place, name);
  });
}

}  // namespace paes::mount
