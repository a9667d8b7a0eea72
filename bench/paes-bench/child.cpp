// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "core/children.hpp"
#include "core/descriptor.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes-bench/place.hpp"
#include "paes/error.hpp"
#include "stream/file/input.hpp"

namespace paes::cli {

namespace {

Descriptor open_file(const std::string& path, int flags) {
  const int number = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (number < 0) {
    throw_errno(path);
  }
  return Descriptor(number);
}

std::array<Descriptor, 2> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw_errno("pipe");
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

pid_t start(const Child& program, int input, int output, int messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  give_own_signals(attributes);  // as from a shell

  std::vector<char*> arguments;
  arguments.reserve(program.arguments.size() + 1);
  for (const std::string& argument : program.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn does not write to it
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    errno = failed;
    throw_errno(program.arguments[0]);
  }
  return child;
}

// Waits for the child, adds its cost, and returns its status. If a signal interrupts the wait, it
// may have come from the terminal and have reached the children, too; otherwise it is passed on to
// this child.
int wait_for(pid_t child, ChildCost& cost) {
  int status = 0;
  struct rusage usage = {};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) {
      throw_errno("wait");
    }
    if (is_interrupted()) {
      (void)kill(child, SIGTERM);
    }
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  cost.cpu_seconds += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.peak_memory = std::max(cost.peak_memory, static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
  return status;
}

// The children of a pipe. None of them outlives it.
struct Children {
  std::vector<pid_t> running;
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const pid_t child : running) {
      (void)kill(child, SIGTERM);
      (void)waitpid(child, nullptr, 0);
    }
  }
};

}  // namespace

ChildCost run_children(std::span<const Child> pipe, const std::string& messages) {
  stop_if_interrupted();
  const Descriptor log = open_file(messages, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  const std::string& from = pipe.front().input;
  const std::string& to = pipe.back().output;
  Descriptor input = open_file(from.empty() ? "/dev/null" : from, O_RDONLY);
  const Descriptor last =
      to.empty() ? open_file("/dev/null", O_WRONLY) : open_file(to, O_WRONLY | O_CREAT | O_TRUNC);
  ChildCost cost;
  Children children;
  std::string failure;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i + 1 < pipe.size(); ++i) {
    auto [read_end, write_end] = make_pipe();
    children.running.push_back(start(pipe[i], input.number(), write_end.number(), log.number()));
    input = std::move(read_end);
  }
  children.running.push_back(start(pipe.back(), input.number(), last.number(), log.number()));
  input = Descriptor();
  for (std::size_t i = 0; i < pipe.size(); ++i) {
    const int status = wait_for(children.running.front(), cost);
    children.running.erase(children.running.begin());
    if (status != 0 && failure.empty()) {
      failure = pipe[i].arguments[0];
    }
  }
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  stop_if_interrupted();
  if (!failure.empty()) {
    const std::string said = first_line_of(messages);
    throw Error(ErrorCode::failure, failure + ": failed: " + (said.empty() ? "no message" : said));
  }
  return cost;
}

bool is_installed(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(program);
    if (access(folder.c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace paes::cli
