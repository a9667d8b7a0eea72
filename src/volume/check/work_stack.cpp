// SPDX-License-Identifier: Apache-2.0
#include "volume/check/work_stack.hpp"

#include <utility>

namespace paes::volume {

void WorkStack::push(Task task) { add(tasks_, std::move(task)); }

void WorkStack::push_for_later(Task task) { add(later_, std::move(task)); }

void WorkStack::add(std::vector<Task>& tasks, Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks.push_back(std::move(task));
  }
  changed_.notify_one();
}

std::vector<WorkStack::Task>* WorkStack::next() noexcept {
  return !tasks_.empty() ? &tasks_ : !later_.empty() ? &later_ : nullptr;
}

void WorkStack::run(const Executor& executor, const std::function<bool()>& stops) {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = false;
  }
  executor.on_each_thread([&](unsigned) {
    try {
      work(stops);
    } catch (...) {
      end();
      throw;
    }
  });
  tasks_.clear();
  later_.clear();
  running_ = 0;
}

void WorkStack::work(const std::function<bool()>& stops) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return has_ended_ || next() != nullptr || running_ == 0; });
    std::vector<Task>* const tasks = next();
    if (has_ended_ || tasks == nullptr) {
      return;
    }
    Task task = std::move(tasks->back());
    tasks->pop_back();
    ++running_;
    lock.unlock();
    if (stops && stops()) {
      end();
      return;
    }
    task();
    task = nullptr;  // what it holds may be the last of a folder, to be closed without the lock
    lock.lock();
    --running_;
    if (running_ == 0 && next() == nullptr) {
      changed_.notify_all();
    }
  }
}

void WorkStack::end() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  changed_.notify_all();
}

}  // namespace paes::volume
