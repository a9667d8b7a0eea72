// SPDX-License-Identifier: Apache-2.0
// Operations on the attributes of whatever has a name: what chmod, chown, touch and truncate
// change, and extended attributes. Each function answers one request of fuse_lowlevel_ops, by the
// same name and with the same arguments.
#pragma once

#include "paes-mount/mount_context.hpp"

namespace paes::mount {

void setattr(Mount& mount, fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
             fuse_file_info* file);
void getxattr(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* name,
              std::size_t bytes);
void listxattr(Mount& mount, fuse_req_t request, fuse_ino_t number, std::size_t bytes);
void setxattr(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* name,
              const char* value, std::size_t bytes, int flags);
void removexattr(Mount& mount, fuse_req_t request, fuse_ino_t number, const char* name);

}  // namespace paes::mount
