// SPDX-License-Identifier: Apache-2.0
// How `paes umount` learns that the program behind a mount has written everything, has wiped its
// keys and is gone. The program listens on a socket whose name begins with the device of the mount.
// A client connects before it unmounts. It gets one byte when everything is written, and sees the
// end of the process after that.
//
// The socket has an abstract name (unix(7)): no file stays behind, whatever ends the program, and
// the system says whose process is at the other end. Nothing secret goes through it. Anyone may
// take any such name. So the rest of it is random, which nobody takes beforehand, and clients go
// through the names in the system's list, for a second at most, until one is of the right user.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/mount_table.hpp"
#include "core/descriptor.hpp"
#include "paes/cancel.hpp"

namespace paes::cli {

// In the program that mounts. Destroy it last: clients may take that for the end of the process.
class MountPresence {
 public:
  MountPresence() = default;
  ~MountPresence() { withdraw(); }
  MountPresence(const MountPresence&) = delete;
  MountPresence& operator=(const MountPresence&) = delete;

  // Listens, in a thread of its own, once the mount that had this device before is gone. Call it
  // before the mount answers its first request: clients then find the socket of every mount that
  // answers. If it fails, the mount works all the same, and only clients are worse off.
  void announce(const std::string& device) noexcept;

  // No more clients from now on. Call it once it is unmounted, because another mount may get the
  // same device then.
  void withdraw() noexcept;

  // Tells the clients that everything is written.
  void report_written() noexcept;

 private:
  void serve() noexcept;
  bool take_client() noexcept;

  Descriptor listener_;
  Descriptor stop_;  // an event
  std::vector<Descriptor> clients_;
  std::thread thread_;  // while it runs, nobody else uses the clients
};

// The program behind a mount, seen from outside.
class MountProcess {
 public:
  enum class End {
    written,     // it is gone, and everything is written
    lost,        // it is gone, and has not said that everything is written
    still_runs,  // the time is over
  };

  // Connects. Nothing: there is none, or it cannot be seen from here, as from another container,
  // or it is another user's than the mount. Looks for a second at most: anyone can take names that
  // have to be gone through.
  [[nodiscard]] static std::optional<MountProcess> find(const MountedPlace& place);

  // 0: it is in another space of process numbers.
  [[nodiscard]] pid_t number() const noexcept { return number_; }

  // Throws Error(failure) when a stop is requested.
  [[nodiscard]] End wait_for_end(const Cancel& cancel,
                                 std::chrono::steady_clock::time_point deadline);

 private:
  [[nodiscard]] static std::optional<MountProcess> connect_to(const std::string& name,
                                                              const MountedPlace& place);

  Descriptor socket_;
  Descriptor process_;
  pid_t number_ = 0;
  bool has_written_ = false;
};

}  // namespace paes::cli
