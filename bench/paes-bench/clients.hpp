// SPDX-License-Identifier: Apache-2.0
// The clients of `paes-bench speculate` and `paes-bench ahead`: threads that encrypt one request
// after the other and time each call. A delay between requests stands in for a fast disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "paes/keystream.hpp"

namespace paes::cli {

// What a client does with the processor in a delay.
enum class Delay : unsigned {
  busy,    // keeps it: calls idle(), and waits for the rest. The delay follows a request.
  asleep,  // leaves it to others, like a thread that a disk will wake. The delay lies between the
           // call that schedules and the request.
};

struct ClientTask {
  std::string cipher;
  std::string kernel;
  unsigned clients;
  unsigned workers;
  unsigned window_chunks;  // 0: without speculation
  unsigned delay_us;
  std::size_t request_bytes;
  std::uint64_t requests;  // per client
  std::shared_ptr<Device> device = nullptr;
  Delay delay = Delay::busy;
  bool calls_idle = true;  // in a delay
  unsigned requests_per_schedule = 16;
  WorkerPriority worker_priority = WorkerPriority::idle;
  bool always_ahead = false;
};

struct Latency {
  double p50_ns;
  double p99_ns;
};

// The calls up to the one that completes so many requests of all clients.
struct Beginning {
  std::uint64_t requests;
  Latency schedule;
  Latency encrypt;
};

struct ClientRun {
  double seconds;      // from the first request to the last client's end
  double cpu_seconds;  // of all threads, without the clients' waits for the end of a delay
  Latency schedule;    // of prefetch
  Latency encrypt;
  Latency delay;  // as long as it really was; zeros without one
  // The first has 1024 requests, the next four times as many, and so on; the last one has all. Each
  // client takes an equal part.
  std::vector<Beginning> beginnings;
  KeystreamUse use;
  std::uint64_t device_chunks;  // keystream from the device
};

void add(KeystreamUse& sum, const KeystreamUse& use);

// Each client has its own key and context, and encrypts in order. Throws Error(failure) if an
// output is wrong.
[[nodiscard]] ClientRun run_clients(const ClientTask& task);

}  // namespace paes::cli
