// SPDX-License-Identifier: Apache-2.0
// Who may write to a vault: one mount, or one `paes vault put`. A mount that is killed leaves
// writes behind that another process, paes-complete, completes (paes-mount/completer.hpp). Until it
// has ended, it could overwrite newer blocks of another mount. So a mount that writes has a lock
// (flock(2)) on the vault's folder. paes-complete takes the lock, through a descriptor that it
// shares with the mount, and it has the lock for as long as it lives. A command takes it itself.
//
// A folder can be locked on every file system, also on those of a server, where the lock is this
// host's own. With `--shared` several mounts may write, and share the lock; before such a mount
// begins, it waits for processes that complete what a killed one was writing.
//
// Whoever can read the folder can lock it, but must not be able to stop writers with it. So a lock
// counts only if a mount, paes-complete or `paes` holds it, and its process belongs to the user who
// writes, to the owner of the vault or to root. It also counts where the system does not say whose
// it is, as from within a container or where /proc hides processes (hidepid). There paes-complete
// stays hidden even from its own user: whoever could debug it would get the mount's descriptors.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "core/result.hpp"
#include "paes/cancel.hpp"

namespace paes::cli {

// The process that completes, as the system lists it.
inline constexpr const char* completer_name = "paes-complete";
// Its name from the moment on when it has seen that its mount is gone.
inline constexpr const char* completing_name = "paes-completing";

class WriteClaim {
 public:
  // `vault` is a folder. Throws Error(failure) if it cannot be opened.
  WriteClaim(std::string vault, bool is_shared);

  // Waits some seconds for others. False: somebody whose lock does not count has locked the folder,
  // so take() would fail. Throws Error(failure) that names who has it when the time is over, or
  // when a stop is requested.
  [[nodiscard]] bool wait(const Cancel& cancel) const;

  // Takes the claim for all processes that share the caller's descriptors; the system lists the
  // caller as the owner. EWOULDBLOCK if another has it. Calls nothing that may wait or allocate.
  [[nodiscard]] Result<void> take() const noexcept;

 private:
  // A process that has locked the folder.
  struct Holder {
    pid_t process = 0;
    bool counts = false;
    bool is_seen = false;
    pid_t writer = 0;         // 0: it completes what a mount was writing that is gone
    bool is_command = false;  // the writer is no mount
  };

  // All that can be seen of others.
  [[nodiscard]] std::vector<Holder> holders() const;
  [[nodiscard]] Holder holder_of(pid_t process) const;
  [[noreturn]] void throw_held(const std::vector<Holder>& holders) const;

  std::string vault_;
  bool is_shared_;
  Descriptor folder_;
};

}  // namespace paes::cli
