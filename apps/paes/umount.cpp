// SPDX-License-Identifier: Apache-2.0
// `paes umount`: unmounts vaults, and returns when their programs have written everything, have
// wiped their keys and are gone.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "cli/command.hpp"
#include "cli/decimal.hpp"
#include "cli/mount_holders.hpp"
#include "cli/mount_presence.hpp"
#include "cli/mount_table.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/children.hpp"
#include "core/current_error.hpp"
#include "core/descriptor.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A process that has just ended, or was just looking, keeps a mount busy for a moment.
constexpr milliseconds patience_for_free{2000};
constexpr std::size_t most_named = 5;

struct UmountCommand {
  std::vector<std::string> mountpoints;
  bool is_lazy = false;
  unsigned timeout_s = 60;
};

[[noreturn]] void fail(const std::string& path, const std::string& why,
                       const std::string& hint = {}) {
  throw Error(ErrorCode::failure, path + ": " + why, hint);
}

// Absolute, without links. Asks nothing of what is mounted there, which may not answer; a slash or
// a dot at the end would.
std::string real_path(std::string path) {
  refuse_zero_byte(path);
  const std::string given = path;
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) {
    path.pop_back();
  }
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) {
    throw_errno(given);
  }
  return real.get();
}

// What is to be unmounted. Throws Error(failure) for all that is not a vault's mount.
MountedPlace find_vault(const std::string& path, const std::string& real) {
  const std::vector<MountedPlace> table = read_mount_table();
  if (const MountedPlace* const found = find_mounted(table, real)) {
    if (found->type != type_of_vaults) {
      fail(path, "is not a mount of paes: its type is " + found->type,
           "`umount` and `fusermount3 -u` unmount what others have mounted");
    }
    return *found;
  }
  for (const MountedPlace& place : table) {
    if (place.type == type_of_vaults && place.source == real) {
      fail(path, "nothing is mounted there", "this vault is mounted on " + place.path);
    }
    if (place.type == type_of_vaults && lies_within(real, place.path)) {
      fail(path, "nothing is mounted there", "it lies in the mount " + place.path);
    }
  }
  fail(path, "nothing is mounted there");
}

// Whether nobody will ever answer there. May wait for the answer of a program that is there.
bool is_abandoned(const MountedPlace& place) {
  struct statvfs statistics = {};
  return statvfs(place.path.c_str(), &statistics) != 0 &&
         (errno == ENOTCONN || errno == ECONNABORTED);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 512> part{};
  for (;;) {
    const ssize_t bytes = read(descriptor, part.data(), part.size());
    if (bytes > 0) {
      text.append(part.data(), static_cast<std::size_t>(bytes));
    } else if (bytes == 0 || errno != EINTR) {
      return text;
    }
  }
}

class SpawnActions {
 public:
  SpawnActions() {
    (void)posix_spawn_file_actions_init(&actions_);
    (void)posix_spawnattr_init(&attributes_);
  }
  ~SpawnActions() {
    (void)posix_spawn_file_actions_destroy(&actions_);
    (void)posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// fusermount3 unmounts for ordinary users what they have mounted. It begins in `folder`, where that
// is open, and takes a path from there. Empty: done; otherwise what it says, in one line.
std::string unmount_by_fusermount(const Descriptor& folder, const std::string& path, bool is_lazy) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw_errno("pipe");
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  std::array<std::string, 4> words = {"fusermount3", is_lazy ? "-uz" : "-u", "--", path};
  std::array<char*, words.size() + 1> arguments{};
  std::transform(words.begin(), words.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });
  std::string language = "LC_ALL=C";  // its messages are looked at
  std::string folders = std::string("PATH=") + (getenv("PATH") != nullptr ? getenv("PATH") : "");
  std::array<char*, 3> environment = {language.data(), folders.data(), nullptr};
  SpawnActions how;
  (void)posix_spawn_file_actions_adddup2(how.actions(), writing.number(), STDOUT_FILENO);
  (void)posix_spawn_file_actions_adddup2(how.actions(), writing.number(), STDERR_FILENO);
  if (const int error = folder.is_open()
                            ? posix_spawn_file_actions_addfchdir_np(how.actions(), folder.number())
                            : 0;
      error != 0) {
    fail("fusermount3", std::strerror(error));
  }
  give_own_signals(*how.attributes());
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, words[0].c_str(), how.actions(), how.attributes(),
                                     arguments.data(), environment.data());
      error != 0) {
    throw Error(ErrorCode::failure, std::string("fusermount3: ") + std::strerror(error),
                "it is in the package fuse3");
  }
  writing = Descriptor();
  std::string said = read_all(reading.number());
  const std::optional<int> status = wait_for_child(child);
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) {
    return {};
  }
  said = said.substr(0, said.find('\n'));
  return said.empty() ? "fusermount3 does not say why" : said;
}

enum class UnmountOutcome { done, busy };

// One mount that is to go. Whoever owns a folder above it may exchange that folder meanwhile, and
// then something else has the path: another file system, which root must not unmount. So the folder
// around the mountpoint is held open. A folder on which something is mounted keeps its name in
// there, and what is mounted is looked at before each try. To hold the mount itself would keep it
// busy. The system has no call that looks and unmounts in one: who mounts something on top between
// the two loses that.
class FoundMount {
 public:
  // Throws Error(failure) if the path leads to something else already.
  explicit FoundMount(const MountedPlace& place);

  // Throws Error(failure).
  [[nodiscard]] UnmountOutcome try_to_unmount(bool is_lazy) const;
  [[nodiscard]] const MountedPlace& place() const noexcept { return place_; }

 private:
  void check_is_at_path() const;
  [[nodiscard]] bool is_in_table() const;
  [[nodiscard]] UnmountOutcome unmount_as_root(bool is_lazy) const;
  [[nodiscard]] UnmountOutcome unmount_as_user(bool is_lazy) const;

  MountedPlace place_;
  Descriptor folder_;  // none for "/", whose place nobody can take
  std::string name_;
};

FoundMount::FoundMount(const MountedPlace& place) : place_(place) {
  const std::size_t slash = place_.path.rfind('/');
  name_ = place_.path.substr(slash + 1);
  if (!name_.empty()) {
    const std::string folder = place_.path.substr(0, std::max<std::size_t>(slash, 1));
    folder_ = Descriptor(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder_.is_open()) {
      throw_errno(folder);
    }
    check_is_at_path();
  }
}

// Asks nothing of what is mounted, which may not answer: no attribute is wanted, and what the
// system has of it is enough. The device is that of the mounted file system alone; before Linux 5.8
// the system does not say which of its mounts it is.
void FoundMount::check_is_at_path() const {
  struct statx found = {};
  constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (statx(folder_.number(), name_.c_str(), flags, 0, &found) != 0) {
    throw_errno(place_.path);
  }
  const std::string device = fmt::format("{}:{}", found.stx_dev_major, found.stx_dev_minor);
  const bool has_id = (found.stx_mask & STATX_MNT_ID) != 0;
  if (device != place_.device || (has_id && found.stx_mnt_id != place_.id)) {
    fail(place_.path, "something else has this place by now, and is left alone");
  }
}

bool FoundMount::is_in_table() const {
  const std::vector<MountedPlace> table = read_mount_table();
  return std::any_of(table.begin(), table.end(), [&](const MountedPlace& other) {
    return other.id == place_.id && other.device == place_.device && other.type == place_.type;
  });
}

UnmountOutcome FoundMount::try_to_unmount(bool is_lazy) const {
  const UnmountOutcome result =
      geteuid() == 0 ? unmount_as_root(is_lazy) : unmount_as_user(is_lazy);
  if (result == UnmountOutcome::done && is_in_table()) {
    fail(place_.path, "is still mounted, although the system has unmounted something there");
  }
  return result;
}

UnmountOutcome FoundMount::unmount_as_root(bool is_lazy) const {
  std::string path = place_.path;
  if (folder_.is_open()) {
    check_is_at_path();
    path = path_of_descriptor(folder_.number()) + "/" + name_;
  }
  if (umount2(path.c_str(), UMOUNT_NOFOLLOW | (is_lazy ? MNT_DETACH : 0)) == 0) {
    return UnmountOutcome::done;
  }
  if (errno != EBUSY) {
    throw_errno(place_.path + ": cannot be unmounted");
  }
  return UnmountOutcome::busy;
}

UnmountOutcome FoundMount::unmount_as_user(bool is_lazy) const {
  if (place_.user && *place_.user != getuid()) {
    fail(place_.path, fmt::format("user {} has mounted it", *place_.user),
         "that user and root can unmount it");
  }
  if (folder_.is_open()) {
    check_is_at_path();
  }
  const std::string why =
      unmount_by_fusermount(folder_, folder_.is_open() ? name_ : place_.path, is_lazy);
  if (why.empty()) {
    return UnmountOutcome::done;
  }
  if (why.find(std::strerror(EBUSY)) == std::string::npos) {
    fail(place_.path, "cannot be unmounted: " + why);
  }
  return UnmountOutcome::busy;
}

// Who keeps it busy: processes, and mounts in it.
std::vector<std::string> all_holders_of(const MountedPlace& place) {
  std::vector<std::string> found = holders_of(place);
  for (const MountedPlace& other : read_mount_table()) {
    if (other.path != place.path && lies_within(other.path, place.path)) {
      found.push_back("the mount " + other.path);
    }
  }
  return found;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most_named; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > most_named ? text + fmt::format(" and {} more", names.size() - most_named)
                                   : text;
}

// Empty: unmounted. Otherwise it is busy, and this says by whom.
std::string unmount_or_name_holders(const FoundMount& found) {
  const auto deadline = steady_clock::now() + patience_for_free;
  for (;;) {
    if (found.try_to_unmount(false) == UnmountOutcome::done) {
      return {};
    }
    if (const std::vector<std::string> holders = all_holders_of(found.place()); !holders.empty()) {
      return list_of(holders);
    }
    if (steady_clock::now() > deadline) {
      return "someone who cannot be seen from here";
    }
    cancel().check();
    std::this_thread::sleep_for(milliseconds(20));
  }
}

void wait_for_program(const std::string& path, MountProcess& program, unsigned timeout_s) {
  const auto deadline = steady_clock::now() + std::chrono::seconds(timeout_s);
  switch (program.wait_for_end(cancel(), deadline)) {
    case MountProcess::End::written:
      return;
    case MountProcess::End::lost:
      fail(path, "is unmounted, but its program ended before all was written",
           "the system's log may say why");
    case MountProcess::End::still_runs:
      fail(path,
           fmt::format("is unmounted, but its program{} still works after {} s",
                       program.number() != 0 ? fmt::format(" ({})", program.number()) : "",
                       timeout_s),
           "it ends by itself once everything is written");
  }
}

void unmount(const std::string& path, const UmountCommand& command) {
  const FoundMount found(find_vault(path, real_path(path)));
  const MountedPlace& place = found.place();
  std::optional<MountProcess> program = MountProcess::find(place);
  bool is_alone = false;
  if (!program) {
    is_alone = is_abandoned(place);
    // One that has only just mounted announces itself before it answers.
    program = is_alone ? std::nullopt : MountProcess::find(place);
  }
  if (const std::string holders = unmount_or_name_holders(found); !holders.empty()) {
    if (!command.is_lazy) {
      fail(path, "is in use by " + holders, "`paes umount --lazy` lets them finish");
    }
    if (found.try_to_unmount(true) != UnmountOutcome::done) {
      fail(path, "is in use by " + holders + ", and the system does not hide it either");
    }
    print_note(fmt::format("paes: {}: is unmounted for all but {}; its program goes on for them",
                           printable(path), printable(holders)));
    return;
  }
  if (program) {
    wait_for_program(path, *program, command.timeout_s);
  } else if (!is_alone) {
    fail(path, "is unmounted, but its program cannot be seen from here",
         "so nothing tells whether it has ended");
  }
}

int run(const UmountCommand& command) {
  if (command.mountpoints.size() == 1) {
    unmount(command.mountpoints.front(), command);
    return exit_done;
  }
  int code = exit_done;
  for (const std::string& path : command.mountpoints) {
    cancel().check();
    try {
      unmount(path, command);
    } catch (...) {
      print_error(current_error());
      code = exit_some_failed;
    }
  }
  return code;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<UmountCommand>();
  app.add_option("MOUNTPOINT", command->mountpoints, "where a vault is mounted")->required();
  app.add_flag("--lazy", command->is_lazy,
               "if it is in use, hide it at once, and let those who use it finish");
  app.add_option("--timeout", command->timeout_s,
                 "how long to wait for the program of a mount to end")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0U, 86'400U))
      ->check(decimal());
  app.footer("Returns when everything is written and the keys are wiped.");
  return [command] { return run(*command); };
}

}  // namespace

extern const Command command_umount = {"umount", "unmount vaults, and wait until all is written",
                                       declare};

}  // namespace paes::cli
