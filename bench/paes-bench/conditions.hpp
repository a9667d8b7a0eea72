// SPDX-License-Identifier: Apache-2.0
// What else happens while threads are measured: other work on the processors, several callers at a
// time, a fork before.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace paes::cli {

// Threads that keep processors busy for as long as it lives, at the priority of all others.
class BusyLoops {
 public:
  explicit BusyLoops(unsigned count);

 private:
  std::vector<std::jthread> threads_;
};

// Threads that make calls at the same time. They stay, because OpenMP keeps a pool for each. One
// caller is the thread that asks.
class Callers {
 public:
  explicit Callers(unsigned count);
  ~Callers();
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  [[nodiscard]] unsigned count() const noexcept { return count_; }
  // Calls fn(caller) on each at the same time, and returns when all have returned. Throws what one
  // of them has thrown.
  void run(const std::function<void(unsigned)>& fn);

 private:
  void serve(unsigned caller);

  const unsigned count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(unsigned)>* fn_ = nullptr;
  std::uint64_t turn_ = 0;
  unsigned running_ = 0;
  bool is_over_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

// Runs `measure` in a forked child, and returns what its process ends with. What is printed there
// is printed.
[[nodiscard]] int run_in_child(const std::function<int()>& measure);

}  // namespace paes::cli
