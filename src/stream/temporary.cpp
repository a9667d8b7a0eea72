#include "stream/temporary.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "core/descriptor.hpp"
#include "stream/file_system.hpp"

namespace paes::stream {

namespace {

constexpr std::size_t digits = 16;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { (void)closedir(folder); }
};

// One byte far behind all data, so that no write of others meets it where locks are mandatory
// (SMB).
struct flock last_byte() noexcept {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = INT64_MAX - 1;
  lock.l_len = 1;
  return lock;
}

bool is_abandoned(int folder, const char* name) {
  struct stat status = {};
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid()) {
    return false;
  }
  const Descriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    return errno != ENOENT;
  }
  struct flock held = last_byte();
  return fcntl(file.number(), F_OFD_GETLK, &held) != 0 || held.l_type == F_UNLCK;
}

}  // namespace

bool is_temporary_name(std::string_view name) noexcept {
  return name.size() == temporary_prefix.size() + digits && name.starts_with(temporary_prefix) &&
         name.find_first_not_of("0123456789abcdef", temporary_prefix.size()) ==
             std::string_view::npos;
}

void lock_temporary(int descriptor, bool is_shared) noexcept {
  // MPI libraries lock whole files on NFS for each write, and would wait for ours.
  if (is_shared && !file_system_of(descriptor).is_local) {
    return;
  }
  struct flock lock = last_byte();
  (void)fcntl(descriptor, F_OFD_SETLK, &lock);
}

std::vector<std::string> find_abandoned(const std::string& folder) {
  std::vector<std::string> found;
  const std::unique_ptr<DIR, CloseFolder> entries(opendir(folder.c_str()));
  if (entries == nullptr) {
    return found;
  }
  for (std::size_t looked_at = 0; looked_at != max_entries_looked_at; ++looked_at) {
    const dirent* const entry = readdir(entries.get());
    if (entry == nullptr) {
      break;
    }
    if (is_temporary_name(entry->d_name) && is_abandoned(dirfd(entries.get()), entry->d_name)) {
      found.emplace_back(entry->d_name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace paes::stream
