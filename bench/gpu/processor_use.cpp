// SPDX-License-Identifier: Apache-2.0
#include "gpu/processor_use.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace paes::bench {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProcessorUse::ProcessorUse() : begun_(std::chrono::steady_clock::now()), before_(so_far()) {}

std::optional<double> ProcessorUse::of_others() const {
  std::this_thread::sleep_until(begun_ + shortest());
  const std::optional<Seconds> after = so_far();
  if (!before_ || !after) {
    return std::nullopt;
  }
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  const double others = (after->every - before_->every) - (after->ours - before_->ours);
  return std::clamp(others / (wall * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN))), 0.0, 1.0);
}

std::optional<ProcessorUse::Seconds> ProcessorUse::so_far() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0,
         stolen = 0;
  file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen;
  rusage own = {};
  if (!file || getrusage(RUSAGE_SELF, &own) != 0) {
    return std::nullopt;
  }
  return Seconds{(user + nice + system + interrupts + soft + stolen) /
                     static_cast<double>(sysconf(_SC_CLK_TCK)),
                 seconds_of(own.ru_utime) + seconds_of(own.ru_stime)};
}

}  // namespace paes::bench
