// SPDX-License-Identifier: Apache-2.0
// Operations on folders that are open. Each function answers one request of fuse_lowlevel_ops, by
// the same name and with the same arguments.
#pragma once

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

void opendir(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
void readdir(Mount& mount, fuse_req_t request, fuse_ino_t number, std::size_t bytes, off_t offset,
             fuse_file_info* file);
void readdirplus(Mount& mount, fuse_req_t request, fuse_ino_t number, std::size_t bytes,
                 off_t offset, fuse_file_info* file);
void fsyncdir(Mount& mount, fuse_req_t request, fuse_ino_t number, int data_only,
              fuse_file_info* file);
void releasedir(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file);

}  // namespace paes::mount
