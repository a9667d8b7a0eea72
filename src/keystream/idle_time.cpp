// SPDX-License-Identifier: Apache-2.0
#include "keystream/idle_time.hpp"

#include <cmath>

namespace paes::keystream {

namespace {

// An estimate may be wrong by a tenth.
constexpr double reserve = 1.1;
// Finding a chunk and its entry takes some ten nanoseconds, so a part takes at least this long.
constexpr double least_share_ns = 1000;

}  // namespace

Share IdleTime::share_for(const Candidate& candidate, double left_ns) const noexcept {
  const double chunk_ns = reserve * candidate.fill_ns();
  if (left_ns >= chunk_ns) {
    return {};
  }
  if (left_ns < reserve * least_share_ns) {
    return {.bytes = 0};
  }
  const auto chunk_bytes = static_cast<double>(candidate.window().chunk_bytes());
  const auto bytes = static_cast<std::size_t>(left_ns / chunk_ns * chunk_bytes);
  const std::size_t pass = candidate.pass_bytes();
  // The client makes its next request when this call's time is over. If the next chunk is begun
  // now, that request finds only a part of it. If a call completes more than half of a chunk, it is
  // better to begin a later chunk, which will be whole in time: most requests then find all of
  // their keystream, and a few find none. If a call completes less than half, each request gets a
  // part.
  const double calls = chunk_ns > 2 * whole_ns_ ? 0 : (chunk_ns - left_ns) / whole_ns_;
  return {.bytes = bytes / pass * pass, .first_step = static_cast<std::int64_t>(std::ceil(calls))};
}

bool IdleTime::fill(Candidate& candidate) const noexcept {
  Cost& cost = candidate.costs().in_idle;
  const double all = left_ns();
  for (double left = all;;) {
    const Share share = share_for(candidate, left);
    if (share.bytes == 0) {
      if (left == all && left > 0 && candidate.fill_ns() > candidate.direct_ns()) {
        // Otherwise, a candidate that once took too long would never be tried again.
        cost.add(candidate.direct_ns());
      }
      return false;
    }
    const std::size_t bytes = candidate.fill_again(share);
    if (bytes == 0) {
      return true;
    }
    // Measured here, because requests do not tell: most of them may find keystream.
    const double before = left;
    left = left_ns();
    cost.add((before - left) * static_cast<double>(candidate.window().chunk_bytes()) /
             static_cast<double>(bytes));
  }
}

}  // namespace paes::keystream
