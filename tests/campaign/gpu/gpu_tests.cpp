// SPDX-License-Identifier: Apache-2.0
// The tests of the CUDA device on a real device, against the processor's kernels. Needs neither
// libcrypto nor GoogleTest nor a network; `./dev gpu` runs it.
//
//   gpu_tests [--reduced] [--device] [rows|device|long]...
//
// --device prints the device's name and architecture and does nothing else; --reduced is for
// compute-sanitizer. With PAES_EMULATED_DEVICE set, the device is emulated on the host.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <set>
#include <string>

#include "gpu/checks.hpp"
#include "tested_device_kernels.hpp"

namespace paes::test {
namespace {

struct Part {
  const char* name;
  void (*run)(Checks&, Effort);
};

constexpr Part parts[] = {
    {"rows", test_rows},
    {"device", test_device},
    {"long", test_long_messages},
};

bool is_part(const std::string& name) {
  for (const Part& part : parts) {
    if (name == part.name) {
      return true;
    }
  }
  return false;
}

int run(const std::set<std::string>& wanted, Effort effort) {
  const cuda::DeviceProperties& device = runtime_under_test().devices()[0];
  std::printf("device: %s, %s\n", device.name.c_str(), device.architecture.c_str());
  std::size_t failed = 0;
  for (const Part& part : parts) {
    if (!wanted.empty() && !wanted.contains(part.name)) {
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    Checks checks;
    part.run(checks, effort);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%s: %zu comparisons, %zu failed, %.1f s\n", part.name, checks.made(),
                checks.failed(), taken.count());
    std::fflush(stdout);
    failed += checks.made() == 0 ? 1 : checks.failed();
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paes::test

int main(int argc, char** argv) {
  using namespace paes;
  std::set<std::string> wanted;
  auto effort = test::Effort::full;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--reduced") {
      effort = test::Effort::reduced;
    } else if (argument == "--device") {
      const cuda::DeviceProperties& device = test::runtime_under_test().devices()[0];
      std::printf("%s\n%s\n", device.name.c_str(), device.architecture.c_str());
      return 0;
    } else if (test::is_part(argument)) {
      wanted.insert(argument);
    } else {
      std::fprintf(stderr, "usage: gpu_tests [--reduced] [--device] [rows|device|long]...\n");
      return 2;
    }
  }
  try {
    return test::run(wanted, effort);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_tests: %s\n", error.what());
    return 1;
  }
}
