#include "core/syncfs.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace paes {

namespace {

constexpr std::array<std::uint32_t, 5> known_to_report = {
    EXT4_SUPER_MAGIC,  // ext2 and ext3, too
    XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC,
};

bool system_reports() noexcept {
  constexpr std::pair<unsigned, unsigned> first_to_report = {5, 8};
  struct utsname system = {};
  std::pair<unsigned, unsigned> version;
  return uname(&system) == 0 &&
         std::sscanf(system.release, "%u.%u", &version.first, &version.second) == 2 &&
         version >= first_to_report;
}

}  // namespace

bool syncfs_reports_errors(int descriptor) noexcept {
  static const bool is_recent = system_reports();
  struct statfs status = {};
  int result = 0;
  do {
    result = fstatfs(descriptor, &status);
  } while (result != 0 && errno == EINTR);
  return is_recent && result == 0 &&
         std::find(known_to_report.begin(), known_to_report.end(),
                   static_cast<std::uint32_t>(status.f_type)) != known_to_report.end();
}

}  // namespace paes
