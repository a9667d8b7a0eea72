// SPDX-License-Identifier: Apache-2.0
// Independent tests side by side.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace paes::test {

// Calls `body(i)` for each i below `count`. Each thread, including the caller's, takes the next
// one.
template <class Body>
void on_threads(std::size_t count, unsigned threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t at = next++; at < count; at = next++) {
      body(at);
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) {
    others.emplace_back(take);
  }
  take();
}

}  // namespace paes::test
