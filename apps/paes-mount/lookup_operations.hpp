// SPDX-License-Identifier: Apache-2.0
// Operations that say what a name leads to, and what that is. Each function answers one request of
// fuse_lowlevel_ops, by the same name and with the same arguments.
#pragma once

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

void lookup(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name);
void forget(Mount& mount, fuse_req_t request, fuse_ino_t number, std::uint64_t lookups);
void forget_multi(Mount& mount, fuse_req_t request, std::size_t count, fuse_forget_data* forgotten);
void getattr(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
void readlink(Mount& mount, fuse_req_t request, fuse_ino_t number);

}  // namespace paes::mount
