#include "stream/change_time.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <iterator>

#include "core/descriptor.hpp"
#include "paes/error.hpp"

namespace paes::stream {

namespace {

enum class Answer { kept, lost, unknown };

// The numbers of statfs(2). Some of these file systems move ctime while a file is in memory, and
// have forgotten it when they read the file from the disk again: trying them out would deceive.
constexpr std::uint32_t forgetful[] = {
    0x4d44,      // msdos, vfat
    0x2011bab0,  // exfat
    0x4244,      // hfs
    0xadf5,      // adfs
    0xadff,      // affs
    0xf995e849,  // hpfs
    0x137f,      // minix
    0x138f,      // minix
    0xc2993d87,  // omfs
};

// File systems that keep ctime as POSIX has it and whose content changes in no other way.
constexpr std::uint32_t faithful[] = {
    0xef53,      // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683e,  // btrfs
    0x2fc12fc1,  // zfs
    0xf2f52010,  // f2fs
    0xca451a4e,  // bcachefs
    0x01021994,  // tmpfs
    0x794c7630,  // overlayfs
    0x00c36400,  // ceph
    0x0bd00bd0,  // lustre
    0x47504653,  // gpfs
    0x19830326,  // beegfs
};

constexpr std::uint32_t overlayfs = 0x794c7630;

template <std::size_t Count>
bool is_among(const std::uint32_t (&kinds)[Count], std::uint32_t kind) noexcept {
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

// What kind of file system a descriptor is on, and which one.
struct FileSystem {
  std::uint32_t kind = 0;
  fsid_t number = {};
  dev_t device = 0;

  // An overlay gives files that nobody has changed the device of another file system.
  [[nodiscard]] bool is(const FileSystem& other) const noexcept {
    return kind == other.kind && (device == other.device ||
                                  (kind == overlayfs && number.__val[0] == other.number.__val[0] &&
                                   number.__val[1] == other.number.__val[1]));
  }
};

bool find_file_system(int descriptor, FileSystem& found) noexcept {
  struct statfs all = {};
  struct stat status = {};
  if (fstatfs(descriptor, &all) != 0 || fstat(descriptor, &status) != 0) {
    return false;
  }
  found = {static_cast<std::uint32_t>(all.f_type), all.f_fsid, status.st_dev};
  return true;
}

// The folder in which the source lies, also that of standard input. Not open where it cannot be
// found, or where a name there leads into another file system (a file that was mounted alone).
Descriptor folder_of(const Input& input, const FileSystem& source) {
  const std::string link = "/proc/self/fd/" + std::to_string(input.descriptor());
  std::array<char, PATH_MAX> text = {};
  const ssize_t got = readlink(link.c_str(), text.data(), text.size());
  if (got <= 0 || got == static_cast<ssize_t>(text.size())) {
    return {};
  }
  const std::string path(text.data(), static_cast<std::size_t>(got));
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return {};
  }
  Descriptor folder(
      open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat named = {};
  FileSystem around;
  if (!folder.is_open() ||
      fstatat(folder.number(), path.c_str() + slash + 1, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      FileIdentity{named.st_dev, named.st_ino} != input.identity() ||
      !find_file_system(folder.number(), around) || !around.is(source)) {
    return {};
  }
  return folder;
}

// An empty file with or without a name, whose name goes with this.
class Trial {
 public:
  explicit Trial(const Descriptor& folder) : folder_(folder.number()) {
    constexpr mode_t mode = S_IRUSR | S_IWUSR;
    file_ = Descriptor(openat(folder_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
    while (!file_.is_open() && errno != EACCES && errno != EROFS) {
      name_ = new_temporary_name();
      file_ = Descriptor(openat(folder_, name_.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
      if (!file_.is_open() && errno != EEXIST) {
        name_.clear();
        break;
      }
    }
  }
  ~Trial() {
    if (!name_.empty()) {
      (void)unlinkat(folder_, name_.c_str(), 0);
    }
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] const Descriptor& file() const noexcept { return file_; }

 private:
  int folder_;
  std::string name_;
  Descriptor file_;
};

// Sets mtime back by a day, as somebody would who wants to hide a change, and looks whether ctime
// went back as well. The times are asked of a server anew where the file system has one.
Answer try_out(const Descriptor& folder) {
  const Trial trial(folder);
  const int file = trial.file().number();
  struct timespec now = {};
  if (!trial.file().is_open() || clock_gettime(CLOCK_REALTIME, &now) != 0) {
    return Answer::unknown;
  }
  constexpr time_t day_s = 86400;
  const time_t earlier_s = now.tv_sec - day_s;
  const struct timespec times[2] = {{0, UTIME_OMIT}, {earlier_s, 0}};
  struct statx status = {};
  if (futimens(file, times) != 0 || statx(file, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC,
                                          STATX_MTIME | STATX_CTIME, &status) != 0) {
    return Answer::unknown;
  }
  constexpr std::int64_t coarsest_s = 2;
  if (status.stx_mtime.tv_sec > earlier_s + coarsest_s) {
    return Answer::unknown;
  }
  return status.stx_ctime.tv_sec > status.stx_mtime.tv_sec + day_s / 2 ? Answer::kept
                                                                       : Answer::lost;
}

Answer find_out(const Input& input) {
  FileSystem source;
  if (!find_file_system(input.descriptor(), source)) {
    return Answer::unknown;
  }
  if (is_among(forgetful, source.kind)) {
    return Answer::lost;
  }
  if (const Descriptor folder = folder_of(input, source); folder.is_open()) {
    if (const Answer answer = try_out(folder); answer != Answer::unknown) {
      return answer;
    }
  }
  return is_among(faithful, source.kind) ? Answer::kept : Answer::unknown;
}

}  // namespace

void refuse_unless_change_time_is_kept(const Input& input) {
  const Answer answer = find_out(input);
  if (answer == Answer::kept) {
    return;
  }
  throw Error(ErrorCode::usage,
              input.name() + (answer == Answer::lost
                                  ? ": its file system keeps no time of change (ctime) apart from "
                                    "that of modification, which --resume needs"
                                  : ": its file system may keep no time of change (ctime), which "
                                    "--resume needs, and its folder takes no file to try that"),
              "encrypt without --resume, or from a copy on another file system");
}

}  // namespace paes::stream
