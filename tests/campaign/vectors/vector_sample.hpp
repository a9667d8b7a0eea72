// SPDX-License-Identifier: Apache-2.0
// How much of the published vectors is run: all, or with PAES_VECTORS_EVERY=N every Nth case and no
// Monte Carlo chain, for devices that exist only on the host, where a launch takes a millisecond
// and a chain has one for each block. What was published is read and counted in any case.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace paes::test {

// 0 where all is run.
inline std::size_t sample_step() {
  const char* const text = std::getenv("PAES_VECTORS_EVERY");
  return text != nullptr ? std::stoul(text) : 0;
}

template <class Case>
void keep_sample(std::vector<Case>& cases, const char* what) {
  const std::size_t step = sample_step();
  if (step <= 1) {
    return;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cases.size(); i += step) {
    std::swap(cases[kept++], cases[i]);
  }
  std::cout << "not run: " << cases.size() - kept << " " << what << ": PAES_VECTORS_EVERY=" << step
            << '\n';
  cases.resize(kept);
}

}  // namespace paes::test
