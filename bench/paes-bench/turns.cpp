// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/turns.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <ctime>
#include <deque>
#include <memory>
#include <string>

#include "kernel/registry.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

constexpr std::size_t least_rounds = 15;

double thread_cpu_seconds() noexcept {
  struct timespec now = {};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Turns {
 public:
  Turns(std::span<const Kernel* const> kernels, const TurnSettings& settings,
        const Executor& executor)
      : settings_(settings), executor_(executor), key_(settings.task.cipher->key_bytes) {
    assert(!settings.task.is_shared || settings.clock == BenchClock::wall);
    random_bytes(key_);
    std::size_t messages = 1;
    rows_.reserve(kernels.size() + 1);
    for (const Kernel* kernel : kernels) {
      rows_.push_back({Contender(*kernel, settings.task, key_), 1, {}});
      messages = std::max(messages, rows_.back().contender.messages());
    }
    if (settings.device != nullptr) {
      // Rows to measure need not be able to do what a device leaves to its kernel.
      const Kernel& kernel = best_kernel(settings.task.cipher->cipher);
      rows_.push_back({Contender(kernel, settings.task, key_, settings.device), 1, {}});
    }
    const unsigned lanes = settings.task.is_shared ? 1 : executor.threads();
    for (unsigned lane = 0; lane < lanes; ++lane) {
      lanes_.push_back(std::make_unique<Lane>(settings.task.message_bytes, messages));
      for (const PageBuffer* const buffer : buffers_of(*lanes_.back())) {
        pinned_.emplace_back(settings.device, buffer->pages());
      }
    }
  }

  std::vector<KernelTimes> run() {
    const auto start = Clock::now();
    const double turn_seconds =
        std::clamp(settings_.seconds / (25.0 * static_cast<double>(rows_.size())), 0.005, 0.020);
    fill_lanes();
    for (Row& row : rows_) {
      run_checked(row);
      calibrate(row, turn_seconds);
    }
    for (std::size_t round = 0; round < least_rounds || seconds_since(start) < settings_.seconds;
         ++round) {
      fill_lanes();
      for (Row& row : rows_) {
        if (settings_.before_turn) {
          settings_.before_turn();
        }
        run_checked(row);
        (void)time_runs(row, std::max<std::uint64_t>(row.runs / 16, 1));
        row.seconds.push_back(time_runs(row, row.runs) /
                              static_cast<double>(row.runs * row.contender.messages()));
      }
    }
    std::vector<KernelTimes> times;
    times.reserve(rows_.size());
    for (Row& row : rows_) {
      times.push_back({&row.contender.kernel(), row.contender.device(), row.contender.messages(),
                       std::move(row.seconds)});
    }
    return times;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Unpins what it has pinned, if there is a device.
  class Pinned {
   public:
    Pinned(Device* device, MutableBytes pages) : device_(device), memory_(pages.data()) {
      if (device != nullptr) {
        device->pin(pages.data(), pages.size());
      }
    }
    ~Pinned() {
      if (device_ != nullptr) {
        device_->unpin(memory_);
      }
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

   private:
    Device* device_;
    void* memory_;
  };

  struct Row {
    Contender contender;
    std::uint64_t runs;  // per turn, on each thread
    std::vector<double> seconds;
  };

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  static std::array<const PageBuffer*, 3> buffers_of(const Lane& lane) {
    return {&lane.plain, &lane.cipher, &lane.out};
  }

  void fill_lanes() {
    for (const auto& lane : lanes_) {
      fill(*lane, settings_.task, key_);
    }
  }

  double time_runs(const Row& row, std::uint64_t runs) {
    const auto start = Clock::now();
    if (settings_.task.is_shared) {
      for (std::uint64_t i = 0; i < runs; ++i) {
        row.contender.run(*lanes_[0], executor_);
      }
    } else {
      executor_.on_each_thread([&](unsigned thread) {
        Lane& lane = *lanes_[thread];
        const double cpu_start = thread_cpu_seconds();
        for (std::uint64_t i = 0; i < runs; ++i) {
          row.contender.run(lane, serial_executor());
        }
        lane.cpu_seconds = thread_cpu_seconds() - cpu_start;
      });
    }
    double seconds = settings_.clock == BenchClock::wall ? seconds_since(start) : 0;
    for (const auto& lane : lanes_) {
      if (settings_.clock == BenchClock::cpu) {
        seconds = std::max(seconds, lane->cpu_seconds);
      }
      if (!lane->authentic) {
        reject(row, "rejects a good tag");
      }
    }
    return seconds;
  }

  // Doubles the runs until they take at least half a turn. Takes the best of three, because a
  // single turn that the system interrupted would look like many messages.
  void calibrate(Row& row, double turn_seconds) {
    const auto best = [&] {
      double seconds = time_runs(row, row.runs);
      for (unsigned again = 1; again < 3 && seconds >= turn_seconds / 2; ++again) {
        seconds = std::min(seconds, time_runs(row, row.runs));
      }
      return seconds;
    };
    double seconds = best();
    while (seconds < turn_seconds / 2) {
      row.runs *= 2;
      seconds = best();
    }
    const double wanted = static_cast<double>(row.runs) * turn_seconds / seconds;
    row.runs = static_cast<std::uint64_t>(std::max(std::llround(wanted), 1LL));
  }

  void run_checked(const Row& row) {
    for (const auto& lane : lanes_) {
      row.contender.before_check(*lane);
    }
    time_runs(row, 1);
    for (const auto& lane : lanes_) {
      if (const char* const why = row.contender.check(*lane); why != nullptr) {
        reject(row, why);
      }
    }
  }

  [[noreturn]] static void reject(const Row& row, const char* why) {
    throw Error(ErrorCode::failure, std::string("kernel '") + row.contender.name() +
                                        "': wrong output: " + why +
                                        "; nothing is reported of a run with a wrong output");
  }

  TurnSettings settings_;
  const Executor& executor_;
  SecretBytes key_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::deque<Pinned> pinned_;  // of the lanes' memory, and destroyed before it
  std::vector<Row> rows_;
};

}  // namespace

std::vector<KernelTimes> take_turns(std::span<const Kernel* const> kernels,
                                    const TurnSettings& settings, const Executor& executor) {
  return Turns(kernels, settings, executor).run();
}

}  // namespace paes::cli
