// SPDX-License-Identifier: Apache-2.0
#include "core/children.hpp"

#include <dirent.h>
#include <features.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "core/descriptor.hpp"

// glibc has it from 2.34 on, musl does not. A wheel for older ones takes it where it is.
#if !defined(__GLIBC_PREREQ)
#define PAES_HAS_CLOSEFROM 0
#elif __GLIBC_PREREQ(2, 34)
#define PAES_HAS_CLOSEFROM 1
#else
#define PAES_HAS_CLOSEFROM 0
#endif
#if !PAES_HAS_CLOSEFROM
extern "C" [[gnu::weak]] int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t*,
                                                                      int) noexcept;
#endif

namespace paes {

std::string find_program(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (folder.starts_with('/')) {
      std::string file = std::string(folder) + "/" + std::string(name);
      struct stat status = {};
      if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
          access(file.c_str(), X_OK) == 0) {
        return file;
      }
    }
  }
  return "";
}

SpawnOptions::SpawnOptions() {
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
}

SpawnOptions::~SpawnOptions() {
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

void give_own_signals(posix_spawnattr_t& attributes) noexcept {
  sigset_t none;
  sigset_t defaults;
  (void)sigemptyset(&none);
  (void)sigfillset(&defaults);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT}) {
    (void)sigdelset(&defaults, number);
  }
  (void)posix_spawnattr_setsigmask(&attributes, &none);
  (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

void close_from(posix_spawn_file_actions_t& actions, int first) {
#if !PAES_HAS_CLOSEFROM
  if (posix_spawn_file_actions_addclosefrom_np == nullptr) {
    close_what_is_open_from(actions, first);
    return;
  }
#endif
  const int error = posix_spawn_file_actions_addclosefrom_np(&actions, first);
  if (error != 0) {
    errno = error;
    throw_errno("descriptors of a new program");
  }
}

void close_what_is_open_from(posix_spawn_file_actions_t& actions, int first) {
  constexpr const char* folder_name = "/proc/self/fd";
  struct Close {
    void operator()(DIR* open) const noexcept { (void)closedir(open); }
  };
  const std::unique_ptr<DIR, Close> folder(opendir(folder_name));
  if (folder == nullptr) {
    throw_errno(folder_name);
  }
  errno = 0;
  while (const dirent* const entry = readdir(folder.get())) {
    int number = 0;  // so it stays for "." and ".."
    (void)std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), number);
    // The folder's own descriptor is closed before the program starts.
    if (number >= first && number != dirfd(folder.get())) {
      const int error = posix_spawn_file_actions_addclose(&actions, number);
      if (error != 0) {
        errno = error;
        throw_errno("descriptors of a new program");
      }
    }
    errno = 0;
  }
  if (errno != 0) {
    throw_errno(folder_name);
  }
}

std::optional<int> wait_for_child(pid_t child) noexcept {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return std::nullopt;
    }
  }
  return status;
}

}  // namespace paes
