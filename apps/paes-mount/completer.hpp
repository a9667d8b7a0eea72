// SPDX-License-Identifier: Apache-2.0
// The process beside a mount that completes what the mount was writing when it was killed.
//
// It shares the descriptors of the mount and the memory in which writes are noted, and nothing else
// that comes later: it is forked before there is a key, and never sees one. It sleeps until the
// mount is gone, completes the writes, and ends. A signal to the mount, or a lack of memory for
// which the system kills the mount, does not reach it. It takes the claim to write to the vault, so
// that no new mount writes before it has ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <thread>

#include "cli/write_claim.hpp"
#include "core/descriptor.hpp"
#include "volume/change/pending_writes.hpp"

namespace paes::mount {

class Completer {
 public:
  // Forks it. The caller has one thread, and no secret in memory. `pending` and `claim` outlive
  // this; a `claim` of null is not taken. Throws Error(failure).
  Completer(const volume::PendingWrites& pending, const cli::WriteClaim* claim);
  // Ends it: nothing is under way any more.
  ~Completer();
  Completer(const Completer&) = delete;
  Completer& operator=(const Completer&) = delete;

  // What WriteClaim::take() has answered; success without a claim.
  [[nodiscard]] Result<void> claimed() const noexcept { return claimed_; }

  // Has `tell` called, by another thread, if the process ends before this does.
  void watch(std::function<void()> tell);

 private:
  Descriptor mount_;    // this process, for the other one (pidfd_open(2))
  Descriptor process_;  // the other one
  pid_t id_ = -1;
  Result<void> claimed_;
  Descriptor stop_;  // an event
  std::thread watching_;
};

}  // namespace paes::mount
