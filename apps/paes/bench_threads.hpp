// `paes bench threads`: one message in memory under every number of threads, schedule and grain
// that is asked for, in turns; and parallelism inside a block beside it, which others have tried.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paes::cli {

struct ThreadsBenchRequest {
  std::vector<std::string> ciphers = {"aes-128-ecb"};
  std::vector<std::string> kernels = {"auto"};
  std::vector<std::string> directions = {"encrypt"};
  std::vector<std::uint64_t> message_bytes = {std::uint64_t{16} << 20};
  std::vector<unsigned> threads = {1, 0};
  std::vector<std::string> schedules = {"static"};
  std::vector<std::uint64_t> grains = {std::uint64_t{256} << 10};
  std::vector<std::string> splits = {"pieces"};
  unsigned rounds = 5;
  bool json = false;
};

// Prints its results. Throws Error: usage for what cannot be, failure when an output is wrong.
void bench_threads(const ThreadsBenchRequest& request);

}  // namespace paes::cli
