// `paes bench kernel`: how fast the kernels turn messages that stay in the processor's caches, as
// `openssl speed` measures it, side by side in one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paes::cli {

struct KernelBenchRequest {
  std::vector<std::string> ciphers = {"aes-256-gcm"};
  std::vector<std::string> kernels;  // empty: all that run here, libcrypto's first
  std::vector<std::string> directions = {"encrypt"};
  std::vector<std::uint64_t> message_bytes = {16384};
  std::string engine = "cpu";  // cuda: the device as well, behind the kernels
  unsigned threads = 1;
  bool share = false;          // threads work on one message together
  std::string clock = "wall";  // or cpu
  double seconds = 2;          // for each combination of cipher, direction and size
  bool json = false;
};

// Prints its results. Throws Error: usage for names that do not exist, failure when a kernel's
// output is wrong.
void bench_kernels(const KernelBenchRequest& request);

}  // namespace paes::cli
