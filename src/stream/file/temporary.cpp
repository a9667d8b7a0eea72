// SPDX-License-Identifier: Apache-2.0
#include "stream/file/temporary.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>

#include "core/bytes.hpp"
#include "core/descriptor.hpp"
#include "core/folder.hpp"
#include "crypto/libcrypto.hpp"
#include "stream/file/file_system.hpp"

namespace paes::stream {

namespace {

constexpr std::size_t digits = 16;

// One byte far behind all data, where it is in nobody's way.
struct flock last_byte() noexcept {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = INT64_MAX - 1;
  lock.l_len = 1;
  return lock;
}

// Whether this is an unlocked file of this user. The lock is looked at only if no server has to
// answer.
bool is_abandoned(int folder, const char* name, bool asks_for_lock) {
  struct stat status = {};
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid()) {
    return false;
  }
  if (!asks_for_lock) {
    return true;
  }
  const Descriptor file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    return errno != ENOENT;
  }
  return !is_locked_temporary(file.number());
}

bool is_too_long(int folder, const std::string& path) noexcept {
  struct stat status = {};
  return fstatat(folder, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENAMETOOLONG;
}

// "~" and 64 bits of a hash, which are enough to keep names of one folder apart.
std::string hash_of(const std::string& name) {
  std::uint8_t hash[libcrypto::sha256_bytes];
  libcrypto::sha256(libcrypto::bytes_of(name), hash);
  char text[32];
  (void)std::snprintf(text, sizeof text, "~%016llx",
                      static_cast<unsigned long long>(load_be64(hash)));
  return text;
}

// The beginning of a name, at most so many bytes. No UTF-8 character is cut.
std::string beginning_of(const std::string& name, std::size_t most_bytes) {
  std::size_t bytes = std::min(name.size(), most_bytes);
  while (bytes != 0 && bytes != name.size() &&
         (static_cast<unsigned char>(name[bytes]) & 0xc0U) == 0x80) {
    --bytes;
  }
  return name.substr(0, bytes);
}

}  // namespace

std::string path_beside(const std::string& path, const std::string& suffix, int folder) {
  // The limit of most file systems, and that of eCryptfs.
  constexpr std::size_t limits[] = {NAME_MAX, 143};
  std::string plain = path + suffix;
  const std::size_t at = path.rfind('/') + 1;  // npos + 1 is 0
  if (plain.size() - at <= limits[1] || !is_too_long(folder, plain)) {
    return plain;
  }
  const std::string name = path.substr(at);
  const std::string end = hash_of(name) + suffix;
  for (const std::size_t most_bytes : limits) {
    std::string shorter = path.substr(0, at) + beginning_of(name, most_bytes - end.size()) + end;
    if (!is_too_long(folder, shorter)) {
      return shorter;
    }
  }
  return plain;
}

FilePlace place_beside(const FilePlace& place, const std::string& suffix) {
  const std::string name = place.name();
  return {place.path.substr(0, place.path.size() - name.size()) +
              path_beside(name, suffix, place.folder),
          place.folder};
}

bool is_name_beside(std::string_view name) noexcept {
  constexpr std::string_view suffixes[] = {".journal", ".partial", ".rekey"};
  return std::any_of(std::begin(suffixes), std::end(suffixes), [name](std::string_view suffix) {
    return name.size() >= suffix.size() && strncasecmp(name.data() + name.size() - suffix.size(),
                                                       suffix.data(), suffix.size()) == 0;
  });
}

bool is_temporary_name(std::string_view name) noexcept {
  return name.size() == temporary_prefix.size() + digits && name.starts_with(temporary_prefix) &&
         name.find_first_not_of("0123456789abcdef", temporary_prefix.size()) ==
             std::string_view::npos;
}

Temporary make_temporary(int folder, bool may_be_unnamed, const NewFileCalls& calls) {
  constexpr int flags = O_RDWR | O_CLOEXEC;
  constexpr mode_t mode = S_IRUSR | S_IWUSR;
  Temporary made;
  if (may_be_unnamed) {
    made.file = Descriptor(calls.open_unnamed(folder, ".", O_TMPFILE | flags, mode));
  }
  while (!made.file.is_open()) {
    made.name = new_temporary_name();
    made.file =
        Descriptor(openat(folder, made.name.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    if (!made.file.is_open() && errno != EEXIST) {
      made.name.clear();
      return made;
    }
  }
  if (!made.name.empty()) {
    lock_temporary(made.file.number());
  }
  return made;
}

void lock_temporary(int file) noexcept {
  // A server that grants no locks may let us wait for ever, and MPI libraries lock whole files
  // there for each of their writes.
  if (file_system_of(file).has_own_locks) {
    struct flock lock = last_byte();
    (void)fcntl(file, F_OFD_SETLK, &lock);
  }
}

bool is_locked_temporary(int file) noexcept {
  struct flock held = last_byte();
  return file_system_of(file).has_own_locks && fcntl(file, F_OFD_GETLK, &held) == 0 &&
         held.l_type != F_UNLCK;
}

AbandonedFiles find_abandoned(int folder) {
  AbandonedFiles found;
  const int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listed < 0) {
    return found;
  }
  const FolderReader entries(fdopendir(listed));
  if (entries == nullptr) {
    (void)close(listed);
    return found;
  }
  const int number = dirfd(entries.get());
  const FileSystem file_system = file_system_of(number);
  found.may_be_in_use = !file_system.is_local;
  const auto is_left = [&](const std::string& file) {
    return is_abandoned(number, file.c_str(), file_system.has_own_locks);
  };
  bool has_some_beside = false;
  for (std::size_t looked_at = 0; looked_at != max_entries_looked_at; ++looked_at) {
    errno = 0;
    const dirent* const entry = readdir(entries.get());
    if (entry == nullptr) {
      found.has_none_beside = errno == 0 && !has_some_beside;
      break;
    }
    has_some_beside = has_some_beside || is_name_beside(entry->d_name);
    if (is_temporary_name(entry->d_name) && is_left(entry->d_name)) {
      found.files.emplace_back(entry->d_name);
    }
  }
  if (!found.files.empty()) {
    // Another run may just have made its file, and not locked it yet.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::erase_if(found.files, [&](const std::string& file) { return !is_left(file); });
  }
  std::sort(found.files.begin(), found.files.end());
  return found;
}

}  // namespace paes::stream
