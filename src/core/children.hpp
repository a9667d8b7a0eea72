// SPDX-License-Identifier: Apache-2.0
// Starting other programs: the signals that they begin with, and how they ended.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <optional>

namespace paes {

// For a program that posix_spawn starts. It would otherwise inherit the signals that the caller
// blocks or ignores, and behave differently: a program that ignores SIGCHLD, for example, never
// learns how its own children ended. So nothing is blocked, and every signal has its default
// action. SIGHUP, SIGINT and SIGQUIT are the exceptions: nohup(1) and the shells' background jobs
// ignore them for all they start, so that neither a closed terminal nor its Ctrl-C ends it.
void give_own_signals(posix_spawnattr_t& attributes) noexcept;

// For a program that posix_spawn starts: it gets no descriptor from `first` on. One that this
// process has inherited may lead to a passphrase. Throws Error(failure).
void close_from(posix_spawn_file_actions_t& actions, int first);
// Does that where the C library cannot. What another thread opens meanwhile is not closed, so
// whoever opens something must say O_CLOEXEC, as paes does.
void close_what_is_open_from(posix_spawn_file_actions_t& actions, int first);

// Waits for a child to end and returns its status from waitpid(2). Empty if the system or somebody
// else has already collected it; nobody knows then how it ended, so do not count it as success.
[[nodiscard]] std::optional<int> wait_for_child(pid_t child) noexcept;

}  // namespace paes
