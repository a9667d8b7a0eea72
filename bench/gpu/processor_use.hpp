// SPDX-License-Identifier: Apache-2.0
// How much of the machine's processors other programs use while something is measured, as
// laboratory/lab.py counts it.
#pragma once

#include <chrono>
#include <optional>

namespace paes::bench {

class ProcessorUse {
 public:
  ProcessorUse();

  // The share that other programs, or the host of a virtual machine, have had since then. The
  // system counts in hundredths of a second, so what took less than shortest() is waited for: what
  // disturbed it still runs. Nothing if the system does not say.
  [[nodiscard]] std::optional<double> of_others() const;

  [[nodiscard]] static constexpr std::chrono::seconds shortest() { return std::chrono::seconds(1); }

 private:
  struct Seconds {  // of processor time
    double every, ours;
  };
  [[nodiscard]] static std::optional<Seconds> so_far();

  std::chrono::steady_clock::time_point begun_;
  std::optional<Seconds> before_;
};

}  // namespace paes::bench
