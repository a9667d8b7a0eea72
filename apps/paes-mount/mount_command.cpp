// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/mount_command.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/key_proof.hpp"
#include "cli/mount_presence.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/write_claim.hpp"
#include "core/descriptor.hpp"
#include "core/residue.hpp"
#include "core/secret.hpp"
#include "kernel/registry.hpp"
#include "paes-mount/background.hpp"
#include "paes-mount/completer.hpp"
#include "paes-mount/messages.hpp"
#include "paes-mount/mount_command_line.hpp"
#include "paes-mount/mount_context.hpp"
#include "paes-mount/mountpoint.hpp"
#include "paes-mount/session.hpp"
#include "paes/error.hpp"
#include "volume/change/sealing_ahead.hpp"
#include "volume/read/volume.hpp"

namespace paes::mount {

namespace {

// As many descriptors as the system lets this process have. A quarter of them is for folders that
// are kept open.
std::size_t raise_descriptor_limit() {
  constexpr rlim_t most_folders = 16'384;
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 64;
  }
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(std::min(limit.rlim_cur / 4, most_folders));
}

// More than processors, because threads also wait for the disk.
unsigned default_threads() { return std::clamp(2 * std::thread::hardware_concurrency(), 4U, 32U); }

struct OpenedVolume {
  volume::Volume volume;
  std::unique_ptr<const volume::SealingAhead> ahead;  // null: none
};

// Before anybody is asked for a passphrase.
void check_ahead(const MountCommandLine& command) {
  if (command.ahead != 0 && command.vault.place.read_configuration().features.content !=
                                vault::ContentCipher::aes_256_gcm) {
    throw Error(ErrorCode::usage, "--ahead: the content of this vault is not under AES-256-GCM",
                "leave --ahead out");
  }
}

// If the system gives no memory for it, the mount works without.
std::unique_ptr<const volume::SealingAhead> make_ahead(const MountCommandLine& command,
                                                       const cli::OpenedVault& opened,
                                                       const Kernel& kernel) {
  if (command.ahead == 0) {
    return nullptr;
  }
  try {
    return std::make_unique<volume::SealingAhead>(
        opened.key.content_key(opened.configuration.features), kernel, command.ahead);
  } catch (const std::exception& error) {
    cli::print_warning(std::string("--ahead: nothing is made ahead: ") + error.what());
    return nullptr;
  }
}

OpenedVolume open_volume(const MountCommandLine& command, const MountPaths& paths,
                         Messages& messages) {
  const Kernel& kernel = find_kernel(Cipher::aes, command.kernel);
  if (kernel.warning != nullptr) {
    cli::print_warning(kernel.warning);
  }
  check_ahead(command);
  const cli::OpenedVault opened = command.vault.open();
  cli::refuse_key_of_another_vault(command.vault, paths.vault, opened);
  Descriptor root(open(paths.vault.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) {
    throw_errno(paths.vault);
  }
  return {volume::Volume(std::move(root), opened.configuration.features, opened.key, kernel,
                         std::make_unique<volume::Backing>(),
                         [&messages](const volume::Finding& found) { messages.damage(found); }),
          make_ahead(command, opened, kernel)};
}

// Keeps writes safe from a kill: has the list of pending writes, the process that completes them,
// and the claim that keeps other mounts from writing until both processes are gone.
class KeptWrites {
 public:
  // Throws Error(failure) if another mount writes to the vault, or if a killed mount's writes are
  // still being completed.
  KeptWrites(const MountCommandLine& command, const MountPaths& paths, unsigned threads,
             Messages& messages)
      : messages_(messages), pending_(threads), claim_(paths.vault, command.is_shared) {
    Result<void> claimed = Errno(EWOULDBLOCK);
    while (claimed.failed_with(EWOULDBLOCK)) {  // another mount that starts may be faster
      completer_.reset();
      const bool has_to_take = claim_.wait(cli::cancel());
      claimed = start(has_to_take ? &claim_ : nullptr);
      if (!has_to_take) {
        messages_.warn(paths.vault + ": another program has locked this folder: " + unclaimed);
      }
    }
    if (!claimed) {
      messages_.warn(paths.vault + ": this folder cannot be locked: " + claimed.error().message() +
                     ": " + unclaimed);
    }
    watch();
  }

  [[nodiscard]] volume::PendingWrites& pending() noexcept { return pending_; }

 private:
  static constexpr const char* unclaimed = "nothing holds a second mount back that writes to it";

  // Fails if the claim is not taken.
  Result<void> start(const cli::WriteClaim* claim) {
    try {
      return completer_.emplace(pending_, claim).claimed();
    } catch (const std::exception& error) {
      warn(error.what());
      return claim == nullptr ? Result<void>() : claim->take();
    }
  }

  void watch() {
    if (!completer_) {
      return;
    }
    try {
      completer_->watch([this] { warn("the process that completes them is gone"); });
    } catch (const std::exception&) {
      return;  // it completes them all the same, but nobody would say that it is gone
    }
  }

  void warn(const std::string& why) {
    messages_.warn("if this mount is killed, blocks that are being written are lost: " + why);
  }

  Messages& messages_;
  volume::PendingWrites pending_;
  cli::WriteClaim claim_;
  std::optional<Completer> completer_;
};

// Before the session ends, on every path.
class NoticesStoppedAtEnd {
 public:
  explicit NoticesStoppedAtEnd(Mount& mount) noexcept : mount_(mount) {}
  ~NoticesStoppedAtEnd() { mount_.stop_notices(); }
  NoticesStoppedAtEnd(const NoticesStoppedAtEnd&) = delete;
  NoticesStoppedAtEnd& operator=(const NoticesStoppedAtEnd&) = delete;

 private:
  Mount& mount_;
};

// `paes umount` finds this program by the device of its mount. If the device is not to be found,
// the mount works all the same.
void announce(cli::MountPresence& presence, const Session& session) {
  if (const std::optional<dev_t> device = session.device()) {
    presence.announce(std::to_string(major(*device)) + ":" + std::to_string(minor(*device)));
  }
}

// Mounts, and returns when it is unmounted. The keys are wiped then.
int mount_until_unmounted(const MountCommandLine& command, const MountPaths& paths,
                          Background* background) {
  const WipeResidueOnExit wiped;
  Messages messages;
  const unsigned threads = command.threads != 0 ? command.threads : default_threads();
  std::optional<KeptWrites> writes;  // before there is a key
  if (command.can_write) {
    writes.emplace(command, paths, threads, messages);
  }
  cli::MountPresence presence;  // whoever waits for its end waits for that of the keys
  const std::size_t max_folders = raise_descriptor_limit();
  const OpenedVolume opened = open_volume(command, paths, messages);

  MountOptions options;
  options.lifetimes = command.is_shared ? Lifetimes::shared() : Lifetimes{};
  options.max_folders = max_folders;
  if (command.can_write) {
    options.access =
        command.is_shared || command.writes_through ? Access::write : Access::write_back;
    (void)umask(0);  // those of the processes that ask are what counts
  }
  // A log keeps what it gets, and shall not tell the names of the vault: the system's, or that of
  // a service, which has standard error. Only who sits before a terminal sees what they mean.
  options.path_names =
      background == nullptr && isatty(STDERR_FILENO) == 1 ? PathNames::plain : PathNames::stored;
  // Where others come in, ACLs count in any case. Without them the system takes the mode's middle
  // bits for the group's, which are the ACL's mask then: the group would get what its owner has
  // given to a single user.
  options.has_acls = command.has_acls || command.allows_others;
  options.has_suid = command.has_suid;
  options.ahead = opened.ahead.get();
  options.pending = writes ? &writes->pending() : nullptr;
  Mount mount(opened.volume, options);
  if (secret_locking_fell_short()) {
    cli::print_warning("memory: the system did not lock all keys, so they could reach swap");
  }

  const auto fail = [&](const std::string& what, Errno error) {
    const std::string line = what + ": " + error.message();
    if (background != nullptr) {
      messages.note(line);  // nobody sees standard error any more
    }
    throw Error(ErrorCode::failure, line);
  };
  Result<void> received;
  {
    SessionOptions way{paths.mountpoint,
                       FolderRef(paths.place),
                       command.mount_options(paths.vault),
                       threads,
                       command.may_use_io_uring ? "" : "--io-uring=off",
                       command.idle};
    std::optional<Session> session;
    const NoticesStoppedAtEnd stopped(mount);
    for (;;) {
      session.emplace(mount, way);
      announce(presence, *session);
      if (session->start(cli::cancel())) {
        break;
      }
      presence.withdraw();
      way.why_no_rings = session->why_no_rings();
    }
    if (options.has_acls && !mount.enforces_acls()) {
      cli::print_warning(std::string(command.allows_others ? "--allow-other" : "--acl") +
                         ": the system enforces no ACLs here, so a file's group gets the rights of "
                         "its ACL's mask");
    }
    if (command.is_verbose) {
      cli::print_note(session->way_of_requests());
    }
    if (background != nullptr) {
      messages.use_syslog();
      background->leave();
    }
    messages.note("mounted on " + paths.mountpoint);
    session->wait(cli::cancel());
    received = session->received();
    messages.note("unmounts " + paths.mountpoint);
  }
  presence.withdraw();
  if (mount.is_writable()) {
    if (const Result<void> synced = mount.sync(); !synced) {
      fail(paths.vault + ": cannot be synced", synced.error());
    }
  }
  if (!received) {
    fail(paths.mountpoint + ": what the system asks cannot be received", received.error());
  }
  presence.report_written();
  return cli::exit_done;
}

int run(MountCommandLine& command) {
  command.take_listed();
  const MountPaths paths =
      check_paths(command.vault.place.folder(), command.mountpoint, command.may_have_files);
  if (command.allows_others) {
    check_may_allow_others();
  }
  check_may_allow(command.has_suid, "suid");
  check_may_allow(command.has_devices, "dev");
  if (command.in_foreground) {
    return mount_until_unmounted(command, paths, nullptr);
  }
  Background background;
  if (const std::optional<int> code = background.fork_child()) {
    return *code;
  }
  return mount_until_unmounted(command, paths, &background);
}

cli::Action declare(CLI::App& app) {
  const auto command = std::make_shared<MountCommandLine>();
  command->declare(app);
  return [command] { return run(*command); };
}

}  // namespace

const cli::Command command = {"mount", "mount a vault", declare};

}  // namespace paes::mount
