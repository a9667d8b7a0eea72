// SPDX-License-Identifier: Apache-2.0
// `paes-bench speculate`: how long clients of the keystream engine wait for their requests,
// compared in turns with computing the same requests directly.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/decimal.hpp"
#include "cli/report.hpp"
#include "kernel/registry.hpp"
#include "message/cipher_name.hpp"
#include "paes-bench/bench_commands.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/clients.hpp"
#include "paes-bench/interrupt.hpp"
#include "paes-bench/number_list.hpp"
#include "paes-bench/statistics.hpp"
#include "paes/device.hpp"
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

struct MeasureSpeculateCommand {
  std::string cipher = "aes-256-ctr";
  std::vector<std::string> kernels = {"auto"};
  std::vector<unsigned> clients = {1};
  std::vector<unsigned> workers = {0, 1};
  std::vector<unsigned> windows = {16};
  std::vector<unsigned> delays_us = {0, 20};
  std::uint64_t request_bytes = 4096;
  std::uint64_t bytes = std::uint64_t{16} << 20;  // per run, by all clients together
  unsigned rounds = 5;
  std::string device = "none";
  bool json = false;
};

// One of the two ways: medians of the rounds.
struct Figures {
  double gb_per_s;
  double cpu_seconds;
  Latency schedule;
  Latency encrypt;
};

struct Row {
  ClientTask task;
  bool is_oversubscribed;
  Figures direct;
  Figures speculative;
  KeystreamUse use;  // of all rounds
  std::uint64_t device_chunks;
  Ratio throughput;  // speculative over direct, per round
  Ratio p50;         // direct over speculative: how many times shorter
};

template <typename Value>
double median_of(const std::vector<ClientRun>& runs, const Value& value) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const ClientRun& run : runs) {
    values.push_back(value(run));
  }
  return median(std::move(values));
}

Figures figures_of(const ClientTask& task, const std::vector<ClientRun>& runs) {
  const double bytes =
      static_cast<double>(task.requests) * static_cast<double>(task.request_bytes) * task.clients;
  return {bytes / median_of(runs, [](const ClientRun& run) { return run.seconds; }) / 1e9,
          median_of(runs, [](const ClientRun& run) { return run.cpu_seconds; }),
          {median_of(runs, [](const ClientRun& run) { return run.schedule.p50_ns; }),
           median_of(runs, [](const ClientRun& run) { return run.schedule.p99_ns; })},
          {median_of(runs, [](const ClientRun& run) { return run.encrypt.p50_ns; }),
           median_of(runs, [](const ClientRun& run) { return run.encrypt.p99_ns; })}};
}

template <typename Value>
Ratio ratio_of(const std::vector<ClientRun>& above, const std::vector<ClientRun>& below,
               const Value& value) {
  std::vector<double> upper;
  std::vector<double> lower;
  for (std::size_t round = 0; round < above.size(); ++round) {
    upper.push_back(value(above[round]));
    lower.push_back(value(below[round]));
  }
  return rate_ratio(lower, upper);
}

Row measure(const ClientTask& task, unsigned rounds) {
  ClientTask direct_task = task;
  direct_task.window_chunks = 0;
  std::vector<ClientRun> direct;
  std::vector<ClientRun> speculative;
  Row row = {};
  for (unsigned round = 0; round < rounds; ++round) {
    stop_if_interrupted();
    // The ways change places in each round, because the second one finds warmer caches.
    if (round % 2 == 0) {
      direct.push_back(run_clients(direct_task));
    }
    speculative.push_back(run_clients(task));
    if (round % 2 != 0) {
      direct.push_back(run_clients(direct_task));
    }
    add(row.use, speculative.back().use);
    row.device_chunks += speculative.back().device_chunks;
  }
  row.task = task;
  row.is_oversubscribed = task.clients + task.workers > usable_cores();
  row.direct = figures_of(task, direct);
  row.speculative = figures_of(task, speculative);
  const auto seconds = [](const ClientRun& run) { return run.seconds; };
  const auto p50 = [](const ClientRun& run) { return run.encrypt.p50_ns; };
  row.throughput = ratio_of(direct, speculative, seconds);
  row.p50 = ratio_of(direct, speculative, p50);
  return row;
}

double hit_rate(const KeystreamUse& use) {
  const double hits = static_cast<double>(use.own + use.other);
  return hits / (hits + static_cast<double>(use.direct + use.bypassed));
}

ordered_json to_json(const Latency& latency) {
  return {{"p50_ns", latency.p50_ns}, {"p99_ns", latency.p99_ns}};
}

ordered_json to_json(const Figures& figures) {
  return {{"gb_per_s", figures.gb_per_s},
          {"cpu_seconds", figures.cpu_seconds},
          {"schedule", to_json(figures.schedule)},
          {"encrypt", to_json(figures.encrypt)}};
}

ordered_json to_json(const Row& row, unsigned rounds) {
  ordered_json speculative = to_json(row.speculative);
  speculative["hit_rate"] = hit_rate(row.use);
  speculative["own"] = row.use.own;
  speculative["other"] = row.use.other;
  speculative["direct"] = row.use.direct;
  speculative["late"] = row.use.late;
  speculative["bypassed"] = row.use.bypassed;
  speculative["device_chunks"] = row.device_chunks;
  return {{"cipher", row.task.cipher},
          {"kernel", row.task.kernel},
          {"clients", row.task.clients},
          {"workers", row.task.workers},
          {"oversubscribed", row.is_oversubscribed},
          {"delay_us", row.task.delay_us},
          {"window_chunks", row.task.window_chunks},
          {"request_bytes", row.task.request_bytes},
          {"requests", row.task.requests * row.task.clients},
          {"rounds", rounds},
          {"direct", to_json(row.direct)},
          {"speculative", speculative},
          {"throughput_ratio", to_json(row.throughput)},
          {"p50_ratio", to_json(row.p50)}};
}

std::string to_text(const Row& row) {
  return fmt::format(
      "{:<14} {:>2} clients {:>2} workers {:>4} us window {:>4}  encrypt p50 {:>7.0f} -> {:>6.0f} "
      "ns"
      " ({:#.3g} x)  p99 {:>7.0f} -> {:>6.0f}  {:.3f} -> {:.3f} GB/s  hits {:.0f} %"
      "  schedule p50 {:.0f} ns{}\n",
      row.task.kernel, row.task.clients, row.task.workers, row.task.delay_us,
      row.task.window_chunks, row.direct.encrypt.p50_ns, row.speculative.encrypt.p50_ns,
      row.p50.median, row.direct.encrypt.p99_ns, row.speculative.encrypt.p99_ns,
      row.direct.gb_per_s, row.speculative.gb_per_s, 100 * hit_rate(row.use),
      row.speculative.schedule.p50_ns, row.is_oversubscribed ? "  more threads than cores" : "");
}

// Turns the names that users type into names of kernels, and refuses impossible ones before
// anything runs.
std::vector<std::string> kernel_names(const MeasureSpeculateCommand& command) {
  const CipherName& cipher = find_cipher_name(command.cipher);
  if (!cipher.is_gcm() && *cipher.mode != Mode::ctr) {
    throw Error(ErrorCode::usage,
                fmt::format("--cipher: {} is neither counter mode nor GCM", cipher.name));
  }
  if (!std::has_single_bit(command.request_bytes) || command.request_bytes < 512 ||
      command.request_bytes > 65536) {
    throw Error(ErrorCode::usage, "--request: a power of two from 512 bytes to 64 KiB");
  }
  std::vector<std::string> names;
  names.reserve(command.kernels.size());
  for (const std::string& name : command.kernels) {
    names.emplace_back(find_kernel(cipher, name).name);
  }
  return names;
}

// Null without --device cuda.
std::shared_ptr<Device> open_device_for(const MeasureSpeculateCommand& command) {
  if (command.device != "cuda") {
    return nullptr;
  }
  std::string why;
  std::shared_ptr<Device> device = open_device(why);
  if (device == nullptr) {
    throw Error(ErrorCode::failure, "device: cuda is not available: " + why);
  }
  return device;
}

int run(const MeasureSpeculateCommand& command) {
  ordered_json results = ordered_json::array();
  const std::vector<std::string> kernels = kernel_names(command);
  const std::shared_ptr<Device> device = open_device_for(command);
  if (!command.json) {
    print_result(machine_line());
  }
  for (const std::string& kernel : kernels) {
    for (const unsigned clients : command.clients) {
      for (const unsigned workers : command.workers) {
        for (const unsigned delay_us : command.delays_us) {
          for (const unsigned window : command.windows) {
            const std::uint64_t requests =
                std::max<std::uint64_t>(command.bytes / command.request_bytes / clients, 1);
            const Row row = measure({command.cipher, kernel, clients, workers, window, delay_us,
                                     command.request_bytes, requests, device},
                                    command.rounds);
            if (!command.json) {
              print_result(to_text(row));
            }
            results.push_back(to_json(row, command.rounds));
          }
        }
      }
    }
  }
  if (command.json) {
    print_json(
        {{"command", "bench speculate"}, {"machine", describe_machine()}, {"results", results}});
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MeasureSpeculateCommand>();
  app.add_option("--cipher", command->cipher,
                 "aes-256-ctr (the default) or another in counter mode or GCM");
  app.add_option("--kernel", command->kernels, "kernels; several with commas")->delimiter(',');
  take_numbers(app, "--clients", command->clients, 1, 256,
               "threads that encrypt (the default is 1)");
  take_numbers(
      app, "--workers", command->workers, 0, 256,
      "threads of the engine (the default is 0,1); without any, clients compute in their delays");
  take_numbers(
      app, "--window", command->windows, 0, 65536,
      "requests computed ahead (the default is 16); with 0 direct computing runs against itself");
  take_numbers(app, "--delay-us", command->delays_us, 0, 1000000,
               "microseconds between a client's requests (the default is 0,20)");
  app.add_option(
         "--device", command->device,
         "cuda: workers have it compute windows of 256 requests and more (the default is none)")
      ->check(CLI::IsMember({"none", "cuda"}));
  takes_bytes(
      app.add_option("--request", command->request_bytes,
                     "bytes of a request, a power of two from 512 to 64KiB (the default is 4KiB)"));
  takes_bytes(app.add_option(
      "--bytes", command->bytes,
      "bytes that the clients encrypt together in a round (the default is 16MiB; delays "
      "make a round long)"));
  app.add_option("--runs", command->rounds, "rounds, each both ways (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", command->json, "print JSON (bench/schema/bench-speculate.schema.json)");
  return [command] { return run(*command); };
}

}  // namespace

const Command bench_command_speculate = {
    "speculate", "keystream computed before the data is there, against computing directly",
    declare};

}  // namespace paes::cli
