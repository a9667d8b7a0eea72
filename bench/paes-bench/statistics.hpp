// SPDX-License-Identifier: Apache-2.0
// What repeated measurements tell: medians, and ratios paired round by round. Rows that took turns
// within milliseconds met the same machine, which need not be true for two medians.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace paes::cli {

[[nodiscard]] inline double median(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Ratio {
  double median;
  double min;
  double max;
};

// This row's rate divided by the first row's, in each round; both have done the same work.
[[nodiscard]] inline Ratio rate_ratio(const std::vector<double>& seconds,
                                      const std::vector<double>& first_seconds) {
  assert(seconds.size() == first_seconds.size());
  std::vector<double> ratios;
  ratios.reserve(seconds.size());
  for (std::size_t round = 0; round < seconds.size(); ++round) {
    ratios.push_back(first_seconds[round] / seconds[round]);
  }
  const auto [min, max] = std::minmax_element(ratios.begin(), ratios.end());
  return {median(ratios), *min, *max};
}

}  // namespace paes::cli
