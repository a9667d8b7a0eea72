#include "paes/bench_kernel.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernel/registry.hpp"
#include "mode/gcm.hpp"
#include "paes/bench_interrupt.hpp"
#include "paes/bench_kernel_turns.hpp"
#include "paes/bench_report.hpp"
#include "paes/error.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

struct NamedCipher {
  const char* name;
  std::size_t key_bytes;
};
constexpr NamedCipher ciphers[] = {{"aes-128-gcm", 16}, {"aes-192-gcm", 24}, {"aes-256-gcm", 32}};

struct NamedDirection {
  const char* name;
  Direction direction;
};
constexpr NamedDirection directions[] = {{"encrypt", Direction::encrypt},
                                         {"decrypt", Direction::decrypt},
                                         {"verify", Direction::verify}};

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

std::vector<const Kernel*> find_kernels(const std::vector<std::string>& names) {
  std::vector<const Kernel*> found;
  if (!names.empty()) {
    for (const std::string& name : names) {
      found.push_back(&find_kernel(Cipher::aes, name, true));
    }
    return found;
  }
  for (const Kernel* kernel : all_kernels()) {
    if (unavailable_reason(*kernel).empty()) {
      found.push_back(kernel);
    }
  }
  // Everybody knows libcrypto, so the ratios are to it.
  std::stable_partition(found.begin(), found.end(), [](const Kernel* kernel) {
    return std::string_view(kernel->name) == "openssl";
  });
  return found;
}

// Named kernels must have the operation; of all kernels, those that lack it are left out.
std::vector<const Kernel*> with_operation(const std::vector<const Kernel*>& kernels,
                                          const NamedDirection& direction, bool named) {
  std::vector<const Kernel*> able;
  for (const Kernel* kernel : kernels) {
    if (kernel->run(operation_of(direction.direction)) != nullptr) {
      able.push_back(kernel);
    } else if (named) {
      throw Error(ErrorCode::usage,
                  fmt::format("kernel: '{}' cannot {}", kernel->name, direction.name));
    }
  }
  return able;
}

void check_size(std::uint64_t message_bytes, unsigned threads) {
  if (message_bytes == 0 || message_bytes > gcm::max_plaintext_bytes) {
    throw Error(ErrorCode::usage,
                fmt::format("--size: a message has 1 to {} bytes", gcm::max_plaintext_bytes));
  }
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (3.0 * static_cast<double>(message_bytes) * threads > memory / 2) {
    throw Error(ErrorCode::usage,
                fmt::format("--size: {} on {} threads would take more than half of the memory",
                            exact_bytes(message_bytes), threads));
  }
}

struct Row {
  const NamedCipher& cipher;
  const NamedDirection& direction;
  std::uint64_t message_bytes;
  unsigned threads;
  const Kernel* kernel;
  std::size_t rounds;
  double seconds_median;
  double gb_per_s;
  Ratio ratio;
};

ordered_json to_json(const Row& row) {
  return {{"cipher", row.cipher.name},  {"direction", row.direction.name},
          {"kernel", row.kernel->name}, {"engine", "cpu"},
          {"bytes", row.message_bytes}, {"threads", row.threads},
          {"rounds", row.rounds},       {"seconds_median", row.seconds_median},
          {"gb_per_s", row.gb_per_s},   {"ratio_to_first", to_json(row.ratio)}};
}

std::string to_text(const std::vector<Row>& rows) {
  const Row& first = rows.front();
  double fastest = 0;
  for (const Row& row : rows) {
    fastest = std::max(fastest, row.gb_per_s);
  }
  std::string text = fmt::format(
      "\n{} {}, messages of {}, {} thread{}, {} rounds\n", first.cipher.name, first.direction.name,
      exact_bytes(first.message_bytes), first.threads, first.threads == 1 ? "" : "s", first.rounds);
  for (const Row& row : rows) {
    text += fmt::format("  {:<10} {:>8.3f} GB/s  {:>6.2f} x  [{:.2f} .. {:.2f}]  {}\n",
                        row.kernel->name, row.gb_per_s, row.ratio.median, row.ratio.min,
                        row.ratio.max, bar(row.gb_per_s, fastest, 30));
  }
  return text;
}

struct Combination {
  const NamedCipher& cipher;
  const NamedDirection& direction;
  std::vector<const Kernel*> kernels;
};

std::vector<Row> measure(const Combination& combination, std::uint64_t message_bytes,
                         const Executor& executor, double seconds, const NamedClock& clock) {
  const std::vector<KernelTimes> times =
      take_turns(combination.kernels,
                 {combination.cipher.key_bytes, combination.direction.direction, message_bytes,
                  seconds, clock.clock, stop_if_interrupted},
                 executor);
  std::vector<Row> rows;
  for (const KernelTimes& row : times) {
    const double typical = median(row.seconds);
    const double bytes = static_cast<double>(message_bytes) * executor.threads();
    rows.push_back({combination.cipher, combination.direction, message_bytes, executor.threads(),
                    row.kernel, row.seconds.size(), typical, bytes / typical / 1e9,
                    rate_ratio(row.seconds, times.front().seconds)});
  }
  return rows;
}

}  // namespace

void bench_kernels(const KernelBenchRequest& request) {
  const std::vector<const Kernel*> kernels = find_kernels(request.kernels);
  const NamedClock& clock = find_named("clock", clocks, request.clock);
  const auto executor = make_executor(
      request.threads == 1 ? Schedule::serial : Schedule::omp_static, request.threads);
  executor->start();
  for (const std::uint64_t message_bytes : request.message_bytes) {
    check_size(message_bytes, executor->threads());
  }
  std::vector<Combination> combinations;
  for (const std::string& cipher : request.ciphers) {
    for (const std::string& direction_name : request.directions) {
      const NamedDirection& direction = find_named("direction", directions, direction_name);
      combinations.push_back({find_named("cipher", ciphers, cipher), direction,
                              with_operation(kernels, direction, !request.kernels.empty())});
    }
  }
  ordered_json results = ordered_json::array();
  if (!request.json) {
    print_result(machine_line());
  }
  for (const Combination& combination : combinations) {
    for (const std::uint64_t message_bytes : request.message_bytes) {
      const std::vector<Row> rows =
          measure(combination, message_bytes, *executor, request.seconds, clock);
      if (!request.json) {
        print_result(to_text(rows));
      }
      for (const Row& row : rows) {
        results.push_back(to_json(row));
      }
    }
  }
  if (request.json) {
    print_json({{"command", "bench kernel"},
                {"machine", describe_machine()},
                {"clock", clock.name},
                {"results", results}});
  }
}

}  // namespace paes::cli
