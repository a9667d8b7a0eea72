// SPDX-License-Identifier: Apache-2.0
// `paes-bench kernel`: how fast the kernels transform messages that stay in the processor's caches
// (the measurement of `openssl speed`), side by side in one run.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cipher/mode/gcm_blocks.hpp"
#include "cipher/mode/xts.hpp"
#include "cli/decimal.hpp"
#include "cli/report.hpp"
#include "cli/work_options.hpp"
#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "paes-bench/bench_commands.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes-bench/turns.hpp"
#include "paes/error.hpp"
#include "rows/rows.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

struct MeasureKernelCommand {
  std::vector<std::string> ciphers = {"aes-256-gcm"};
  std::vector<std::string> kernels;  // empty: all that run here, beginning with libcrypto's
  std::vector<std::string> directions = {"encrypt"};
  std::vector<std::uint64_t> message_bytes = {16384};
  std::uint64_t unit_bytes = 0;  // of XTS; 0: a message is one data unit
  std::string device = "cpu";    // cuda: the device, too, after the kernels
  unsigned threads = 1;
  bool share = false;          // threads work on one message together
  std::string clock = "wall";  // or cpu
  double seconds = 2;          // per combination of cipher, direction and size
  bool json = false;
};

struct NamedDirection {
  const char* name;
  BenchDirection direction;
};
constexpr NamedDirection directions[] = {{"encrypt", BenchDirection::encrypt},
                                         {"decrypt", BenchDirection::decrypt},
                                         {"verify", BenchDirection::verify}};

struct NamedClock {
  const char* name;
  BenchClock clock;
};
constexpr NamedClock clocks[] = {{"wall", BenchClock::wall}, {"cpu", BenchClock::cpu}};

template <typename Named, std::size_t Count>
const Named& find_named(const char* what, const Named (&table)[Count], const std::string& name) {
  std::string known;
  for (const Named& row : table) {
    if (name == row.name) {
      return row;
    }
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::usage, fmt::format("{}: unknown name '{}'", what, name),
              "there is: " + known);
}

std::vector<const Kernel*> find_kernels(Cipher cipher, const std::vector<std::string>& names) {
  std::vector<const Kernel*> found;
  if (!names.empty()) {
    for (const std::string& name : names) {
      found.push_back(&find_kernel(cipher, name, bench::kernels_and_rows()));
    }
    return found;
  }
  for (const Kernel* kernel : bench::kernels_and_rows()) {
    if (kernel->cipher == cipher && unavailable_reason(*kernel).empty()) {
      found.push_back(kernel);
    }
  }
  // Ratios are to libcrypto, which everybody knows.
  std::stable_partition(found.begin(), found.end(), [](const Kernel* kernel) {
    return std::string_view(kernel->name) == "openssl";
  });
  return found;
}

// Kernels that are named must have the cipher and direction; of all kernels, those that lack it are
// left out.
std::vector<const Kernel*> able_kernels(const CipherName& cipher, const NamedDirection& direction,
                                        const std::vector<std::string>& names) {
  std::vector<const Kernel*> able;
  for (const Kernel* kernel : find_kernels(cipher.cipher, names)) {
    if (can_do(*kernel, cipher, direction.direction)) {
      able.push_back(kernel);
    } else if (!names.empty()) {
      throw Error(ErrorCode::usage, fmt::format("kernel: '{}' cannot {} {}", kernel->name,
                                                direction.name, cipher.name));
    }
  }
  if (able.empty()) {
    throw Error(ErrorCode::usage,
                fmt::format("kernel: none of this machine can {} {}", direction.name, cipher.name));
  }
  return able;
}

std::uint64_t most_message_bytes(const CipherName& cipher) {
  if (cipher.is_gcm()) {
    return gcm::max_plaintext_bytes;
  }
  return row_of(*cipher.mode).has_units ? xts::max_unit_bytes : std::uint64_t{1} << 40;
}

// A message in XTS is one data unit, or whole data units of the given length.
void check_size(const CipherName& cipher, std::uint64_t message_bytes, std::uint64_t unit_bytes) {
  const bool has_units = !cipher.is_gcm() && row_of(*cipher.mode).has_units;
  if (unit_bytes != 0 && (!has_units || message_bytes % unit_bytes != 0)) {
    throw Error(ErrorCode::usage, fmt::format("--unit: {} has no units of {} bytes in {} bytes",
                                              cipher.name, unit_bytes, message_bytes));
  }
  const std::uint64_t most = unit_bytes != 0 ? std::uint64_t{1} << 40 : most_message_bytes(cipher);
  const std::size_t block = block_bytes_of(cipher.cipher);
  const bool takes_part = cipher.is_gcm() || row_of(*cipher.mode).tail == Tail::any ||
                          (row_of(*cipher.mode).tail == Tail::stolen ? message_bytes >= block
                                                                     : message_bytes % block == 0);
  if (message_bytes == 0 || message_bytes > most || !takes_part) {
    throw Error(ErrorCode::usage,
                fmt::format("--size: {} takes no message of {} bytes", cipher.name, message_bytes));
  }
}

struct Combination {
  const CipherName& cipher;
  const NamedDirection& direction;
  std::vector<const Kernel*> kernels;
  std::uint64_t message_bytes;
  bool is_shared;
  std::uint64_t unit_bytes;

  [[nodiscard]] BenchTask task() const {
    return {&cipher, direction.direction, message_bytes, is_shared, unit_bytes};
  }
  [[nodiscard]] const char* way() const {
    return is_shared ? "shared" : is_chained(cipher, direction.direction) ? "batch" : "message";
  }
};

// Memory for every thread's plaintext, ciphertext and output.
void check_memory(const Combination& combination, unsigned threads) {
  std::size_t messages = 1;
  for (const Kernel* kernel : combination.kernels) {
    messages = std::max(messages, messages_at_once(*kernel, combination.task()));
  }
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double needed = 3.0 * static_cast<double>(combination.message_bytes) *
                        static_cast<double>(messages) * (combination.is_shared ? 1 : threads);
  if (needed > memory / 2) {
    throw Error(ErrorCode::usage,
                fmt::format("--size: {} of {} on {} would take more than half of the memory",
                            messages == 1 ? "messages" : fmt::format("{} messages", messages),
                            exact_bytes(combination.message_bytes),
                            threads == 1 ? "1 thread" : fmt::format("{} threads", threads)));
  }
}

struct Row {
  const Combination* combination;
  unsigned threads;
  const char* name;
  const char* device;
  std::size_t messages;
  std::size_t rounds;
  double seconds_median;
  double gb_per_s;
  Ratio ratio;
};

ordered_json to_json(const Row& row) {
  ordered_json json = {{"cipher", row.combination->cipher.name},
                       {"direction", row.combination->direction.name},
                       {"kernel", row.name},
                       {"device", row.device},
                       {"way", row.combination->way()},
                       {"bytes", row.combination->message_bytes},
                       {"messages", row.messages},
                       {"threads", row.threads},
                       {"rounds", row.rounds},
                       {"seconds_median", row.seconds_median},
                       {"gb_per_s", row.gb_per_s},
                       {"ratio_to_first", to_json(row.ratio)}};
  if (row.combination->unit_bytes != 0) {
    json["unit_bytes"] = row.combination->unit_bytes;
  }
  return json;
}

// Says how the messages are run.
std::string describe_way(const Combination& combination, unsigned threads) {
  std::string each = fmt::format("messages of {}", exact_bytes(combination.message_bytes));
  if (combination.unit_bytes != 0) {
    each += fmt::format(" in units of {}", exact_bytes(combination.unit_bytes));
  }
  if (combination.is_shared) {
    return fmt::format("{}, each shared by {} thread{}", each, threads, threads == 1 ? "" : "s");
  }
  const std::string on = fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  return is_chained(combination.cipher, combination.direction.direction)
             ? "batches of independent " + each + on
             : each + on;
}

std::string to_text(const std::vector<Row>& rows) {
  const Row& first = rows.front();
  const Combination& combination = *first.combination;
  double fastest = 0;
  for (const Row& row : rows) {
    fastest = std::max(fastest, row.gb_per_s);
  }
  std::string text =
      fmt::format("\n{} {}, {}, {} rounds\n", combination.cipher.name, combination.direction.name,
                  describe_way(combination, first.threads), first.rounds);
  const bool is_batch = is_chained(combination.cipher, combination.direction.direction);
  for (const Row& row : rows) {
    text += fmt::format("  {:<16} {:>8.3f} GB/s  {:>#6.3g} x  [{:#.3g} .. {:#.3g}]  {}{}\n",
                        row.name, row.gb_per_s, row.ratio.median, row.ratio.min, row.ratio.max,
                        is_batch ? fmt::format("{:>3} at once  ", row.messages) : std::string(),
                        bar(row.gb_per_s, fastest, 30));
  }
  return text;
}

std::vector<Row> measure(const Combination& combination, const Executor& executor, double seconds,
                         const NamedClock& clock, Device* device) {
  const std::vector<KernelTimes> times =
      take_turns(combination.kernels,
                 {combination.task(), seconds, clock.clock, stop_if_interrupted, device}, executor);
  std::vector<Row> rows;
  for (const KernelTimes& row : times) {
    const double typical = median(row.seconds);
    const double bytes = static_cast<double>(combination.message_bytes) *
                         (combination.is_shared ? 1 : executor.threads());
    const char* const device_name = row.device != nullptr ? row.device->name() : nullptr;
    rows.push_back(
        {&combination, executor.threads(), device_name != nullptr ? device_name : row.kernel->name,
         device_name != nullptr ? device_name : "cpu", row.messages, row.seconds.size(), typical,
         bytes / typical / 1e9, rate_ratio(row.seconds, times.front().seconds)});
  }
  return rows;
}

// Every cipher, in each of its directions, at every size.
std::vector<Combination> combine(const MeasureKernelCommand& command, unsigned threads) {
  std::vector<Combination> combinations;
  for (const std::string& cipher_name : command.ciphers) {
    const CipherName& cipher = find_cipher_name(cipher_name);
    for (const std::string& direction_name : command.directions) {
      const NamedDirection& direction = find_named("direction", directions, direction_name);
      if (!cipher.is_gcm() && direction.direction == BenchDirection::verify) {
        throw Error(ErrorCode::usage,
                    fmt::format("direction: {} has no tag to verify", cipher.name));
      }
      if (command.share && (cipher.is_gcm() || is_chained(cipher, direction.direction))) {
        throw Error(ErrorCode::usage,
                    fmt::format("--share: threads cannot share a message of {} {}", cipher.name,
                                direction.name));
      }
      const auto kernels = able_kernels(cipher, direction, command.kernels);
      for (const std::uint64_t message_bytes : command.message_bytes) {
        check_size(cipher, message_bytes, command.unit_bytes);
        combinations.push_back(
            {cipher, direction, kernels, message_bytes, command.share, command.unit_bytes});
        check_memory(combinations.back(), threads);
      }
    }
  }
  return combinations;
}

// Null without --device cuda.
std::unique_ptr<Device> open_device(const MeasureKernelCommand& command, const NamedClock& clock) {
  if (command.device != "cuda") {
    return nullptr;
  }
  if (clock.clock != BenchClock::wall) {
    throw Error(ErrorCode::usage, "--device: only the wall clock measures a device");
  }
  OpenedDevice opened = open_cuda_device("", Notes::some);
  if (opened.device == nullptr) {
    throw Error(ErrorCode::failure, "device: cuda is not available: " + opened.why);
  }
  return std::move(opened.device);
}

// A kernel would compute what the device declines, and the figure would be that kernel's.
void check_device(const Device& device, const Combination& combination) {
  if (!device_can_do(combination.cipher, combination.direction.direction)) {
    throw Error(ErrorCode::usage,
                fmt::format("device: {} cannot {} a message of {} in parts", device.name(),
                            combination.direction.name, combination.cipher.name));
  }
  if (combination.message_bytes < block_bytes || combination.message_bytes > device.piece_bytes()) {
    throw Error(ErrorCode::usage, fmt::format("--size: {} takes a block to {} at a time",
                                              device.name(), exact_bytes(device.piece_bytes())));
  }
}

int run(const MeasureKernelCommand& command) {
  const NamedClock& clock = find_named("clock", clocks, command.clock);
  if (command.share && clock.clock != BenchClock::wall) {
    throw Error(ErrorCode::usage, "--share: only the wall clock measures threads together");
  }
  const auto executor = make_thread_pool(command.threads);
  executor->start();
  const std::vector<Combination> combinations = combine(command, executor->threads());
  const std::unique_ptr<Device> device = open_device(command, clock);
  for (const Combination& combination : combinations) {
    if (device != nullptr) {
      check_device(*device, combination);
    }
  }
  ordered_json results = ordered_json::array();
  if (!command.json) {
    print_result(machine_line());
  }
  for (const Combination& combination : combinations) {
    const std::vector<Row> rows =
        measure(combination, *executor, command.seconds, clock, device.get());
    if (!command.json) {
      print_result(to_text(rows));
    }
    for (const Row& row : rows) {
      results.push_back(to_json(row));
    }
  }
  if (command.json) {
    print_json({{"command", "bench kernel"},
                {"machine", describe_machine()},
                {"clock", clock.name},
                {"results", results}});
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MeasureKernelCommand>();
  app.add_option("--cipher", command->ciphers,
                 "aes-256-gcm (the default), aes-128-ctr, des-ede3-cbc and so on; several with "
                 "commas (of 3DES far more than the 2^20 blocks that a key may encrypt elsewhere)")
      ->delimiter(',');
  app.add_option("--kernel", command->kernels,
                 "kernels to compare, ratios being to the first named; "
                 "the default is all that run here")
      ->delimiter(',');
  app.add_option("--device", command->device,
                 "cpu (the default), or cuda: the GPU as well, copies there and back included")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--direction", command->directions, "encrypt (the default), decrypt, verify")
      ->delimiter(',');
  takes_bytes(
      app.add_option(
             "--size", command->message_bytes,
             "bytes of a message, 16KiB or 1MB (the default is 16KiB); buffers of that size "
             "are used again and again, so small ones stay in the caches")
          ->delimiter(','));
  takes_bytes(app.add_option("--unit", command->unit_bytes,
                             "bytes of a data unit of XTS (the default is the whole message)"));
  app.add_option("-T,--threads", command->threads,
                 "threads, each on messages of its own; 0 is all (the default is 1)")
      ->check(decimal())
      ->check(CLI::Range(0, 4096));
  app.add_flag("--share", command->share,
               "the threads work on each message together, in modes that allow it");
  app.add_option("--seconds", command->seconds,
                 "time for each cipher, direction and size (the default is 2)")
      ->check(CLI::Range(0.0, 3600.0))
      ->check([](const std::string& text) {  // "nan" is in every range
        return text.find_first_of("nN") == std::string::npos ? "" : text + " is not a time";
      });
  app.add_option("--clock", command->clock,
                 "wall (the default), or cpu: processor time, for ratios on a busy machine");
  app.add_flag("--json", command->json, "print JSON (bench/schema/bench-kernel.schema.json)");
  return [command] { return run(*command); };
}

}  // namespace

const Command bench_command_kernel = {"kernel", "compare kernels on messages in memory", declare};

}  // namespace paes::cli
