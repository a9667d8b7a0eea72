// SPDX-License-Identifier: Apache-2.0
// The time of a call of idle(), and what fits into it. Nothing is begun that would end too late. If
// there is no time for a whole chunk, a part of one is computed, in whole passes of the kernel, and
// the next call, a worker or the client completes it.
//
// Measured cases (docs/log/keystream.md, "What each mechanism gains"): 3DES and AES-GCM with the
// 64-bit `bitslice`, which takes longer for a chunk than the client waits between requests.
#pragma once

#include <chrono>

#include "keystream/candidate.hpp"

namespace paes::keystream {

class IdleTime {
 public:
  using Clock = std::chrono::steady_clock;

  explicit IdleTime(Clock::time_point deadline) noexcept
      : deadline_(deadline), whole_ns_(left_ns()) {}

  [[nodiscard]] double left_ns() const noexcept {
    return std::chrono::duration<double, std::nano>(deadline_ - Clock::now()).count();
  }
  // How much of the candidate's next chunk may be computed in this time; possibly nothing.
  [[nodiscard]] Share share_for(const Candidate& candidate, double left_ns) const noexcept;
  // Fills the window where it has slots. False if the time was too short for everything.
  [[nodiscard]] bool fill(Candidate& candidate) const noexcept;

 private:
  const Clock::time_point deadline_;
  const double whole_ns_;
};

}  // namespace paes::keystream
