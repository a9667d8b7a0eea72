// SPDX-License-Identifier: Apache-2.0
// `paes-bench ahead`: who computes keystream before the data of a request is there, in three ways
// that take turns. Clients schedule a request, sleep as if a disk brought its data, and encrypt:
//   direct   nobody: the request computes all
//   threads  the engine's own threads, of ordinary priority; a context has one chunk, as long as a
//            request, and each request is scheduled
//   idle     the engine with its default settings: clients call idle() before they sleep, threads
//            run only when nothing else does, and a call schedules a window of chunks
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
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
#include "paes/error.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t request_bytes = 4096;

struct MeasureAheadCommand {
  std::string cipher = "aes-128-ctr";
  std::vector<std::string> kernels = {"auto"};
  std::vector<unsigned> clients = {1, 2, 4, 8};
  std::vector<unsigned> workers = {1};
  std::vector<unsigned> delays_us = {20};
  std::uint64_t bytes = std::uint64_t{64} << 20;  // per run, by all clients together
  unsigned rounds = 3;
  bool json = false;
};

// A way and what its rounds said.
struct Way {
  const char* name;
  ClientTask task;
  std::vector<ClientRun> runs = {};
};

ClientTask direct(ClientTask task) {
  task.window_chunks = 0;
  return task;
}

ClientTask by_threads(ClientTask task) {
  task.window_chunks = 1;
  task.calls_idle = false;
  task.worker_priority = WorkerPriority::ordinary;
  task.always_ahead = true;
  return task;
}

ClientTask by_clients_in_idle(ClientTask task) {
  task.requests_per_schedule = task.window_chunks = ContextOptions{}.window_chunks;
  return task;
}

template <typename Value>
std::vector<double> values_of(const Way& way, const Value& value) {
  std::vector<double> values;
  values.reserve(way.runs.size());
  for (const ClientRun& run : way.runs) {
    values.push_back(value(run));
  }
  return values;
}

template <typename Value>
double median_of(const Way& way, const Value& value) {
  return median(values_of(way, value));
}

double bytes_of(const ClientTask& task) {
  return static_cast<double>(task.requests) * request_bytes * task.clients;
}

double gb_per_s(const Way& way) {
  return bytes_of(way.task) / median_of(way, [](const ClientRun& run) { return run.seconds; }) /
         1e9;
}

// The sum of all rounds.
KeystreamUse use_of(const Way& way) {
  KeystreamUse sum;
  for (const ClientRun& run : way.runs) {
    add(sum, run.use);
  }
  return sum;
}

// The ways of a row, in turns; the second one of a round finds warmer caches, so they change
// places.
std::vector<Way> measure(const ClientTask& task, unsigned rounds) {
  std::vector<Way> ways = {
      {"direct", direct(task)}, {"threads", by_threads(task)}, {"idle", by_clients_in_idle(task)}};
  // By chance, so that runs of a single round favour no way.
  const std::size_t begins_with = std::random_device{}() % ways.size();
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < ways.size(); ++turn) {
      stop_if_interrupted();
      Way& way = ways[(begins_with + round + turn) % ways.size()];
      way.runs.push_back(run_clients(way.task));
    }
  }
  return ways;
}

template <typename OneLatency>
ordered_json latency_to_json(const Way& way, const OneLatency& latency) {
  return {{"p50_ns", median_of(way, [&](const ClientRun& run) { return latency(run).p50_ns; })},
          {"p99_ns", median_of(way, [&](const ClientRun& run) { return latency(run).p99_ns; })}};
}

ordered_json beginnings_to_json(const Way& way) {
  ordered_json all = ordered_json::array();
  for (std::size_t i = 0; i < way.runs.front().beginnings.size(); ++i) {
    all.push_back(
        {{"requests", way.runs.front().beginnings[i].requests},
         {"schedule",
          latency_to_json(way, [i](const ClientRun& run) { return run.beginnings[i].schedule; })},
         {"encrypt",
          latency_to_json(way, [i](const ClientRun& run) { return run.beginnings[i].encrypt; })}});
  }
  return all;
}

Ratio throughput_ratio(const Way& way, const Way& first) {
  const auto seconds = [](const ClientRun& run) { return run.seconds; };
  return rate_ratio(values_of(way, seconds), values_of(first, seconds));
}

// How many times shorter a call is than the first way's.
Ratio p50_ratio(const Way& way, const Way& first) {
  const auto p50 = [](const ClientRun& run) { return run.encrypt.p50_ns; };
  return rate_ratio(values_of(way, p50), values_of(first, p50));
}

ordered_json to_json(const Way& way, const Way& first) {
  const KeystreamUse use = use_of(way);
  return {{"way", way.name},
          {"window_chunks", way.task.window_chunks},
          {"gb_per_s", gb_per_s(way)},
          {"cpu_seconds", median_of(way, [](const ClientRun& run) { return run.cpu_seconds; })},
          {"delay", latency_to_json(way, [](const ClientRun& run) { return run.delay; })},
          {"schedule", latency_to_json(way, [](const ClientRun& run) { return run.schedule; })},
          {"encrypt", latency_to_json(way, [](const ClientRun& run) { return run.encrypt; })},
          {"own", use.own},
          {"other", use.other},
          {"direct", use.direct},
          {"late", use.late},
          {"bypassed", use.bypassed},
          {"throughput_ratio", to_json(throughput_ratio(way, first))},
          {"p50_ratio", to_json(p50_ratio(way, first))},
          {"beginnings", beginnings_to_json(way)}};
}

ordered_json to_json(const std::vector<Way>& ways, unsigned rounds) {
  const ClientTask& task = ways.front().task;
  ordered_json all = ordered_json::array();
  for (const Way& way : ways) {
    all.push_back(to_json(way, ways.front()));
  }
  return {{"cipher", task.cipher},
          {"kernel", task.kernel},
          {"clients", task.clients},
          {"workers", task.workers},
          {"oversubscribed", task.clients + task.workers > usable_cores()},
          {"delay_us", task.delay_us},
          {"request_bytes", task.request_bytes},
          {"requests", task.requests * task.clients},
          {"rounds", rounds},
          {"ways", all}};
}

double percent(std::uint64_t part, const KeystreamUse& use) {
  return 100.0 * static_cast<double>(part) /
         static_cast<double>(use.own + use.other + use.direct + use.bypassed);
}

std::string to_text(const std::vector<Way>& ways) {
  const ClientTask& task = ways.front().task;
  std::string text =
      fmt::format("{} clients {} workers {} delay {} us{}\n", task.kernel, task.clients,
                  task.workers, task.delay_us,
                  task.clients + task.workers > usable_cores() ? "  more threads than cores" : "");
  for (const Way& way : ways) {
    const KeystreamUse use = use_of(way);
    text += fmt::format(
        "  {:<8} {:6.3f} GB/s  schedule p50 {:5.0f} ns  encrypt p50 {:6.0f} ns, p99 {:7.0f} ns  "
        "made by threads {:.0f} %, by the client ahead {:.0f} %, at the call {:.0f} %\n",
        way.name, gb_per_s(way),
        median_of(way, [](const ClientRun& run) { return run.schedule.p50_ns; }),
        median_of(way, [](const ClientRun& run) { return run.encrypt.p50_ns; }),
        median_of(way, [](const ClientRun& run) { return run.encrypt.p99_ns; }),
        percent(use.other, use), percent(use.own, use), percent(use.direct + use.bypassed, use));
  }
  return text;
}

// The kernels' names, and a refusal of impossible ones before anything runs.
std::vector<std::string> kernel_names(const MeasureAheadCommand& command) {
  const CipherName& cipher = find_cipher_name(command.cipher);
  if (cipher.is_gcm() || *cipher.mode != Mode::ctr) {
    throw Error(ErrorCode::usage, fmt::format("--cipher: {} is not counter mode", cipher.name));
  }
  std::vector<std::string> names;
  names.reserve(command.kernels.size());
  for (const std::string& name : command.kernels) {
    names.emplace_back(find_kernel(cipher, name).name);
  }
  return names;
}

int run(const MeasureAheadCommand& command) {
  ordered_json results = ordered_json::array();
  const std::vector<std::string> kernels = kernel_names(command);
  if (!command.json) {
    print_result(machine_line());
  }
  for (const std::string& kernel : kernels) {
    for (const unsigned workers : command.workers) {
      for (const unsigned delay_us : command.delays_us) {
        for (const unsigned clients : command.clients) {
          const ClientTask task = {
              .cipher = command.cipher,
              .kernel = kernel,
              .clients = clients,
              .workers = workers,
              .window_chunks = 1,
              .delay_us = delay_us,
              .request_bytes = request_bytes,
              .requests = std::max<std::uint64_t>(command.bytes / request_bytes / clients, 1),
              .delay = Delay::asleep,
              .requests_per_schedule = 1};
          const std::vector<Way> ways = measure(task, command.rounds);
          if (!command.json) {
            print_result(to_text(ways));
          }
          results.push_back(to_json(ways, command.rounds));
        }
      }
    }
  }
  if (command.json) {
    print_json({{"command", "bench ahead"}, {"machine", describe_machine()}, {"results", results}});
  }
  return exit_done;
}

Action declare(CLI::App& app) {
  const auto command = std::make_shared<MeasureAheadCommand>();
  app.add_option("--cipher", command->cipher,
                 "aes-128-ctr (the default) or another in counter mode");
  app.add_option("--kernel", command->kernels, "kernels; several with commas")->delimiter(',');
  take_numbers(app, "--clients", command->clients, 1, 256,
               "threads that encrypt (the default is 1,2,4,8)");
  take_numbers(app, "--workers", command->workers, 1, 256,
               "threads of the engine (the default is 1)");
  take_numbers(app, "--delay-us", command->delays_us, 0, 1000000,
               "microseconds that a client sleeps before a request (the default is 20)");
  takes_bytes(
      app.add_option("--bytes", command->bytes,
                     "bytes that the clients encrypt together in a round (the default is 64MiB)"));
  app.add_option("--runs", command->rounds, "rounds, each in all ways (the default is 3)")
      ->check(decimal())
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", command->json, "print JSON (bench/schema/bench-ahead.schema.json)");
  return [command] { return run(*command); };
}

}  // namespace

const Command bench_command_ahead = {
    "ahead", "who computes keystream before the data is there: threads, clients, nobody", declare};

}  // namespace paes::cli
