// SPDX-License-Identifier: Apache-2.0
// Which mount may write to a vault. A mount that is killed leaves writes behind that another
// process completes (completer.hpp). Until that has ended, whoever mounts anew and writes would
// have newer blocks written over. So a mount that writes has a lock (flock(2)) on the vault's
// folder, and the process that completes has it with the same descriptor, for as long as it lives.
//
// A folder can be locked on every file system, also on those of a server, where the lock is this
// host's own. With `--shared` several mounts may write, and share the lock; before such a mount
// begins, it waits for processes that complete what a killed one was writing.
//
// Whoever can read the folder can lock it, and shall hold no mount back. So a lock counts only if
// it is that of a mount or of a process that completes, and of the user who mounts, of the owner of
// the vault or of root. Where the system does not say whose it is, as from within a container or
// where /proc hides processes (hidepid), it counts. There the process that completes stays hidden
// even from its own user: who could look into it as a debugger would get the mount's descriptors.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "core/result.hpp"
#include "paes/cancel.hpp"

namespace paes::mount {

// The process that completes, as the system lists it.
inline constexpr const char* completer_name = "paes-complete";
// Its name from the moment on when it has seen that its mount is gone.
inline constexpr const char* completing_name = "paes-completing";

class WriteClaim {
 public:
  // `vault` is a folder. Throws Error(failure) if it cannot be opened.
  WriteClaim(std::string vault, bool is_shared);

  // Waits some seconds for others. False: somebody has locked the folder for whom no mount waits,
  // so that take() is in vain. Throws Error(failure) that names who has it when the time is over,
  // or when a stop is requested.
  [[nodiscard]] bool wait(const Cancel& cancel) const;

  // The process that calls it is seen to have the claim, and all that share its descriptors have
  // it. EWOULDBLOCK if another has it. Calls nothing that may wait or allocate.
  [[nodiscard]] Result<void> take() const noexcept;

 private:
  // A process that has locked the folder.
  struct Holder {
    pid_t process = 0;
    bool counts = false;
    bool is_seen = false;
    pid_t mount = 0;  // 0: it completes what a mount was writing that is gone
  };

  // All that can be seen of others.
  [[nodiscard]] std::vector<Holder> holders() const;
  [[nodiscard]] Holder holder_of(pid_t process) const;
  [[noreturn]] void throw_held(const std::vector<Holder>& holders) const;

  std::string vault_;
  bool is_shared_;
  Descriptor folder_;
};

}  // namespace paes::mount
