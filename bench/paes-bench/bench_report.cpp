// SPDX-License-Identifier: Apache-2.0
#include "paes-bench/bench_report.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <openssl/crypto.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernel/features.hpp"
#include "paes-bench/build.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;

std::string distribution() {
  std::ifstream file("/etc/os-release");
  const std::string key = "PRETTY_NAME=";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) {
      std::string name = line.substr(key.size());
      std::erase(name, '"');
      return name;
    }
  }
  return {};
}

std::string operating_system() {
  struct utsname names = {};
  (void)uname(&names);
  const std::string kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  const std::string name = distribution();
  return name.empty() ? kernel : name + ", " + kernel;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

ordered_json features() {
  ordered_json names = ordered_json::array();
  for (const auto& [feature, name] : named_features()) {
    if (machine_features().contain(feature)) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace

unsigned usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

ordered_json describe_machine() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  ordered_json machine = {
      {"cpu", machine_name()},    {"cores", usable_cores()},
      {"features", features()},   {"memory_bytes", memory},
      {"os", operating_system()}, {"compiler", compiler()},
      {"flags", build_flags},     {"libcrypto", OpenSSL_version(OPENSSL_VERSION)},
      {"paes", PAES_VERSION}};
  if (*build_commit != '\0') {
    machine["commit"] = build_commit;
  }
  machine["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  return machine;
}

std::string machine_line() {
  return fmt::format("{}, {} cores; {}\n", machine_name(), usable_cores(), operating_system());
}

ordered_json to_json(const Ratio& ratio) {
  return {{"median", ratio.median}, {"min", ratio.min}, {"max", ratio.max}};
}

std::string bar(double value, double full, std::size_t width) {
  const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto steps = static_cast<std::size_t>(
      std::lround(std::clamp(value / full, 0.0, 1.0) * static_cast<double>(width * 8)));
  std::string drawn;
  for (std::size_t i = 0; i < steps / 8; ++i) {
    drawn += "█";
  }
  return drawn + eighths[steps % 8];
}

std::string exact_bytes(std::uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, units[unit]);
}

}  // namespace paes::cli
