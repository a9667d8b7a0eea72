// SPDX-License-Identifier: Apache-2.0
#include "interruptible.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "paes/error.hpp"

namespace paes::python {

namespace {

// Short enough that nobody notices a delay, long enough that it costs nothing.
constexpr std::chrono::milliseconds look_every{50};

class Worker {
 public:
  // Throws Error(failure) if no thread can be started.
  explicit Worker(std::function<void()> work) try
      : thread_([this, work = std::move(work)] {
          try {
            work();
          } catch (...) {
            failure_ = std::current_exception();
          }
          const std::lock_guard lock(mutex_);
          is_done_ = true;
          changed_.notify_all();
        }) {
  } catch (const std::system_error&) {
    throw Error(ErrorCode::failure, "threads: none could be started for a long call",
                "look at the limits: ulimit -u, ulimit -v");
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  [[nodiscard]] bool wait_a_little() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, look_every, [this] { return is_done_; });
  }
  // Returns what the work threw.
  [[nodiscard]] std::exception_ptr join() {
    thread_.join();
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last, because it uses the others
};

void report_to(nb::handle report, const Progress& progress) {
  if (!report.is_none()) {
    (void)call_python(report, progress.done_bytes.load(), progress.total_bytes.load());
  }
}

// Runs `work` in a thread of its own. Meanwhile handles signals, and calls `look`.
void run_and_look(Cancel& cancel, const std::function<void()>& work,
                  const std::function<void()>& look) {
  std::exception_ptr refusal;
  std::exception_ptr failure;
  {
    const GilReleased released;
    Worker worker(work);
    while (!worker.wait_a_little()) {
      if (refusal != nullptr) {
        continue;
      }
      const GilHeld held;
      try {
        check_signals();
        look();
      } catch (...) {
        refusal = std::current_exception();
        cancel.request();
      }
    }
    failure = worker.join();
  }
  if (refusal != nullptr) {
    std::rethrow_exception(refusal);
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
}

}  // namespace

void run_interruptibly(nb::handle report,
                       const std::function<void(const Cancel& cancel, Progress& progress)>& work) {
  if (!report.is_none() && PyCallable_Check(report.ptr()) == 0) {
    throw nb::type_error("progress: cannot be called");
  }
  Cancel cancel;
  Progress progress;
  const auto look = [&] { report_to(report, progress); };
  run_and_look(
      cancel, [&] { work(cancel, progress); }, look);
  look();
}

void run_interruptibly(Cancel& cancel, const std::function<void()>& work) {
  run_and_look(cancel, work, [] {});
}

std::size_t read_interruptibly(const Reader& reader, std::uint64_t offset,
                               std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const auto part = to.subspan(done, std::min(to.size() - done, interruptible_bytes));
    std::size_t got = 0;
    {
      const GilReleased released;
      got = reader.read_at(offset + done, part);
    }
    done += got;
    if (got < part.size()) {
      break;
    }
    if (done < to.size()) {
      check_signals();
    }
  }
  return done;
}

}  // namespace paes::python
