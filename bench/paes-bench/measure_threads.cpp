// SPDX-License-Identifier: Apache-2.0
// `paes-bench threads`: one message in memory under every requested number of threads, schedule and
// size of piece, in turns; and for comparison parallelism inside a block, which others have tried.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/decimal.hpp"
#include "cli/report.hpp"
#include "exec/schedule/schedule.hpp"
#include "kernel/registry.hpp"
#include "message/raw_key.hpp"
#include "paes-bench/bench_commands.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/conditions.hpp"
#include "paes-bench/contender.hpp"
#include "paes-bench/evp_reference.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes-bench/splits.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct MeasureThreadsCommand {
  std::vector<std::string> ciphers = {"aes-128-ecb"};
  std::vector<std::string> kernels = {"auto"};
  std::vector<std::string> directions = {"encrypt"};
  std::vector<std::uint64_t> message_bytes = {std::uint64_t{16} << 20};
  std::vector<unsigned> threads = {1, 0};
  std::vector<std::string> schedules = {"static"};
  std::vector<std::uint64_t> piece_sizes = {std::uint64_t{256} << 10};
  std::vector<std::string> splits = {"pieces"};
  unsigned rounds = 5;
  unsigned callers = 1;
  unsigned busy_loops = 0;
  bool is_after_fork = false;
  bool json = false;
};

// A turn repeats a short message until it takes this long.
constexpr double least_turn_seconds = 0.01;
// Before a turn: OpenMP's threads wait for the next loop by turning in circles, for longer than
// most, and would be in the way of whoever has the next turn.
constexpr std::chrono::milliseconds rest{5};

struct NamedSplit {
  const char* name;
  Split split;
};
constexpr NamedSplit splits[] = {{"pieces", Split::pieces},
                                 {"blocks", Split::blocks},
                                 {"inside", Split::inside},
                                 {"nested", Split::nested}};

const NamedSplit& find_split(const std::string& name) {
  for (const NamedSplit& row : splits) {
    if (name == row.name) {
      return row;
    }
  }
  throw Error(ErrorCode::usage, "split: unknown name '" + name + "'",
              "there are: pieces, blocks, inside, nested");
}

Direction find_direction(const std::string& name) {
  if (name != "encrypt" && name != "decrypt") {
    throw Error(ErrorCode::usage, "direction: unknown name '" + name + "'",
                "there are: encrypt, decrypt");
  }
  return name == "encrypt" ? Direction::encrypt : Direction::decrypt;
}

// There are many short messages, used one after the other: a processor that meets the same few
// blocks again and again learns their branches and table look-ups by heart, and no file is like
// that.
constexpr std::size_t least_text_bytes = std::size_t{1} << 20;

// The messages, and the output that every contestant must produce.
struct Text {
  const CipherName* cipher;
  Direction direction;
  std::size_t message_bytes;
  std::size_t messages;
  SecretBytes key;
  std::vector<Block> ivs;
  PageBuffer plain;
  PageBuffer encrypted;
  PageBuffer out;

  // Each caller has as many of the messages.
  Text(const CipherName& name, Direction way, std::uint64_t bytes, unsigned callers)
      : cipher(&name),
        direction(way),
        message_bytes(bytes),
        messages(std::max<std::size_t>(least_text_bytes / bytes / callers, 1) * callers),
        key(name.key_bytes),
        ivs(messages),
        plain(bytes * messages),
        encrypted(bytes * messages),
        out(bytes * messages) {
    random_bytes(key);
    random_bytes({ivs.data()->bytes, ivs.size() * sizeof(Block)});
    constexpr std::size_t part_bytes = std::size_t{1} << 24;
    for (std::size_t at = 0; at < plain.view().size(); at += part_bytes) {
      random_bytes(plain.view().subspan(at, std::min(part_bytes, plain.view().size() - at)));
    }
    for (std::size_t i = 0; i < messages; ++i) {
      encrypt_raw(name, key, {ivs[i].bytes, name.iv_bytes()}, message(plain, i),
                  message(encrypted, i));
    }
  }
  [[nodiscard]] MutableBytes message(const PageBuffer& buffer, std::size_t index) const {
    return buffer.view().subspan(index * message_bytes, message_bytes);
  }
  [[nodiscard]] const PageBuffer& in() const {
    return direction == Direction::encrypt ? plain : encrypted;
  }
  [[nodiscard]] const PageBuffer& wanted() const {
    return direction == Direction::encrypt ? encrypted : plain;
  }
};

// A kernel, a number of threads, a schedule, a size of piece.
class Contestant {
 public:
  Contestant(const Text& text, const NamedSplit& split, const Kernel& kernel, Schedule schedule,
             unsigned threads, std::size_t piece_bytes, Callers& callers)
      : text_(text),
        callers_(callers),
        split_(split),
        kernel_(kernel),
        executor_(make_executor(schedule, threads)),
        schedule_(executor_->threads() == 1 ? "serial" : name_of(schedule)),
        piece_bytes_(piece_bytes),
        runs_(callers.count()) {
    executor_->start();
    if (split.split == Split::pieces) {
      key_ = std::make_unique<RawKey>(text.cipher->cipher, *text.cipher->mode, text.key, kernel);
    }
  }

  // Checks runs, and finds out how often a turn repeats them: a first run says little about a short
  // message.
  void warm_up() {
    for (int again = 0; again < 3; ++again) {
      const double seconds = turn();
      if (seconds >= least_turn_seconds / 2) {
        break;
      }
      const double each = std::max(seconds / static_cast<double>(runs_), 1e-8);
      const std::uint64_t rounds = callers_.count();
      runs_ = (static_cast<std::uint64_t>(std::ceil(least_turn_seconds / each)) + rounds - 1) /
              rounds * rounds;
    }
  }
  void take_turn() { seconds_.push_back(turn() / static_cast<double>(runs_)); }

  [[nodiscard]] ordered_json to_json(const Contestant& first) const {
    const auto [least, most] = std::minmax_element(seconds_.begin(), seconds_.end());
    const double typical = median(seconds_);
    const auto bytes = text_.message_bytes;
    return {{"cipher", text_.cipher->name},
            {"direction", text_.direction == Direction::encrypt ? "encrypt" : "decrypt"},
            {"kernel", kernel_.name},
            {"split", split_.name},
            {"schedule", schedule_},
            {"threads", executor_->threads()},
            {"oversubscribed", computing_threads() > usable_cores()},
            {"piece_bytes", piece_bytes_},
            {"bytes", bytes},
            {"rounds", seconds_.size()},
            {"runs", runs_},
            {"seconds_median", typical},
            {"seconds_min", *least},
            {"seconds_max", *most},
            {"gb_per_s", static_cast<double>(bytes) / typical / 1e9},
            {"ratio_to_first", cli::to_json(rate_ratio(seconds_, first.seconds_))}};
  }

  [[nodiscard]] std::string to_text(const Contestant& first) const {
    const double typical = median(seconds_);
    const Ratio ratio = rate_ratio(seconds_, first.seconds_);
    return fmt::format(
        "{} {} of {:<8} {:<10} {:<7} {:>3} thread{} {:<8} piece {:>8}  {:>10.6f} s  {:>7.3f} GB/s  "
        "{:#.3g} x  [{:#.3g} .. {:#.3g}]{}\n",
        text_.cipher->name, text_.direction == Direction::encrypt ? "encrypt" : "decrypt",
        exact_bytes(text_.message_bytes), kernel_.name, split_.name, executor_->threads(),
        executor_->threads() == 1 ? " " : "s", schedule_, exact_bytes(piece_bytes_), typical,
        static_cast<double>(text_.message_bytes) / typical / 1e9, ratio.median, ratio.min,
        ratio.max, computing_threads() > usable_cores() ? "  more threads than cores" : "");
  }

 private:
  [[nodiscard]] unsigned computing_threads() const {
    const unsigned threads = executor_->threads();
    return split_.split == Split::nested ? threads * threads : threads;
  }

  void run(std::size_t index) {
    const Bytes in = text_.message(text_.in(), index);
    const MutableBytes out = text_.message(text_.out, index);
    if (split_.split != Split::pieces) {
      encrypt_split(split_.split, text_.key, in, out, *executor_,
                    std::max<std::size_t>(piece_bytes_ / block_bytes, 1));
      return;
    }
    RawPosition position = key_->start({text_.ivs[index].bytes, key_->iv_bytes()});
    key_->crypt(text_.direction, position, in, out, *executor_, piece_bytes_);
  }

  // Makes sure that the output is of this turn: what was there before is gone, and what is there
  // now is right.
  double turn() {
    stop_if_interrupted();
    const MutableBytes out = text_.out.view();
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    std::this_thread::sleep_for(rest);
    const auto start = Clock::now();
    callers_.run([&](unsigned caller) {
      for (std::uint64_t i = caller; i < runs_; i += callers_.count()) {
        run(i % text_.messages);
        asm volatile("" : : "r"(out.data()) : "memory");
      }
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const std::size_t done = std::min<std::uint64_t>(runs_, text_.messages) * text_.message_bytes;
    if (!equal_constant_time(out.first(done), text_.wanted().view().first(done))) {
      throw Error(
          ErrorCode::failure,
          fmt::format("kernel '{}', split {}: wrong output: differs from libcrypto; nothing "
                      "is reported of a run with a wrong output",
                      kernel_.name, split_.name));
    }
    return seconds;
  }

  const Text& text_;
  Callers& callers_;
  const NamedSplit& split_;
  const Kernel& kernel_;
  std::unique_ptr<Executor> executor_;
  const char* schedule_;
  std::size_t piece_bytes_;
  std::unique_ptr<RawKey> key_;
  std::uint64_t runs_;
  std::vector<double> seconds_;
};

void check_split(const NamedSplit& split, const CipherName& cipher, Direction direction,
                 const std::string& kernel) {
  if (split.split == Split::pieces) {
    return;
  }
  if (cipher.name != "aes-128-ecb" || direction != Direction::encrypt || kernel != "compute") {
    throw Error(ErrorCode::usage,
                fmt::format("--split: {} is there for encryption with aes-128-ecb "
                            "by --kernel compute",
                            split.name));
  }
  const char* const levels = std::getenv("OMP_MAX_ACTIVE_LEVELS");
  if (split.split == Split::nested && (levels == nullptr || std::strtol(levels, nullptr, 10) < 2)) {
    throw Error(ErrorCode::usage, "--split: nested regions would have one thread each",
                "set OMP_MAX_ACTIVE_LEVELS=2 in the environment");
  }
}

void check_message(const CipherName& cipher, Direction direction, std::uint64_t bytes,
                   std::size_t messages, unsigned callers) {
  if (cipher.is_gcm() || row_of(*cipher.mode).has_units ||
      formula_of(row_of(*cipher.mode).operation(direction)).is_chained()) {
    throw Error(ErrorCode::usage,
                fmt::format("--cipher: threads cannot share a message of {} {}", cipher.name,
                            direction == Direction::encrypt ? "encrypt" : "decrypt"));
  }
  if (bytes == 0 || bytes % block_bytes_of(cipher.cipher) != 0) {
    throw Error(ErrorCode::usage, fmt::format("--size: {} bytes are no whole blocks", bytes));
  }
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (3.0 * static_cast<double>(bytes) * static_cast<double>(messages) * callers > memory / 2) {
    throw Error(ErrorCode::usage, fmt::format("--size: {} would take more than half of the memory",
                                              exact_bytes(bytes)));
  }
}

// Everything compared for one direction and size.
class Contest {
 public:
  Contest(const MeasureThreadsCommand& command, Direction direction, std::uint64_t bytes)
      : callers_(command.callers) {
    for (const std::string& name : command.ciphers) {
      const CipherName& cipher = find_cipher_name(name);
      texts_.emplace_back(cipher, direction, bytes, command.callers);
      enter(command, texts_.back());
    }
    for (Contestant& contestant : contestants_) {
      contestant.warm_up();
    }
    for (unsigned round = 0; round < command.rounds; ++round) {
      for (Contestant& contestant : contestants_) {
        contestant.take_turn();
      }
    }
  }

  void append_to(ordered_json& results) const {
    for (const Contestant& contestant : contestants_) {
      results.push_back(contestant.to_json(contestants_.front()));
    }
  }
  [[nodiscard]] std::string to_text() const {
    std::string text = "\n";
    for (const Contestant& contestant : contestants_) {
      text += contestant.to_text(contestants_.front());
    }
    return text;
  }

 private:
  // One thread has no schedule, so such duplicates are left out.
  void enter(const MeasureThreadsCommand& command, const Text& text) {
    for (const std::string& kernel_name : command.kernels) {
      const Kernel& kernel = find_kernel(*text.cipher, kernel_name);
      for (const std::string& split_name : command.splits) {
        const NamedSplit& split = find_split(split_name);
        for (const unsigned threads : command.threads) {
          for (std::size_t i = 0; i < (threads == 1 ? 1 : command.schedules.size()); ++i) {
            for (const std::uint64_t piece_bytes : command.piece_sizes) {
              contestants_.emplace_back(text, split, kernel, parse_schedule(command.schedules[i]),
                                        threads, piece_bytes, callers_);
            }
          }
        }
      }
    }
  }

  Callers callers_;
  std::deque<Text> texts_;
  std::deque<Contestant> contestants_;
};

// Checks everything requested before anything is measured.
void check_request(const MeasureThreadsCommand& command) {
  for (const std::string& direction_name : command.directions) {
    const Direction direction = find_direction(direction_name);
    for (const std::string& cipher_name : command.ciphers) {
      const CipherName& cipher = find_cipher_name(cipher_name);
      for (const std::uint64_t bytes : command.message_bytes) {
        check_message(cipher, direction, bytes, command.ciphers.size(), command.callers);
      }
      for (const std::string& kernel : command.kernels) {
        (void)find_kernel(cipher, kernel);
        for (const std::string& split : command.splits) {
          check_split(find_split(split), cipher, direction, kernel);
        }
      }
    }
  }
  for (const std::string& schedule : command.schedules) {
    (void)parse_schedule(schedule);
  }
}

int measure(const MeasureThreadsCommand& command) {
  const BusyLoops busy(command.busy_loops);
  ordered_json results = ordered_json::array();
  if (!command.json) {
    print_result(machine_line());
  }
  for (const std::string& direction_name : command.directions) {
    for (const std::uint64_t bytes : command.message_bytes) {
      const Contest contest(command, find_direction(direction_name), bytes);
      if (command.json) {
        contest.append_to(results);
      } else {
        print_result(contest.to_text());
      }
    }
  }
  if (command.json) {
    print_json({{"command", "bench threads"},
                {"machine", describe_machine()},
                {"conditions",
                 {{"callers", command.callers},
                  {"busy_loops", command.busy_loops},
                  {"after_fork", command.is_after_fork}}},
                {"results", results}});
  }
  return exit_done;
}

int run(const MeasureThreadsCommand& command) {
  check_request(command);
  if (!command.is_after_fork) {
    return measure(command);
  }
  for (const std::string& schedule : command.schedules) {
    make_executor(parse_schedule(schedule), 2)->on_each_thread([](unsigned) {});
  }
  return run_in_child([&] { return measure(command); });
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MeasureThreadsCommand>();
  app.add_option("--cipher", command->ciphers,
                 "aes-128-ecb (the default) or others whose blocks do not depend on each other")
      ->delimiter(',');
  app.add_option("--kernel", command->kernels, "kernels; several with commas")->delimiter(',');
  app.add_option("--direction", command->directions, "encrypt (the default), decrypt")
      ->delimiter(',');
  takes_bytes(
      app.add_option(
             "--size", command->message_bytes,
             "bytes of the message, 512KiB or 15MB (the default is 16MiB); several with commas")
          ->delimiter(','));
  app.add_option("--threads", command->threads,
                 "threads that share the message; 0 is all (the default is 1,0)")
      ->delimiter(',')
      ->check(decimal())
      ->check(CLI::Range(0, 4096));
  app.add_option("--schedule", command->schedules, schedule_names() + "; the default is static")
      ->delimiter(',');
  takes_bytes(
      app.add_option(
             "--piece", command->piece_sizes,
             "bytes that a thread takes at a time (the default is 256KiB); several with commas")
          ->delimiter(','))
      ->check(CLI::Range(std::uint64_t{16}, std::uint64_t{1} << 40));
  app.add_option("--split", command->splits,
                 "pieces (the default), or what others have tried: blocks, inside (SubBytes and "
                 "ShiftRows of a block in parallel), nested (both)")
      ->delimiter(',');
  app.add_option("--callers", command->callers,
                 "threads that encrypt messages of their own at the same time (the default is 1)")
      ->check(decimal())
      ->check(CLI::Range(1, 256));
  app.add_option("--busy", command->busy_loops,
                 "loops that keep processors busy meanwhile (the default is 0)")
      ->check(decimal())
      ->check(CLI::Range(0, 256));
  app.add_flag("--after-fork", command->is_after_fork,
               "measure in a forked child of a process that has used its threads");
  app.add_option("--runs", command->rounds, "rounds (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", command->json, "print JSON (bench/schema/bench-threads.schema.json)");
  return [command] { return run(*command); };
}

}  // namespace

const Command bench_command_threads = {
    "threads", "compare threads, schedules and sizes of pieces on one message in memory", declare};

}  // namespace paes::cli
