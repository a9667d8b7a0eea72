// SPDX-License-Identifier: Apache-2.0
// `paes-bench libcrypto`: ChaCha20 and X25519, for which paes has no kernels, and AES beside them,
// under every requested number of threads and schedule, in turns.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "cli/decimal.hpp"
#include "cli/report.hpp"
#include "exec/schedule/schedule.hpp"
#include "paes-bench/bench_commands.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes-bench/libcrypto_options.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct MeasureLibcryptoCommand : LibcryptoWorkOptions {
  std::vector<unsigned> threads = {1, 0};
  std::vector<std::string> schedules = {"static"};
  unsigned rounds = 5;
  bool json = false;
};

// A turn repeats its work until it takes this long.
constexpr double least_turn_seconds = 0.01;

// A number of threads and a schedule, for one algorithm.
class LibcryptoContestant {
 public:
  LibcryptoContestant(const std::string& algorithm, LibcryptoWork& work, Schedule schedule,
                      unsigned threads)
      : algorithm_(algorithm),
        work_(work),
        executor_(make_executor(schedule, threads)),
        schedule_(executor_->threads() == 1 ? "serial" : name_of(schedule)) {
    executor_->start();
  }

  void warm_up() {
    const double each = std::max(turn(), 1e-8);
    runs_ = static_cast<std::uint64_t>(std::max(std::ceil(least_turn_seconds / each), 1.0));
  }
  void take_turn() { seconds_.push_back(turn() / static_cast<double>(runs_)); }

  [[nodiscard]] ordered_json to_json(const LibcryptoContestant& first) const {
    const auto [least, most] = std::minmax_element(seconds_.begin(), seconds_.end());
    const double typical = median(seconds_);
    return {{"algorithm", algorithm_},
            {"schedule", schedule_},
            {"threads", executor_->threads()},
            {"oversubscribed", is_oversubscribed()},
            {"bytes", work_.total().bytes},
            {"items", work_.total().items},
            {"rounds", seconds_.size()},
            {"runs", runs_},
            {"seconds_median", typical},
            {"seconds_min", *least},
            {"seconds_max", *most},
            {"gb_per_s", static_cast<double>(work_.total().bytes) / typical / 1e9},
            {"items_per_s", static_cast<double>(work_.total().items) / typical},
            {"ratio_to_first", cli::to_json(rate_ratio(seconds_, first.seconds_))}};
  }

  [[nodiscard]] std::string to_text(const LibcryptoContestant& first) const {
    const double typical = median(seconds_);
    const Ratio ratio = rate_ratio(seconds_, first.seconds_);
    return fmt::format(
        "{:<11} {:>3} thread{} {:<8} {:>8} in {:>5} items  {:>10.6f} s  {:>8.4f} GB/s  "
        "{:>9.0f} items/s  {:#.3g} x  [{:#.3g} .. {:#.3g}]{}\n",
        algorithm_, executor_->threads(), executor_->threads() == 1 ? " " : "s", schedule_,
        exact_bytes(work_.total().bytes), work_.total().items, typical,
        static_cast<double>(work_.total().bytes) / typical / 1e9,
        static_cast<double>(work_.total().items) / typical, ratio.median, ratio.min, ratio.max,
        is_oversubscribed() ? "  more threads than cores" : "");
  }

 private:
  [[nodiscard]] bool is_oversubscribed() const { return executor_->threads() > usable_cores(); }

  double turn() {
    stop_if_interrupted();
    work_.clear();
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < runs_; ++i) {
      executor_->for_each(work_.total().items, [&](std::size_t item) { work_.run(item); });
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    require_right(algorithm_, work_);
    return seconds;
  }

  const std::string& algorithm_;
  LibcryptoWork& work_;
  std::unique_ptr<Executor> executor_;
  const char* schedule_;
  std::uint64_t runs_ = 1;
  std::vector<double> seconds_;
};

// One algorithm under everything requested. The first contestant is what the others are compared
// with.
class LibcryptoContest {
 public:
  LibcryptoContest(const MeasureLibcryptoCommand& command, const std::string& algorithm)
      : work_(make_libcrypto_work(algorithm, command.size(), &cancel())) {
    for (const unsigned threads : command.threads) {
      // One thread has no schedule.
      for (std::size_t i = 0; i < (threads == 1 ? 1 : command.schedules.size()); ++i) {
        contestants_.emplace_back(algorithm, *work_, parse_schedule(command.schedules[i]), threads);
      }
    }
    for (LibcryptoContestant& contestant : contestants_) {
      contestant.warm_up();
    }
  }

  void take_turns() {
    for (LibcryptoContestant& contestant : contestants_) {
      contestant.take_turn();
    }
  }
  [[nodiscard]] const std::deque<LibcryptoContestant>& contestants() const { return contestants_; }

 private:
  std::unique_ptr<LibcryptoWork> work_;
  std::deque<LibcryptoContestant> contestants_;
};

int run(const MeasureLibcryptoCommand& command) {
  command.check();
  for (const std::string& schedule : command.schedules) {
    (void)parse_schedule(schedule);
  }
  std::deque<LibcryptoContest> contests;
  for (const std::string& algorithm : command.algorithms) {
    contests.emplace_back(command, algorithm);
  }
  for (unsigned round = 0; round < command.rounds; ++round) {
    for (LibcryptoContest& contest : contests) {
      contest.take_turns();
    }
  }
  ordered_json results = ordered_json::array();
  std::string text = machine_line();
  for (const LibcryptoContest& contest : contests) {
    for (const LibcryptoContestant& contestant : contest.contestants()) {
      results.push_back(contestant.to_json(contest.contestants().front()));
      text += contestant.to_text(contest.contestants().front());
    }
  }
  if (command.json) {
    print_json(
        {{"command", "bench libcrypto"}, {"machine", describe_machine()}, {"results", results}});
  } else {
    print_result(text);
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MeasureLibcryptoCommand>();
  command->declare(app);
  app.add_option("--threads", command->threads,
                 "threads that share the work; 0 is all (the default is 1,0)")
      ->delimiter(',')
      ->check(decimal())
      ->check(CLI::Range(0, 4096));
  app.add_option("--schedule", command->schedules, schedule_names() + "; the default is static")
      ->delimiter(',');
  app.add_option("--runs", command->rounds, "rounds (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", command->json, "print JSON (bench/schema/bench-libcrypto.schema.json)");
  return [command] { return run(*command); };
}

}  // namespace

const Command bench_command_libcrypto = {
    "libcrypto", "compare threads on ChaCha20 and on X25519, which libcrypto computes", declare};

}  // namespace paes::cli
