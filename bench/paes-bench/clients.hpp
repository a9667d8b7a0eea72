// SPDX-License-Identifier: Apache-2.0
// The clients of `paes-bench speculate`: threads that encrypt one request after the other and time
// each call. A delay between requests stands in for a fast disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "paes/keystream.hpp"

namespace paes::cli {

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
};

struct Latency {
  double p50_ns;
  double p99_ns;
};

struct ClientRun {
  double seconds;      // from the first request to the last client's end
  double cpu_seconds;  // of all threads, without the clients' waits for the end of a delay
  Latency schedule;    // of prefetch
  Latency encrypt;
  KeystreamUse use;
  std::uint64_t device_chunks;  // keystream from the device
};

// Each client has its own key and context, and encrypts in order. With a delay, it calls idle() and
// waits for the rest of the delay. Throws Error(failure) if an output is wrong.
[[nodiscard]] ClientRun run_clients(const ClientTask& task);

}  // namespace paes::cli
