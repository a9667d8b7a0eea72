// SPDX-License-Identifier: Apache-2.0
#include "cli/write_claim.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "core/file_ref.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds patience(10);
constexpr int pause_ms = 50;

constexpr const char* const mount_name = "paes-mount";
constexpr const char* const command_name = "paes";

// The system's number for the file, as it lists locks: of the device that the file system has,
// which on btrfs is not that of its files. A lock of our own says it. Empty: it does not say.
std::string listed_place(FileRef file) {
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (fcntl(file.number(), F_OFD_SETLK, &lock) != 0) {
    return {};
  }
  std::string place;
  std::ifstream status("/proc/self/fdinfo/" + std::to_string(file.number()));
  for (std::string line; std::getline(status, line);) {
    // lock: 1: OFDLCK ADVISORY READ -1 fe:00:247066 0 0
    std::istringstream words(line);
    std::string word;
    if (words >> word && word == "lock:") {
      while (words >> word && std::count(word.begin(), word.end(), ':') != 2) {
      }
      place = words ? word : "";
    }
  }
  lock.l_type = F_UNLCK;
  (void)fcntl(file.number(), F_OFD_SETLK, &lock);
  return place;
}

// What /proc says of a process.
struct Process {
  std::string name;
  pid_t parent = 0;
  pid_t own_number = 0;  // as it sees it itself, in its own space of processes
  std::optional<uid_t> user;
};

Process process_of(pid_t number) {
  Process found;
  std::ifstream status("/proc/" + std::to_string(number) + "/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "Name:") {
      words >> found.name;
    } else if (what == "PPid:") {
      words >> found.parent;
    } else if (what == "NSpid:") {
      while (words >> found.own_number) {
      }
    } else if (uid_t user = 0; what == "Uid:" && words >> user) {
      found.user = user;
    }
  }
  return found;
}

// The mount whose writes the process completes, as that mount saw its own number. 0: not said.
pid_t mount_said_by(pid_t completer) {
  std::ifstream line("/proc/" + std::to_string(completer) + "/cmdline");
  std::string name;
  pid_t mount = 0;
  return line >> name >> mount && name == completer_name ? mount : 0;
}

}  // namespace

WriteClaim::WriteClaim(std::string vault, bool is_shared)
    : vault_(std::move(vault)),
      is_shared_(is_shared),
      folder_(open(vault_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_.is_open()) {
    throw_errno(vault_);
  }
}

Result<void> WriteClaim::take() const noexcept {
  const int how = (is_shared_ ? LOCK_SH : LOCK_EX) | LOCK_NB;
  return flock(folder_.number(), how) == 0 ? Result<void>() : Errno(errno);
}

bool WriteClaim::wait(const Cancel& cancel) const {
  const auto deadline = steady_clock::now() + patience;
  for (;;) {
    const Result<void> is_free = take();
    if (!is_free && !is_free.failed_with(EWOULDBLOCK)) {
      return true;  // take() will say so again
    }
    if (is_free) {
      (void)flock(folder_.number(), LOCK_UN);
      if (!is_shared_) {
        return true;
      }
    }
    const std::vector<Holder> found = holders();
    // A mount that is there does not keep another one away that shares the vault.
    const bool has_to_wait = std::any_of(found.begin(), found.end(), [&](const Holder& holder) {
      return holder.counts && (!is_free || holder.writer == 0);
    });
    if (is_free && !has_to_wait) {
      return true;
    }
    if (!found.empty() && !has_to_wait) {
      return false;
    }
    if (steady_clock::now() >= deadline) {
      throw_held(found);
    }
    pollfd stop = {cancel.descriptor(), POLLIN, 0};
    (void)poll(&stop, 1, pause_ms);
    cancel.check();
  }
}

std::vector<WriteClaim::Holder> WriteClaim::holders() const {
  std::vector<Holder> found;
  const std::string own_place = listed_place(folder_);
  std::ifstream locks("/proc/locks");
  for (std::string line; !own_place.empty() && std::getline(locks, line);) {
    // 3: FLOCK  ADVISORY  WRITE 5873 fe:00:247066 0 EOF
    std::istringstream words(line);
    std::string id;
    std::string kind;
    std::string word;
    std::string place;
    pid_t process = 0;
    if (words >> id >> kind >> word >> word >> process >> place && kind == "FLOCK" &&
        place == own_place && process > 0 && process != getpid()) {
      found.push_back(holder_of(process));
    }
  }
  return found;
}

WriteClaim::Holder WriteClaim::holder_of(pid_t process) const {
  Holder holder;
  holder.process = process;
  const Process seen = process_of(process);
  struct stat status = {};
  const bool is_known_user =
      seen.user && (*seen.user == 0 || *seen.user == geteuid() ||
                    (fstat(folder_.number(), &status) == 0 && *seen.user == status.st_uid));
  const std::string own_name = process_of(getpid()).name;
  const auto is_writer = [&](const std::string& name) {
    return name == mount_name || name == command_name || name == own_name;
  };
  holder.is_seen = seen.user.has_value();
  holder.counts =
      !holder.is_seen || (is_known_user && (seen.name == completer_name ||
                                            seen.name == completing_name || is_writer(seen.name)));
  if (is_writer(seen.name)) {
    holder.writer = process;
    holder.is_command = seen.name == command_name;
  } else if (seen.name == completer_name) {
    // The system gives the process another parent once its own is gone, which may be a mount, too.
    // It need not have run since to tell by its name.
    const Process parent = process_of(seen.parent);
    const pid_t mount = mount_said_by(process);
    if (is_writer(parent.name) &&
        (mount == 0 || mount == seen.parent || mount == parent.own_number)) {
      holder.writer = seen.parent;
    }
  }
  return holder;
}

void WriteClaim::throw_held(const std::vector<Holder>& holders) const {
  const auto find = [&](const auto& is_it) {
    return std::find_if(holders.begin(), holders.end(), [&](const Holder& holder) {
      return holder.counts && holder.is_seen && is_it(holder);
    });
  };
  if (const auto left = find([](const Holder& holder) { return holder.writer == 0; });
      left != holders.end()) {
    throw Error(ErrorCode::failure,
                vault_ + ": " + completer_name + " (process " + std::to_string(left->process) +
                    ") has not yet completed what a killed mount was writing",
                "mount the vault for writing once that process has ended");
  }
  if (const auto writing = find([](const Holder&) { return true; }); writing != holders.end()) {
    const bool is_own_command = process_of(getpid()).name == command_name;
    throw Error(ErrorCode::failure,
                vault_ + (writing->is_command ? ": 'paes vault put'" : ": another mount") +
                    " (process " + std::to_string(writing->writer) + ") writes to it",
                writing->is_command ? "wait until it has ended"
                : is_own_command    ? "unmount that first, or copy the files into the mount"
                                    : "unmount that first, or give both mounts --shared");
  }
  throw Error(ErrorCode::failure,
              vault_ + ": another mount writes to it, or " + completer_name +
                  " still completes what a killed one was writing; its process cannot be seen",
              "unmount it where it was mounted, such as in another container or, if /proc hides "
              "processes (hidepid), by the same user");
}

}  // namespace paes::cli
