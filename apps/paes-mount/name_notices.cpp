// SPDX-License-Identifier: Apache-2.0
#include "paes-mount/name_notices.hpp"

namespace paes::mount {

void NameNotices::post(SharedNode folder, std::string name, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (is_stopped_) {
    return;
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { work(); });  // signals are blocked in a thread that answers
  }
  notices_.push_back({std::move(folder), std::move(name)});
  const std::uint64_t own = ++posted_;
  changed_.notify_all();
  (void)changed_.wait_for(lock, patience, [&] { return told_ >= own || is_stopped_; });
}

void NameNotices::stop() noexcept {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    thread.swap(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) {
    thread.join();
  }
}

void NameNotices::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_stopped_ || !notices_.empty(); });
    if (is_stopped_) {
      return;
    }
    const Notice notice = std::move(notices_.front());
    notices_.pop_front();
    lock.unlock();
    tell_(*notice.folder, notice.name);
    lock.lock();
    ++told_;
    changed_.notify_all();
  }
}

}  // namespace paes::mount
