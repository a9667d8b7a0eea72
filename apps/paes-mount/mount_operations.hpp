// SPDX-License-Identifier: Apache-2.0
// Operations on a mount as a whole. Each function answers one request of fuse_lowlevel_ops, by the
// same name and with the same arguments.
#pragma once

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

// Agrees with the system on the protocol. It is no request: nobody waits for an answer.
void init(Mount& mount, fuse_conn_info& connection);
void statfs(Mount& mount, fuse_req_t request, fuse_ino_t number);

}  // namespace paes::mount
