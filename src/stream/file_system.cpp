#include "stream/file_system.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace paes::stream {

namespace {

constexpr std::uint64_t exfat_super_magic = 0x2011BAB0;
constexpr std::uint64_t ntfs3_super_magic = 0x7366746E;
constexpr std::uint64_t zfs_super_magic = 0x2FC12FC1;

// Besides those that keep lengths.
constexpr std::uint64_t local_kinds[] = {BTRFS_SUPER_MAGIC,    F2FS_SUPER_MAGIC,  MSDOS_SUPER_MAGIC,
                                         exfat_super_magic,    ntfs3_super_magic, zfs_super_magic,
                                         OVERLAYFS_SUPER_MAGIC};

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
  const auto kind = static_cast<std::uint64_t>(status.f_type);
  found.keeps_lengths = kind == EXT4_SUPER_MAGIC || kind == XFS_SUPER_MAGIC || kind == TMPFS_MAGIC;
  found.is_local = found.keeps_lengths || std::find(std::begin(local_kinds), std::end(local_kinds),
                                                    kind) != std::end(local_kinds);
  found.counts_blocks = kind != FUSE_SUPER_MAGIC;
  found.has_own_locks = found.is_local || kind == FUSE_SUPER_MAGIC;
  const auto block_bytes =
      static_cast<std::uint64_t>(status.f_frsize != 0 ? status.f_frsize : status.f_bsize);
  if (status.f_blocks != 0 && block_bytes != 0) {
    // Some blocks are set aside for the superuser.
    const std::uint64_t blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail;
    found.free_bytes = blocks > UINT64_MAX / block_bytes ? UINT64_MAX : blocks * block_bytes;
  }
  return found;
}

}  // namespace paes::stream
