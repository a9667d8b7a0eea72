// SPDX-License-Identifier: Apache-2.0
#include "core/syncfs.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <system_error>
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
  if (uname(&system) != 0) {
    return false;
  }
  std::pair<unsigned, unsigned> version;
  const char* const end = std::end(system.release);
  const std::from_chars_result first = std::from_chars(system.release, end, version.first);
  return first.ec == std::errc() && *first.ptr == '.' &&
         std::from_chars(first.ptr + 1, end, version.second).ec == std::errc() &&
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
