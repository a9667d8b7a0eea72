// `paes bench speculate`: how long clients of the keystream engine wait for their requests, beside
// the same requests computed directly, in turns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paes::cli {

struct SpeculateBenchRequest {
  std::string cipher = "aes-256-ctr";
  std::vector<std::string> kernels = {"auto"};
  std::vector<unsigned> clients = {1};
  std::vector<unsigned> workers = {0, 1};
  std::vector<unsigned> windows = {16};
  std::vector<unsigned> delays_us = {0, 20};
  std::uint64_t request_bytes = 4096;
  std::uint64_t bytes = std::uint64_t{16} << 20;  // of each run, by all clients together
  unsigned rounds = 5;
  std::string engine = "none";
  bool json = false;
};

// Prints its results. Throws Error: usage for what cannot be, failure when an output is wrong.
void bench_speculation(const SpeculateBenchRequest& request);

}  // namespace paes::cli
