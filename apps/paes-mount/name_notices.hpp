// SPDX-License-Identifier: Apache-2.0
// Tells the system that it has to look up a name anew. The system takes the folder's lock for that,
// which it may hold for a program whose request we have yet to answer. So a thread of its own tells
// it, and whoever answers requests waits for that thread only for a while.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "paes-mount/node_table.hpp"

namespace paes::mount {

// Safe to use from any number of threads.
class NameNotices {
 public:
  // The system knows the folder, or did so before.
  using Tell = std::function<void(const Node& folder, const std::string& name)>;

  explicit NameNotices(Tell tell) : tell_(std::move(tell)) {}
  ~NameNotices() { stop(); }
  NameNotices(const NameNotices&) = delete;
  NameNotices& operator=(const NameNotices&) = delete;

  // Returns once the system has been told, or after `patience`; it is told all the same then.
  // Throws if there is no memory or no thread.
  void post(SharedNode folder, std::string name, std::chrono::milliseconds patience);
  // Nothing is told any more when this returns.
  void stop() noexcept;

 private:
  struct Notice {
    SharedNode folder;
    std::string name;
  };

  void work() noexcept;

  const Tell tell_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::deque<Notice> notices_;
  std::uint64_t posted_ = 0;
  std::uint64_t told_ = 0;
  bool is_stopped_ = false;
  std::thread thread_;
};

}  // namespace paes::mount
