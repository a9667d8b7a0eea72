// SPDX-License-Identifier: Apache-2.0
// Other programs that are started: with which signals they begin, and how they ended.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <optional>

namespace paes {

// For a program that is started with posix_spawn. What the caller blocks or ignores would otherwise
// be blocked and ignored there as well, and change what it does: one that ignores SIGCHLD, for
// example, never learns how its own children ended. Nothing is blocked now, and every signal does
// what it does by default. The exceptions are SIGHUP, SIGINT and SIGQUIT: nohup(1) and the shells'
// background jobs ignore them for all that they start, so that a terminal that closes, or its
// Ctrl-C, ends none of it.
void give_own_signals(posix_spawnattr_t& attributes) noexcept;

// Waits for the end of a child. The answer is what waitpid(2) says of it. Nothing: the system or
// somebody else has collected it, so nobody knows how it ended, which is no success.
[[nodiscard]] std::optional<int> wait_for_child(pid_t child) noexcept;

}  // namespace paes
