// SPDX-License-Identifier: Apache-2.0
// Operations on files that are open. Each function answers one request of fuse_lowlevel_ops, by the
// same name and with the same arguments.
#pragma once

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

void open(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file);
void read(Mount& mount, fuse_req_t request, fuse_ino_t number, std::size_t bytes, off_t offset,
          fuse_file_info* file);
void write(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* from, std::size_t bytes,
           off_t offset, fuse_file_info* file);
// For SEEK_DATA and SEEK_HOLE alone.
void lseek(Mount& mount, fuse_req_t request, fuse_ino_t number, off_t offset, int whence,
           fuse_file_info* file);
void fsync(Mount& mount, fuse_req_t request, fuse_ino_t number, int data_only,
           fuse_file_info* file);
void fallocate(Mount& mount, fuse_req_t request, fuse_ino_t number, int mode, off_t offset,
               off_t bytes, fuse_file_info* file);
void copy_file_range(Mount& mount, fuse_req_t request, fuse_ino_t from_number, off_t from_offset,
                     fuse_file_info* from, fuse_ino_t to_number, off_t to_offset,
                     fuse_file_info* to, std::size_t bytes, int flags);
void release(Mount& mount, fuse_req_t request, fuse_ino_t number, fuse_file_info* file);

}  // namespace paes::mount
