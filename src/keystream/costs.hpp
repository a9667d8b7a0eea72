// SPDX-License-Identifier: Apache-2.0
// What a request for one chunk costs, for each Way it can take. The whole call is timed while the
// engine works, including everything that precomputing adds to it. These costs decide between
// fetching keystream and computing it. If they are wrong for a while, that costs time and never
// correctness.
//
// Measured cases (docs/log/keystream.md, "What each mechanism gains"): the decision by costs for a
// client without any delay beside a worker, and the medians for a client with a delay. With plain
// averages, one interrupt among the samples made the engine give keystream up.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace paes::keystream {

// A running median of nanoseconds. One sample moves it by a sixteenth at most, even if an interrupt
// has made it a hundred times as long. It begins with the least of the first samples.
class Cost {
 public:
  void add(double sample_ns) noexcept {
    const double before = ns();
    const double step = before / 16;
    double after = before + std::clamp((sample_ns - before) / 2, -step, step);
    if (const unsigned samples = samples_.load(std::memory_order_relaxed);
        samples < first_samples) {
      samples_.store(samples + 1, std::memory_order_relaxed);
      after = samples == 0 ? sample_ns : std::min(before, sample_ns);
    }
    ns_.store(static_cast<float>(after), std::memory_order_relaxed);
  }
  [[nodiscard]] double ns() const noexcept {
    return static_cast<double>(ns_.load(std::memory_order_relaxed));
  }
  // The very first sample may include a page fault for each page that was touched.
  [[nodiscard]] bool is_known() const noexcept {
    return samples_.load(std::memory_order_relaxed) >= enough_samples;
  }

 private:
  static constexpr unsigned first_samples = 8;
  static constexpr unsigned enough_samples = 4;

  std::atomic<float> ns_{0};
  std::atomic<unsigned> samples_{0};
};

enum class Way : unsigned {
  direct,  // nobody computes ahead
  missed,  // somebody does, but keystream was not there or not wanted
  own,     // fetched from the cache of the thread that has computed it and uses it
  other,   // fetched from another core's cache
};

// The costs of one cipher, key length and kernel in an engine. They have cache lines of their own,
// which are read for each chunk and seldom written.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): it keeps the lines apart
class alignas(64) Costs {
 public:
  Cost on_device;  // of a chunk among many that a device makes

  [[nodiscard]] double ns(Way way) const noexcept { return of(way).ns(); }
  void add(Way way, double sample_ns) noexcept {
    of(way).add(sample_ns);
    // Where every request finds keystream, only this can show that computing directly has become
    // faster, for example because the processor's clock rose.
    if (way == Way::missed && ns(Way::missed) < ns(Way::direct)) {
      of(Way::direct).add(ns(Way::missed));
    }
  }

  // Whether ready keystream is worth fetching by one of the two ways. Yes until enough is measured.
  [[nodiscard]] bool pays(Way fetch) const noexcept { return fetch_ns(fetch) < missed_ns(); }
  // Whether precomputing pays if this fraction of the requests finds its keystream.
  [[nodiscard]] bool pays(Way fetch, double hit_rate) const noexcept {
    return hit_rate * fetch_ns(fetch) + (1 - hit_rate) * missed_ns() <
           (1 - least_gain) * ns(Way::direct);
  }

 private:
  static constexpr double least_gain = 1.0 / 32;

  [[nodiscard]] Cost& of(Way way) noexcept { return costs_[static_cast<unsigned>(way)]; }
  [[nodiscard]] const Cost& of(Way way) const noexcept {
    return costs_[static_cast<unsigned>(way)];
  }
  [[nodiscard]] double fetch_ns(Way fetch) const noexcept {
    return of(fetch).is_known() ? ns(fetch) : 0;
  }
  // Computing although keystream is there or being made includes wiping or abandoning that.
  [[nodiscard]] double missed_ns() const noexcept {
    return std::max(ns(Way::missed), ns(Way::direct));
  }

  Cost costs_[4];

 public:
  // What computing a chunk in idle() costs, at once or in parts. Each call writes it.
  alignas(64) Cost in_idle;
};

class Stopwatch {
 public:
  [[nodiscard]] double elapsed_ns() const noexcept {
    return std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace paes::keystream
