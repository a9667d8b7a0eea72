#include "stream/file_system.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace paes::stream {

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
  found.is_local = found.keeps_lengths || kind == BTRFS_SUPER_MAGIC;
  found.counts_blocks = kind != FUSE_SUPER_MAGIC;
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
