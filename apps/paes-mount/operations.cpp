// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/operations.hpp"

#include <cerrno>
#include <new>

#include "paes-mount/attribute_operations.hpp"
#include "paes-mount/file_operations.hpp"
#include "paes-mount/folder_operations.hpp"
#include "paes-mount/lookup_operations.hpp"
#include "paes-mount/mount_operations.hpp"
#include "paes-mount/name_operations.hpp"
#include "paes-mount/replies.hpp"

namespace paes::mount {

namespace {

// Which requests count as use of the mount. One that is not used for long may be unmounted.
enum class Use {
  always,
  never,
  but_of_root,
};

// Makes a function that answers a request with a Mount one that libfuse can call.
template <auto operation, Use use>
struct Adapted;

template <typename... Arguments, void (*operation)(Mount&, fuse_req_t, Arguments...), Use use>
struct Adapted<operation, use> {
  // The operation answers the request as the last thing that it does, so that nothing is answered
  // twice.
  static void call(fuse_req_t request, Arguments... arguments) noexcept {
    Mount& mount = *static_cast<Mount*>(fuse_req_userdata(request));
    if (is_use(arguments...)) {
      mount.note_use();
    }
    try {
      operation(mount, request, arguments...);
    } catch (const std::bad_alloc&) {
      reply_error(request, Errno(ENOMEM));
    } catch (...) {
      reply_error(request, Errno(EIO));
    }
  }

  static void refuse_change(fuse_req_t request, Arguments...) noexcept {
    reply_error(request, Errno(EROFS));
  }

 private:
  template <typename First, typename... Others>
  static bool is_use(First first, Others...) noexcept {
    if constexpr (use == Use::but_of_root) {
      return first != FUSE_ROOT_ID;
    }
    return use == Use::always;
  }
};

template <auto operation, Use use = Use::always>
constexpr auto call = &Adapted<operation, use>::call;

// What changes something.
template <auto operation>
constexpr auto change(bool can_write) noexcept {
  using Change = Adapted<operation, Use::always>;
  return can_write ? &Change::call : &Change::refuse_change;
}

}  // namespace

fuse_lowlevel_ops operations_for(bool can_write) noexcept {
  fuse_lowlevel_ops calls{};

  // mount_operations.hpp
  calls.init = [](void* mount, fuse_conn_info* connection) {
    init(*static_cast<Mount*>(mount), *connection);
  };
  calls.statfs = call<statfs, Use::never>;  // desktops ask for it for ever

  // lookup_operations.hpp
  calls.lookup = call<lookup>;
  calls.forget = call<forget, Use::never>;
  calls.forget_multi = call<forget_multi, Use::never>;
  // Whoever watches the machine's mounts, df for one, asks for those of the root over and over.
  calls.getattr = call<getattr, Use::but_of_root>;
  calls.readlink = call<readlink>;

  // folder_operations.hpp
  calls.opendir = call<opendir>;
  calls.readdir = call<readdir>;
  calls.readdirplus = call<readdirplus>;
  calls.releasedir = call<releasedir>;

  // file_operations.hpp
  calls.open = call<open>;
  calls.read = call<read>;
  calls.lseek = call<lseek>;
  calls.release = call<release>;

  // attribute_operations.hpp
  calls.getxattr = call<getxattr>;
  calls.listxattr = call<listxattr>;

  // The rest changes something. The system itself refuses it on a mount that is only read, unless
  // somebody remounts it writable.

  // file_operations.hpp
  calls.write = change<write>(can_write);
  calls.fallocate = change<fallocate>(can_write);
  calls.copy_file_range = change<copy_file_range>(can_write);

  // attribute_operations.hpp
  calls.setattr = change<setattr>(can_write);
  calls.setxattr = change<setxattr>(can_write);
  calls.removexattr = change<removexattr>(can_write);

  // name_operations.hpp
  calls.create = change<create>(can_write);
  calls.mkdir = change<mkdir>(can_write);
  calls.mknod = change<mknod>(can_write);
  calls.symlink = change<symlink>(can_write);
  calls.link = change<link>(can_write);
  calls.unlink = change<unlink>(can_write);
  calls.rmdir = change<rmdir>(can_write);
  calls.rename = change<rename>(can_write);

  // On a mount that is only read, the system is told that there are no such operations: it takes
  // them for done then, and asks no more.
  if (can_write) {
    calls.fsync = call<fsync>;
    calls.fsyncdir = call<fsyncdir>;
  }
  return calls;
}

}  // namespace paes::mount
