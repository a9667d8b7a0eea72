// What a request for one chunk costs, by the way it takes, as measured while the engine works: the
// whole call, with all that speculation does to it. The measurements decide between fetching and
// computing; that they may be off for a while costs time, never correctness.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace paes::keystream {

// Who computed a chunk's keystream, as seen by the thread that uses it: its own cache has it, or
// another core's.
enum class Maker : unsigned { own, other };

// A running median of nanoseconds: it moves by a sixteenth at most, because one sample may hold an
// interrupt that took a hundred times as long as what was measured. The least of the first samples
// is where it begins.
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
  // The first sample of all may hold a fault for each page it touches.
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
  missed,  // somebody does, but the keystream was not there or not wanted
  own,     // fetched, as Maker has it
  other,
};

[[nodiscard]] constexpr Way way_of(Maker maker) noexcept {
  return maker == Maker::own ? Way::own : Way::other;
}

// Of one cipher, key length and kernel in an engine. On cache lines of its own, which are read for
// each chunk and seldom written.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): it keeps the lines apart
class alignas(64) Costs {
 public:
  Cost on_device;  // of making a chunk there, among many

  [[nodiscard]] double ns(Way way) const noexcept { return costs_[place(way)].ns(); }
  void add(Way way, double sample_ns) noexcept {
    costs_[place(way)].add(sample_ns);
    // Where all goes by keystream nothing else would tell that the processor has become faster.
    if (way == Way::missed && ns(Way::missed) < ns(Way::direct)) {
      costs_[place(Way::direct)].add(ns(Way::missed));
    }
  }

  // Whether keystream that is there is worth fetching. Optimistic before enough is measured.
  [[nodiscard]] bool pays(Maker maker) const noexcept { return fetch_ns(maker) < missed_ns(); }
  // Whether having it made does, when so large a part of the requests finds it.
  [[nodiscard]] bool pays(Maker maker, double hit_rate) const noexcept {
    return hit_rate * fetch_ns(maker) + (1 - hit_rate) * missed_ns() <
           (1 - least_gain) * ns(Way::direct);
  }

  // Whether a new context tries although it does not pay: contexts that live shortly never learn.
  [[nodiscard]] bool is_time_to_try() noexcept {
    return opened_.fetch_add(1, std::memory_order_relaxed) % opened_before_try == 0;
  }

 private:
  static constexpr double least_gain = 1.0 / 32;
  static constexpr unsigned opened_before_try = 16;

  [[nodiscard]] static constexpr unsigned place(Way way) noexcept {
    return static_cast<unsigned>(way);
  }
  [[nodiscard]] double fetch_ns(Maker maker) const noexcept {
    const Cost& cost = costs_[place(way_of(maker))];
    return cost.is_known() ? cost.ns() : 0;
  }
  // What is computed while keystream is there, or is being made, is wiped or given up as well.
  [[nodiscard]] double missed_ns() const noexcept {
    return std::max(ns(Way::missed), ns(Way::direct));
  }

  Cost costs_[4];
  std::atomic<unsigned> opened_{0};

 public:
  // Of making a chunk in idle(), at once or in pieces; written by each call.
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
