// SPDX-License-Identifier: Apache-2.0
// Whether the times of two classes differ: Welch's t on the times and on the squares of their
// distances from the mean, for the fastest part of all measurements, by several sizes of that part.
// What interrupts a program makes a few measurements long; without them a difference shows earlier
// (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017). The class of each
// measurement is drawn at random, so whatever else the machine does falls on both alike.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "timing_subject.hpp"

namespace paes::timing {

struct Difference {
  double t = 0;  // the largest |t| of all sizes
  std::string where = "-";
};

// Counts of times, by class. What takes longer than the last place has is counted there.
class Times {
 public:
  static constexpr std::size_t places = std::size_t{1} << 16;

  // A time of about this size falls into the lower quarter of the places.
  explicit Times(std::uint64_t typical_ticks) : counts_{Counts(places), Counts(places)} {
    while (typical_ticks >> shift_ > places / 4) {
      ++shift_;
    }
  }

  void add(Class which, std::uint64_t ticks) noexcept {
    ++counts_[static_cast<unsigned>(which)][std::min<std::uint64_t>(ticks >> shift_, places - 1)];
  }

  [[nodiscard]] std::uint64_t median_ticks() const { return std::uint64_t{last_of(0.5)} << shift_; }

  [[nodiscard]] Difference difference() const {
    Difference largest;
    std::size_t before = places;
    for (const double part : {1.0, 0.9999, 0.999, 0.99, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1}) {
      const std::size_t last = last_of(part);
      if (last == before) {
        continue;
      }
      before = last;
      const Moments fixed = moments(counts_[0], last);
      const Moments random = moments(counts_[1], last);
      if (std::min(fixed.count, random.count) < 100) {
        continue;
      }
      const double of_means = welch(fixed.mean, fixed.variance, fixed.count, random.mean,
                                    random.variance, random.count);
      const double of_spreads =
          welch(fixed.variance, fixed.fourth - fixed.variance * fixed.variance, fixed.count,
                random.variance, random.fourth - random.variance * random.variance, random.count);
      const std::string fastest = "the fastest " + percent(part);
      keep_larger(largest, of_means, "mean of " + fastest);
      keep_larger(largest, of_spreads, "spread of " + fastest);
    }
    return largest;
  }

 private:
  using Counts = std::vector<std::uint32_t>;

  struct Moments {
    double count = 0;
    double mean = 0;
    double variance = 0;
    double fourth = 0;  // central
  };

  static std::string percent(double part) {
    std::string text = std::to_string(part * 100);
    text.erase(text.find_last_not_of('0') + 1);
    return (text.ends_with('.') ? text.substr(0, text.size() - 1) : text) + " %";
  }

  static void keep_larger(Difference& largest, double t, const std::string& where) {
    if (std::abs(t) > largest.t) {
      largest = {std::abs(t), where};
    }
  }

  static double welch(double mean, double variance, double count, double other_mean,
                      double other_variance, double other_count) {
    const double error = variance / count + other_variance / other_count;
    if (error > 0) {
      return (mean - other_mean) / std::sqrt(error);
    }
    return mean == other_mean ? 0 : std::numeric_limits<double>::infinity();
  }

  // The place of the longest time in this part of the measurements.
  [[nodiscard]] std::size_t last_of(double part) const {
    double all = 0;
    for (std::size_t i = 0; i < places; ++i) {
      all += counts_[0][i] + double{1} * counts_[1][i];
    }
    double seen = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < places && seen < all * part; ++i) {
      const double here = counts_[0][i] + double{1} * counts_[1][i];
      seen += here;
      last = here > 0 ? i : last;
    }
    return last;
  }

  static Moments moments(const Counts& counts, std::size_t last) {
    Moments moments;
    double sum = 0;
    for (std::size_t i = 0; i <= last; ++i) {
      moments.count += counts[i];
      sum += static_cast<double>(i) * counts[i];
    }
    moments.mean = sum / moments.count;
    for (std::size_t i = 0; i <= last; ++i) {
      if (counts[i] != 0) {
        const double square = std::pow(static_cast<double>(i) - moments.mean, 2);
        moments.variance += square * counts[i];
        moments.fourth += square * square * counts[i];
      }
    }
    moments.variance /= moments.count;
    moments.fourth /= moments.count;
    return moments;
  }

  Counts counts_[2];
  unsigned shift_ = 0;
};

}  // namespace paes::timing
