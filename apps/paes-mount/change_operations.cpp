// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/change_operations.hpp"

#include "paes-mount/handles.hpp"

namespace paes::mount {

namespace {

Bytes bytes_of(const char* from, std::size_t bytes) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(from), bytes};
}

}  // namespace

void MountedVault::Changes::add_to(fuse_lowlevel_ops& calls) noexcept {
  calls.create = [](fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                    fuse_file_info* file) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.create(request, parent, name, mode, file); });
  };
  calls.mkdir = [](fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.make_folder(request, parent, name, mode); });
  };
  calls.mknod = [](fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                   dev_t device) {
    Answers::answer(request, [&](MountedVault& vault) {
      vault.make_node(request, parent, name, mode, device);
    });
  };
  calls.symlink = [](fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.make_link(request, target, parent, name); });
  };
  calls.link = [](fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char* name) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.add_name(request, number, parent, name); });
  };
  calls.unlink = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.remove(request, parent, name, false); });
  };
  calls.rmdir = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.remove(request, parent, name, true); });
  };
  calls.rename = [](fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t to_parent,
                    const char* to_name, unsigned flags) {
    Answers::answer(request, [&](MountedVault& vault) {
      vault.rename(request, parent, name, to_parent, to_name, flags);
    });
  };
  calls.write = [](fuse_req_t request, fuse_ino_t, const char* from, std::size_t bytes,
                   off_t offset, fuse_file_info* file) {
    Answers::answer(request, [&](MountedVault& vault) {
      vault.write(request, bytes_of(from, bytes), offset, file);
    });
  };
  calls.fsync = [](fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* file) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.sync_file(request, data_only != 0, file); });
  };
  calls.fsyncdir = [](fuse_req_t request, fuse_ino_t, int, fuse_file_info* file) {
    Answers::answer(request, [&](MountedVault& vault) { vault.sync_folder(request, file); });
  };
  calls.fallocate = [](fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t bytes,
                       fuse_file_info* file) {
    Answers::answer(
        request, [&](MountedVault& vault) { vault.allocate(request, mode, offset, bytes, file); });
  };
  calls.copy_file_range = [](fuse_req_t request, fuse_ino_t, off_t from_offset,
                             fuse_file_info* from, fuse_ino_t, off_t to_offset, fuse_file_info* to,
                             std::size_t bytes, int) {
    Answers::answer(request, [&](MountedVault& vault) {
      vault.copy_range(request, from_offset, from, to_offset, to, bytes);
    });
  };
  calls.setattr = [](fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
                     fuse_file_info* file) {
    Answers::answer(request, [&](MountedVault& vault) {
      vault.set_attributes(request, number, *wanted, which, file);
    });
  };
  calls.setxattr = [](fuse_req_t request, fuse_ino_t number, const char* name, const char* value,
                      std::size_t bytes, int flags) {
    Answers::answer(request, [&](MountedVault& vault) {
      vault.set_attribute(request, number, name, bytes_of(value, bytes), flags);
    });
  };
  calls.removexattr = [](fuse_req_t request, fuse_ino_t number, const char* name) {
    Answers::answer(request,
                    [&](MountedVault& vault) { vault.remove_attribute(request, number, name); });
  };
}

}  // namespace paes::mount
