// SPDX-License-Identifier: Apache-2.0
// Starting other programs: where they are found, what they begin with, and how they ended.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace paes {

// The program that a shell would start for this name, or an empty string. Relative folders of PATH
// are skipped: they would depend on the current directory.
[[nodiscard]] std::string find_program(std::string_view name);

// Arguments for posix_spawn, freed at the end.
struct SpawnOptions {
  SpawnOptions();
  ~SpawnOptions();
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

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
