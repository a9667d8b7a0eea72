// SPDX-License-Identifier: Apache-2.0
// Operations that make, move and remove names. Each function answers one request of
// fuse_lowlevel_ops, by the same name and with the same arguments.
#pragma once

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

void create(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
            mode_t mode, fuse_file_info* file);
void mkdir(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
           mode_t mode);
void mknod(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
           mode_t mode, dev_t device);
void symlink(Mount& mount, fuse_req_t request, const char* target, fuse_ino_t parent_number,
             const char* name);
void link(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_ino_t parent_number,
          const char* name);
void unlink(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name);
void rmdir(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name);
void rename(Mount& mount, fuse_req_t request, fuse_ino_t parent_number, const char* name,
            fuse_ino_t to_parent_number, const char* to_name, unsigned flags);

}  // namespace paes::mount
