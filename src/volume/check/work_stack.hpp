// SPDX-License-Identifier: Apache-2.0
// Work that finds more work while it is done: the walk of a tree on several threads. What was found
// last is done first. So little waits: about what lies beside one path of the tree.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "exec/executor.hpp"

namespace paes::volume {

class WorkStack {
 public:
  using Task = std::function<void()>;

  // From any thread, also from within a task.
  void push(Task task);
  // A task that begins only when no other waits. The last of these begins first, too.
  void push_for_later(Task task);

  // Does all tasks, and those that they push, on the executor's threads. `stops` is asked before
  // each task; once it says true, the rest is dropped. The first exception of a task ends the work
  // and is thrown here.
  void run(const Executor& executor, const std::function<bool()>& stops);

 private:
  void add(std::vector<Task>& tasks, Task task);
  // The stack that the next task is on: null if none waits.
  [[nodiscard]] std::vector<Task>* next() noexcept;
  void work(const std::function<bool()>& stops);
  void end();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  std::vector<Task> later_;
  std::size_t running_ = 0;
  bool has_ended_ = false;
};

}  // namespace paes::volume
