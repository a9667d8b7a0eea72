// SPDX-License-Identifier: Apache-2.0
#include "stream/file/file_system.hpp"

#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace paes::stream {

namespace {

struct Kind {
  std::uint32_t number;  // statfs(2)
  bool keeps_lengths;
  bool is_local;
  ChangeTime change_time;
};

constexpr Kind kinds[] = {
    {0xef53, true, true, ChangeTime::kept},          // ext2, ext3, ext4
    {0x58465342, true, true, ChangeTime::kept},      // xfs
    {0x01021994, true, true, ChangeTime::kept},      // tmpfs
    {0x9123683e, false, true, ChangeTime::kept},     // btrfs
    {0x2fc12fc1, false, true, ChangeTime::kept},     // zfs
    {0xf2f52010, false, true, ChangeTime::kept},     // f2fs
    {0xca451a4e, false, true, ChangeTime::kept},     // bcachefs
    {0x794c7630, false, true, ChangeTime::kept},     // overlayfs
    {0x00c36400, false, false, ChangeTime::kept},    // ceph
    {0x0bd00bd0, false, false, ChangeTime::kept},    // lustre
    {0x47504653, false, false, ChangeTime::kept},    // gpfs
    {0x19830326, false, false, ChangeTime::kept},    // beegfs
    {0x7366746e, false, true, ChangeTime::unknown},  // ntfs3
    // Images that no program can write to. Only root can mount another one in the place of one
    // of these, and root can set ctime anywhere.
    {0x73717368, false, true, ChangeTime::kept},  // squashfs
    {0xe0f5e1e2, false, true, ChangeTime::kept},  // erofs
    {0x9660, false, true, ChangeTime::kept},      // iso9660
    {0x28cd3d45, false, true, ChangeTime::kept},  // cramfs
    {0x7275, false, true, ChangeTime::kept},      // romfs
    {0x4d44, false, true, ChangeTime::lost},      // msdos, vfat
    {0x2011bab0, false, true, ChangeTime::lost},  // exfat
    {0x4244, false, true, ChangeTime::lost},      // hfs
    {0xadf5, false, true, ChangeTime::lost},      // adfs
    {0xadff, false, true, ChangeTime::lost},      // affs
    {0xf995e849, false, true, ChangeTime::lost},  // hpfs
    {0x137f, false, true, ChangeTime::lost},      // minix
    {0x138f, false, true, ChangeTime::lost},      // minix
    {0xc2993d87, false, true, ChangeTime::lost},  // omfs
};

constexpr std::uint32_t fuse = 0x65735546;

// Some blocks are set aside for the superuser, and for others whom an administrator named.
void count_free_bytes(const struct statfs& status, FileSystem& found) noexcept {
  const auto block_bytes =
      static_cast<std::uint64_t>(status.f_frsize != 0 ? status.f_frsize : status.f_bsize);
  if (status.f_blocks == 0 || block_bytes == 0) {
    return;
  }
  const auto bytes_of = [&](std::uint64_t blocks) {
    return blocks > UINT64_MAX / block_bytes ? UINT64_MAX : blocks * block_bytes;
  };
  found.most_free_bytes = bytes_of(status.f_bfree);
  found.free_bytes = geteuid() == 0 ? found.most_free_bytes : bytes_of(status.f_bavail);
}

}  // namespace

FileSystem file_system_of(int descriptor) noexcept {
  struct statfs status = {};
  int result = 0;
  do {
    result = fstatfs(descriptor, &status);
  } while (result != 0 && errno == EINTR);
  FileSystem found;
  if (result != 0) {
    return found;
  }
  found.kind = static_cast<std::uint32_t>(status.f_type);
  found.number = static_cast<std::uint64_t>(static_cast<std::uint32_t>(status.f_fsid.__val[0]))
                     << 32 |
                 static_cast<std::uint32_t>(status.f_fsid.__val[1]);
  count_free_bytes(status, found);
  found.counts_blocks = found.kind != fuse;
  const Kind* const known = std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& kind) {
    return kind.number == found.kind;
  });
  if (known != std::end(kinds)) {
    found.keeps_lengths = known->keeps_lengths;
    found.is_local = known->is_local;
    found.change_time = known->change_time;
  }
  found.has_own_locks = found.is_local || found.kind == fuse;
  return found;
}

}  // namespace paes::stream
