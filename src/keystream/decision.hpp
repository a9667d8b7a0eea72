// SPDX-License-Identifier: Apache-2.0
// Whether precomputing pays for one context, judging by the costs of its key (costs.hpp) and by the
// fraction of its requests that found keystream in time. If it does not pay, the context stops
// asking for keystream, and tries again some thousand requests later.
//
// Clients call these functions under their context's mutex, unless a comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>

#include "keystream/costs.hpp"

namespace paes::keystream {

class Decision {
 public:
  // `is_always`: precomputing pays, whatever it costs (KeystreamOptions::always_ahead).
  Decision(Costs& costs, bool has_window, bool has_workers, bool is_always) noexcept
      : costs_(costs),
        has_workers_(has_workers),
        is_always_(is_always),
        is_trying_(has_window),
        expected_(has_workers ? Way::other : Way::own) {}

  // Whether to time this request. Timing takes a fifth of an XOR's time. Any thread may call it.
  [[nodiscard]] bool is_timed() const noexcept {
    return uses_.load(std::memory_order_relaxed) % timed_uses == 0 ||
           is_trying_.load(std::memory_order_relaxed);
  }
  // Counts a request. True: it should compute even if keystream is there, for comparison.
  [[nodiscard]] bool begin_use() noexcept {
    const std::uint32_t use = uses_.load(std::memory_order_relaxed);
    uses_.store(use + 1, std::memory_order_relaxed);
    const std::uint32_t every =
        is_trying_.load(std::memory_order_relaxed) ? compared_uses_of_try : compared_uses;
    return !is_always_ && use % every == every / 2;
  }
  // Whether keystream is worth fetching.
  [[nodiscard]] bool wants(Way fetch) const noexcept {
    return is_always_ || is_trying_.load(std::memory_order_relaxed) || costs_.pays(fetch);
  }
  void count_hit(Way fetch) noexcept {
    expected_ = fetch;
    ++hits_;
  }
  // Decides anew from time to time. Returns whether to precompute from now on.
  [[nodiscard]] bool end_use() noexcept {
    if (uses_.load(std::memory_order_relaxed) % look_uses == 0) {
      look();
    }
    return is_on_;
  }

 private:
  // How many requests lie between two decisions whether precomputing pays, and between a negative
  // decision and the next try.
  static constexpr std::uint32_t look_uses = 32;
  static constexpr std::uint32_t uses_before_try = 4096;
  // One request in this many is timed; during a try, every one.
  static constexpr std::uint32_t timed_uses = 16;
  // Comparison runs: one request in this many, and more of them during a try, computes although
  // keystream is there. So the cost of computing is measured with the caller's text and caches;
  // what bind() measures in hot caches is too optimistic. Measured case (docs/log/keystream.md,
  // "What each mechanism gains"): `vaes512` beside a worker, with a delay between requests.
  static constexpr std::uint32_t compared_uses = 256;
  static constexpr std::uint32_t compared_uses_of_try = 8;

  void look() noexcept {
    // Without workers, keystream is computed only while the client has nothing else to do. That
    // costs nothing, however little of the keystream is used.
    const double hit_rate = static_cast<double>(hits_) / look_uses;
    const bool pays =
        is_always_ || (has_workers_ ? costs_.pays(expected_, hit_rate) : costs_.pays(expected_));
    hits_ = 0;
    is_trying_.store(false, std::memory_order_relaxed);
    if (is_on_) {
      is_on_ = pays;
      uses_without_ = 0;
      return;
    }
    uses_without_ += look_uses;
    if (uses_without_ >= uses_before_try) {
      is_on_ = true;
      is_trying_.store(true, std::memory_order_relaxed);
    }
  }

  Costs& costs_;
  const bool has_workers_;
  const bool is_always_;
  std::atomic<std::uint32_t> uses_{0};
  std::uint32_t hits_ = 0;          // since the last look
  std::uint32_t uses_without_ = 0;  // since precomputing stopped
  bool is_on_ = true;
  std::atomic<bool> is_trying_;  // every request is timed, to learn what it costs
  Way expected_;                 // by which keystream will be fetched
};

}  // namespace paes::keystream
