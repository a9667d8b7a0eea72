// SPDX-License-Identifier: Apache-2.0
#include "stream/file/change_time.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "core/descriptor.hpp"
#include "paes/error.hpp"
#include "stream/file/file_system.hpp"
#include "stream/file/temporary.hpp"

namespace paes::stream {

namespace {

// On an overlay, unchanged files show the device number of another file system.
constexpr std::uint32_t overlayfs = 0x794c7630;

struct Place {
  FileSystem system;
  dev_t device = 0;

  [[nodiscard]] bool is_in_file_system_of(const Place& other) const noexcept {
    return system.kind == other.system.kind &&
           (device == other.device ||
            (system.kind == overlayfs && system.number == other.system.number));
  }
};

Place place_of(int descriptor) noexcept {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 ? Place{file_system_of(descriptor), status.st_dev}
                                         : Place{};
}

// The source's folder, also if the source is standard input. Not open if it cannot be found, or if
// it lies on another file system (a single file was mounted).
Descriptor folder_of(const Input& input, const Place& source) {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::read_symlink(path_of_descriptor(input.descriptor()), error);
  if (error || !path.has_parent_path()) {
    return {};
  }
  Descriptor folder(
      open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat named = {};
  if (!folder.is_open() ||
      fstatat(folder.number(), path.filename().c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      FileIdentity{named.st_dev, named.st_ino} != input.identity() ||
      !place_of(folder.number()).is_in_file_system_of(source)) {
    return {};
  }
  return folder;
}

struct RemoveOnExit {
  int folder;
  const std::string& name;  // empty: there is nothing to remove
  ~RemoveOnExit() {
    if (!name.empty()) {
      (void)unlinkat(folder, name.c_str(), 0);
    }
  }
};

// musl, with which the Python package runs as well, has no function for statx.
int look_at(int file, struct statx& status) noexcept {
  constexpr int flags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
  constexpr unsigned wanted = STATX_MTIME | STATX_CTIME;
#ifdef __GLIBC__
  return statx(file, "", flags, wanted, &status);
#else
  return static_cast<int>(syscall(SYS_statx, file, "", flags, wanted, &status));
#endif
}

// Sets mtime back by a day, as anyone would who hides a change, and looks whether ctime went back
// as well. A network file system asks its server anew for the times.
ChangeTime try_out(const Descriptor& folder) {
  const Temporary trial = make_temporary(folder.number(), true);
  const RemoveOnExit remove{folder.number(), trial.name};
  const int file = trial.file.number();
  struct timespec now = {};
  if (!trial.file.is_open() || clock_gettime(CLOCK_REALTIME, &now) != 0) {
    return ChangeTime::unknown;
  }
  constexpr time_t day_s = 86400;
  const time_t earlier_s = now.tv_sec - day_s;
  const struct timespec times[2] = {{0, UTIME_OMIT}, {earlier_s, 0}};
  struct statx status = {};
  if (futimens(file, times) != 0 || look_at(file, status) != 0) {
    return ChangeTime::unknown;
  }
  constexpr std::int64_t coarsest_s = 2;
  if (status.stx_mtime.tv_sec > earlier_s + coarsest_s) {
    return ChangeTime::unknown;
  }
  return status.stx_ctime.tv_sec > status.stx_mtime.tv_sec + day_s / 2 ? ChangeTime::kept
                                                                       : ChangeTime::lost;
}

ChangeTime find_out(const Input& input) {
  const Place source = place_of(input.descriptor());
  if (source.system.change_time == ChangeTime::lost) {
    return ChangeTime::lost;
  }
  const Descriptor folder = folder_of(input, source);
  const ChangeTime tried = folder.is_open() ? try_out(folder) : ChangeTime::unknown;
  return tried != ChangeTime::unknown ? tried : source.system.change_time;
}

}  // namespace

void refuse_unless_change_time_is_kept(const Input& input) {
  const ChangeTime answer = find_out(input);
  if (answer == ChangeTime::kept) {
    return;
  }
  throw Error(ErrorCode::usage,
              input.name() + (answer == ChangeTime::lost
                                  ? ": its file system keeps no time of change (ctime) apart from "
                                    "that of modification, which --resume needs"
                                  : ": its file system may keep no time of change (ctime), which "
                                    "--resume needs, and its folder takes no file to try that"),
              "encrypt without --resume, or from a copy on another file system");
}

}  // namespace paes::stream
