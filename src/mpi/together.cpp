// SPDX-License-Identifier: Apache-2.0
#include "mpi/together.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/current_error.hpp"
#include "mpi/broadcast.hpp"

namespace paes::mpi {

namespace {

// How often working ranks tell each other how they are doing.
constexpr std::chrono::milliseconds between_rounds{50};

// What the step threw, as an Error; empty if it returned.
std::optional<Error> failure_of(const std::function<void()>& step) {
  try {
    step();
    return std::nullopt;
  } catch (...) {
    return current_error();
  }
}

// Collective, after some rank's error. Throws the error of the lowest such rank on all ranks.
[[noreturn]] void throw_agreed(Communicator& communicator, std::optional<Error> own) {
  // After a signal, a step may fail only because some rank has already removed what it needs.
  if (auto interrupted = failure_of([&] { communicator.signals().check(); })) {
    own = std::move(interrupted);
  }
  const std::int64_t mine = own ? communicator.rank() : communicator.ranks();
  const auto first = static_cast<unsigned>(communicator.least(mine));
  ErrorCode code = ErrorCode::failure;
  std::string what;
  std::string hint;
  if (communicator.rank() == first) {
    code = own->code;
    what = own->what();
    hint = own->hint;
    if (first != 0) {
      what += " (rank " + std::to_string(first) + " on " + communicator.host() + ")";
    }
  }
  broadcast(communicator, code, first);
  broadcast(communicator, what, first);
  broadcast(communicator, hint, first);
  throw AgreedError(code, what, hint);
}

// Runs work in a thread of its own until it ends, or until the other ranks say that it is in vain.
class Worker {
 public:
  explicit Worker(const std::function<void(const RankProgress&)>& work)
      : thread_([this, &work] {
          failure_ = failure_of([&] { work({stop_, done_bytes_}); });
          const std::lock_guard lock(mutex_);
          ended_ = true;
          changed_.notify_one();
        }) {}
  ~Worker() {
    stop_.request();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits for this long or until the work ends. Passes on a request to stop.
  bool ended_within(std::chrono::milliseconds time, const Cancel& signals) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return ended_; });
    if (signals.requested()) {
      stop_.request();
    }
    return ended_;
  }
  [[nodiscard]] std::uint64_t done_bytes() const noexcept { return done_bytes_.load(); }
  // Call it after the end.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  Cancel stop_;
  std::atomic<std::uint64_t> done_bytes_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::optional<Error> failure_;
  std::thread thread_;  // last: starts when all else is ready
};

}  // namespace

void together(Communicator& communicator, const std::function<void()>& step) {
  const std::optional<Error> own = failure_of(step);
  if (communicator.sum(own ? 1 : 0) != 0) {
    throw_agreed(communicator, own);
  }
}

void on_first(Communicator& communicator, const std::function<void()>& step) {
  together(communicator, [&] {
    if (communicator.is_first()) {
      step();
    }
  });
}

void together(Communicator& communicator, std::atomic<std::uint64_t>* shown,
              const std::function<void(const RankProgress& touch)>& work) {
  // A rank that cannot start the thread has failed, and tells the others so.
  std::optional<Worker> worker;
  const std::optional<Error> not_begun = failure_of([&] { worker.emplace(work); });
  for (;;) {
    // A round: each rank says how it is doing, and all learn the sums. A rank that has ended says
    // so at once, so the last round ends with the slowest rank's work.
    const bool ended = !worker || worker->ended_within(between_rounds, communicator.signals());
    communicator.heed_signal();
    const std::optional<Error> own = !worker ? not_begun : ended ? worker->failure() : std::nullopt;
    enum { failed, working, bytes };
    std::array<std::int64_t, 3> round = {
        own ? 1 : 0, ended ? 0 : 1,
        worker ? static_cast<std::int64_t>(worker->done_bytes()) : std::int64_t{0}};
    communicator.sum(round);
    if (shown != nullptr) {
      shown->store(static_cast<std::uint64_t>(round[bytes]), std::memory_order_relaxed);
    }
    if (round[failed] != 0) {
      worker.reset();  // stops it; a failure from now on is due to the stop
      throw_agreed(communicator, own);
    }
    if (round[working] == 0) {
      return;
    }
  }
}

}  // namespace paes::mpi
