// What a chunk costs to encrypt, by where its keystream comes from, as measured while the engine
// works. The measurements decide between fetching and computing; that they may be off for a while
// costs time, never correctness.
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

 private:
  static constexpr unsigned first_samples = 8;

  std::atomic<float> ns_{0};
  std::atomic<unsigned> samples_{0};
};

// Of one cipher, key length and kernel in an engine. On cache lines of its own, which are read for
// each chunk and seldom written.
struct alignas(64) Costs {
  Cost direct;
  Cost made_by[2];

  // Looking keystream up and giving its place back, which the samples leave out.
  static constexpr double overhead_ns = 12;

  [[nodiscard]] const Cost& of(Maker maker) const noexcept {
    return made_by[static_cast<unsigned>(maker)];
  }
  [[nodiscard]] Cost& of(Maker maker) noexcept { return made_by[static_cast<unsigned>(maker)]; }
  // Optimistic where nothing has been measured yet.
  [[nodiscard]] bool pays(Maker maker) const noexcept {
    return of(maker).ns() + overhead_ns < direct.ns();
  }
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
