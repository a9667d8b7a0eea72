// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "core/children.hpp"
#include "paes-mount/bdi.hpp"
#include "paes-mount/channels.hpp"
#include "paes-mount/in_folder.hpp"
#include "paes-mount/operations.hpp"
#include "paes/error.hpp"

namespace paes::mount {

namespace {

// Wakes a thread that waits for a request. Its handler does nothing.
constexpr int waking_signal = SIGUSR1;

// What libfuse says on the way to a failure goes into the error's message.
std::mutex said_mutex;
std::string said;

void note_message(enum fuse_log_level, const char* format, va_list values) {
  std::array<char, 512> text{};
  (void)std::vsnprintf(text.data(), text.size(), format, values);
  std::string_view line(text.data());
  line.remove_suffix(line.ends_with('\n') ? 1 : 0);
  if (line.starts_with("fuse: ")) {
    line.remove_prefix(6);
  }
  const std::lock_guard lock(said_mutex);
  said = line;
}

std::string take_message() {
  const std::lock_guard lock(said_mutex);
  return std::exchange(said, {});
}

// Whether something is mounted there, of which nothing is asked. Nothing: the system does not say,
// as before Linux 5.8, or there is no such file.
std::optional<bool> is_mount_root(int folder, const char* name, int flags) noexcept {
  struct statx found = {};
  constexpr int quiet = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (statx(folder, name, flags | quiet, 0, &found) != 0 ||
      (found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) {
    return std::nullopt;
  }
  return (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

extern "C" void on_waking_signal(int) {}

void make_waking_signal_harmless() {
  struct sigaction action = {};
  action.sa_handler = on_waking_signal;  // without SA_RESTART: a read that waits returns
  (void)sigaction(waking_signal, &action, nullptr);
}

// Signals that ask to stop are for the first thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigdelset(&all, waking_signal);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Session::Session(Mount& mount, const SessionOptions& options)
    : mount_(mount), options_(options), end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!end_.is_open()) {
    throw_errno("eventfd");
  }
  fuse_set_log_func(note_message);
  (void)unsetenv("FUSE_URING_ENABLE");  // with it, libfuse 3.18 has rings of its own
  std::array<std::string, 3> words = {"paes-mount", "-o", options.mount_options};
  std::array<char*, 3> pointers{};
  std::transform(words.begin(), words.end(), pointers.begin(),
                 [](std::string& word) { return word.data(); });
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  const fuse_lowlevel_ops operations = operations_for(mount.is_writable());
  session_ = fuse_session_new(&arguments, &operations, sizeof operations, &mount);
  fuse_opt_free_args(&arguments);
  if (session_ == nullptr) {
    throw Error(ErrorCode::failure, options_.mountpoint + ": libfuse refuses: " + take_message());
  }
  errno = 0;
  if (!at_mountpoint(
          [&](const char* mountpoint) { return fuse_session_mount(session_, mountpoint) == 0; })) {
    const int error = errno;
    fuse_session_destroy(session_);
    std::string why = take_message();
    if (why.empty()) {
      why = geteuid() == 0 && error != 0 ? std::strerror(error) : "fusermount3 has said why";
    }
    throw Error(ErrorCode::failure, options_.mountpoint + ": cannot be mounted on: " + why);
  }
  device_ = device();
  const fuse_custom_io channels = channel_calls();
  const int taken = fuse_session_custom_io(session_, &channels, fuse_session_fd(session_));
  // Later versions of libfuse 3.18 can be built without this, as Debian's are: then libfuse reads
  // and writes itself, on the one channel that it knows.
  has_own_channels_ = taken == 0;
  if (!has_own_channels_ && options_.why_no_rings.empty()) {
    options_.why_no_rings = "this libfuse reads and writes by itself";
  }
  if (!has_own_channels_ && taken != -ENOTSUP) {
    stop();
    throw Error(ErrorCode::failure, options_.mountpoint + ": libfuse takes no channels");
  }
}

Session::~Session() { stop(); }

// Whether our mount is the top one there. If not, unmounting would remove another mount, or the
// file system below, if the folder is the root of that. If the path leads to no mount at all,
// others have renamed a folder, or our mount is gone.
bool Session::is_on_top() const {
  if (const std::optional<dev_t> seen = device()) {
    return seen == device_;
  }
  const bool is_root_below =
      is_mount_root(options_.place.number(), "", AT_EMPTY_PATH).value_or(true);
  return !is_root_below && !is_mount_root(AT_FDCWD, options_.mountpoint.c_str(), 0).value_or(false);
}

// Calls `use` with the path by which the system is to mount or unmount. As root it leads to the
// folder that was checked, whatever has its name by now: whoever owns the folder above could put
// another there, which is to be hidden from nobody. The path of the descriptor would do it, too,
// but needs /proc. For others fusermount3 goes to the folder first and then checks whether it is
// theirs. False: `use` says so, or the folder cannot be entered any more.
template <typename Use>
bool Session::at_mountpoint(const Use& use) const {
  if (geteuid() != 0) {
    return use(options_.mountpoint.c_str());
  }
  const InFolder in_it(options_.place);
  return in_it.is_there() && use(".");
}

std::string Session::way_of_requests() const {
  const std::lock_guard lock(mutex_);
  return way_ == Way::rings ? "requests come through io_uring"
                            : "requests come through /dev/fuse, not through io_uring: " +
                                  (options_.why_no_rings.empty() ? "the system does not offer it"
                                                                 : options_.why_no_rings);
}

Result<void> Session::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void Session::stop() noexcept {
  fuse_session_exit(session_);
  // A signal that comes just before a thread begins to wait is lost, so they are sent until all
  // threads have seen one.
  {
    std::unique_lock lock(mutex_);
    while (working_ != 0) {
      for (std::thread& thread : threads_) {
        (void)pthread_kill(thread.native_handle(), waking_signal);
      }
      changed_.notify_all();
      (void)changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  rings_.clear();
  channels_.clear();
  if (is_on_top()) {
    (void)at_mountpoint([&](const char*) {
      fuse_session_unmount(session_);  // by the path that it was mounted with
      return true;
    });
  }
  fuse_session_destroy(session_);
}

bool Session::start(const Cancel& cancel) {
  make_waking_signal_harmless();
  make_rings();
  mount_.attach(session_, [this] {
    const std::lock_guard lock(mutex_);
    is_ready_ = true;
    changed_.notify_all();
  });
  {
    const SignalsBlocked blocked;
    const unsigned threads = rings_.empty() ? options_.threads : options_.threads + 1;
    for (unsigned i = 0; i < threads; ++i) {
      const int mounted = fuse_session_fd(session_);
      channels_.push_back(has_own_channels_ ? new_channel(mounted) : Descriptor(mounted, false));
    }
    try {
      // The first one last: it answers the first request, and then each ring needs its thread.
      for (unsigned i = threads; i-- > 0;) {
        launch(i);
      }
    } catch (...) {
      if (threads_.empty()) {
        throw Error(ErrorCode::failure, "threads: the system cannot start one");
      }
      const std::lock_guard lock(mutex_);
      way_ = Way::channels;  // those that there are do all
      options_.why_no_rings = "the system cannot start enough threads";
      changed_.notify_all();
    }
  }
  std::unique_lock lock(mutex_);
  const auto has_way = [this] {
    return way_ == Way::channels || (way_ == Way::rings && started_rings_ == rings_.size());
  };
  const auto is_over = [&] {
    return (is_ready_ && has_way()) || !received_ || is_unmounted_ || !rings_started_;
  };
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), is_over)) {
    // Not once it answers: others may have written to it already, which wait() does not lose.
    cancel.check();
  }
  if (!rings_started_) {
    options_.why_no_rings = "the system refuses it: " + rings_started_.error().message();
    return false;
  }
  // Somebody may unmount it before it has answered anything.
  const bool is_gone = is_unmounted_ && (is_ready_ || !is_connected(fuse_session_fd(session_)));
  const bool answers = (is_ready_ || is_gone) && received_;
  lock.unlock();
  if (answers && is_gone) {
    return true;
  }
  if (!answers) {
    const std::string why = take_message();
    throw Error(ErrorCode::failure, options_.mountpoint + ": the mount does not answer" +
                                        (why.empty() ? "" : ": " + why));
  }
  // The system has the answer to its first request, with which it sets its own sizes. Nothing is
  // asked of the mount to make sure: who waits for its own answer when it is killed waits for ever.
  if (const std::optional<dev_t> mounted = device()) {
    tune_cache(*mounted, mount_.is_writable());
  }
  return true;
}

// The system has no call for what is mounted on a folder that is open. If others have put another
// folder there, the path does not lead to the mount.
std::optional<dev_t> Session::device() const {
  struct statx mounted = {};
  struct stat below = {};
  constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (statx(AT_FDCWD, options_.mountpoint.c_str(), flags, 0, &mounted) != 0 ||
      fstat(options_.place.number(), &below) != 0) {
    return std::nullopt;
  }
  const dev_t device = makedev(mounted.stx_dev_major, mounted.stx_dev_minor);
  return device != below.st_dev ? std::optional(device) : std::nullopt;
}

void Session::ended() noexcept {
  {
    const std::lock_guard lock(mutex_);
    --working_;
    is_unmounted_ = true;
  }
  to_end({});
}

void Session::to_end(Result<void> received) noexcept {
  const std::lock_guard lock(mutex_);
  received_ = received_ ? received : received_;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(end_.number(), &one, sizeof one);
  changed_.notify_all();
}

void Session::wait(const Cancel& cancel) {
  wait_for_end(cancel);
  if (mount_.is_writable()) {
    mount_.begin_last_writes();
    write_back();
  }
}

// Normal unmounting is best: the system writes what it holds, and the threads still answer. If
// something is in use, or the mount is to be seen elsewhere, too, what is open is written.
void Session::write_back() {
  std::unique_lock lock(mutex_);
  if (is_unmounted_) {
    return;
  }
  lock.unlock();
  const bool is_gone = unmount_unless_busy();
  lock.lock();
  constexpr std::chrono::seconds patience(5);
  if (is_gone && changed_.wait_for(lock, patience, [&] { return is_unmounted_; })) {
    return;
  }
  lock.unlock();
  take_channel(fuse_session_fd(session_));
  mount_.write_back();
}

void Session::wait_for_end(const Cancel& cancel) {
  using std::chrono::milliseconds;
  auto idle_from = std::chrono::steady_clock::now();  // a busy mount gets all of its time again
  while (!cancel.requested()) {
    int timeout_ms = -1;
    if (options_.idle) {
      const auto idle = std::min(mount_.idle_time(), std::chrono::steady_clock::now() - idle_from);
      const auto left = std::chrono::ceil<milliseconds>(*options_.idle - idle);
      if (left.count() <= 0) {
        if (mount_.open_handles() == 0 && unmount_unless_busy()) {
          return;
        }
        idle_from = std::chrono::steady_clock::now();
        continue;
      }
      constexpr milliseconds most(std::chrono::hours(24));
      timeout_ms = static_cast<int>(std::min(left, most).count());
    }
    std::array<pollfd, 2> events = {{{cancel.descriptor(), POLLIN, 0}, {end_.number(), POLLIN, 0}}};
    if (poll(events.data(), events.size(), timeout_ms) > 0 && events[1].revents != 0) {
      return;
    }
  }
}

bool Session::unmount_unless_busy() const {
  if (!is_on_top()) {
    return false;  // or somebody else's mount would go
  }
  if (geteuid() == 0) {
    return at_mountpoint([](const char* mountpoint) { return umount2(mountpoint, 0) == 0; });
  }
  std::string mountpoint = options_.mountpoint;
  std::array<std::string, 5> words = {"fusermount3", "-u", "-q", "--", mountpoint};
  std::array<char*, 6> pointers{};
  std::transform(words.begin(), words.end(), pointers.begin(),
                 [](std::string& word) { return word.data(); });
  posix_spawnattr_t attributes;
  (void)posix_spawnattr_init(&attributes);
  give_own_signals(attributes);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, "fusermount3", nullptr, &attributes, pointers.data(), environ);
  (void)posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return false;
  }
  const std::optional<int> status = wait_for_child(child);
  return status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

}  // namespace paes::mount
