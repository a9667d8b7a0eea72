// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/conditions.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "cli/command.hpp"
#include "cli/report.hpp"
#include "paes/error.hpp"

namespace paes::cli {

BusyLoops::BusyLoops(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    threads_.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        for (int step = 0; step < 1000; ++step) {
          asm volatile("" : : : "memory");
        }
      }
    });
  }
}

Callers::Callers(unsigned count) : count_(count) {
  for (unsigned caller = 0; count > 1 && caller < count; ++caller) {
    threads_.emplace_back([this, caller] { serve(caller); });
  }
}

Callers::~Callers() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Callers::run(const std::function<void(unsigned)>& fn) {
  if (count_ == 1) {
    fn(0);
    return;
  }
  std::unique_lock lock(mutex_);
  fn_ = &fn;
  running_ = count_;
  error_ = nullptr;
  ++turn_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return running_ == 0; });
  if (error_) {
    std::rethrow_exception(error_);
  }
}

void Callers::serve(unsigned caller) {
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_over_ || turn_ != done; });
    if (is_over_) {
      return;
    }
    done = turn_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*fn_)(caller);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      error_ = error;
    }
    if (--running_ == 0) {
      changed_.notify_all();
    }
  }
}

int run_in_child(const std::function<int()>& measure) {
  (void)std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    throw Error(ErrorCode::failure, "fork: the system gives no process");
  }
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = exit_done;
    try {
      code = measure();
    } catch (const Error& error) {
      print_error(error);
      code = static_cast<int>(error.code);
    }
    (void)std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) {
    throw Error(ErrorCode::failure,
                "fork: the child was killed by signal " + std::to_string(WTERMSIG(status)));
  }
  return WEXITSTATUS(status);
}

}  // namespace paes::cli
