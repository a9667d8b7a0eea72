// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/mount_operations.hpp"

#include <sys/statvfs.h>

#include <algorithm>

#include "paes-mount/privileges.hpp"
#include "paes-mount/replies.hpp"
#include "paes-mount/request_ring.hpp"

namespace paes::mount {

void init(Mount& mount, fuse_conn_info& connection) {
  const auto want = [&](unsigned capability) {
    connection.want |= connection.capable & capability;
  };
  want(FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO | FUSE_CAP_PARALLEL_DIROPS);
  want(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
  want(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_CACHE_SYMLINKS);
  if (mount.options().has_acls) {
    want(FUSE_CAP_POSIX_ACL);
  }
  if (mount.is_writable()) {
    want(FUSE_CAP_DONT_MASK);
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
    want(FUSE_CAP_HANDLE_KILLPRIV_V2);
    if ((connection.want & FUSE_CAP_HANDLE_KILLPRIV_V2) != 0) {
      note_offer();
    }
#endif
  }
  if (mount.holds_writes_back()) {
    want(FUSE_CAP_WRITEBACK_CACHE);
  }
  // A file is emptied, and loses its privileges, by calls of their own.
  connection.want &= ~static_cast<unsigned>(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_HANDLE_KILLPRIV);
  connection.want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
                                            FUSE_CAP_SPLICE_MOVE | FUSE_CAP_IOCTL_DIR);
  connection.max_write = std::min<unsigned>(connection.max_write, max_request_bytes);
  // So many requests that nobody waits for, readahead above all, may be under way.
  connection.max_background = 64;
  connection.congestion_threshold = 48;
  mount.note_ready((connection.want & FUSE_CAP_POSIX_ACL) != 0);
}

void statfs(Mount& mount, fuse_req_t request, fuse_ino_t /*number*/) {
  Result<struct statvfs> status = mount.backing().file_system(mount.volume().root());
  if (!status) {
    return reply_error(request, status.error());
  }
  if (mount.volume().features().hashes_long_names()) {
    status->f_namemax = vault::max_name_bytes;
  }
  (void)fuse_reply_statfs(request, &*status);
}

}  // namespace paes::mount
