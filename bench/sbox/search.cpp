// SPDX-License-Identifier: Apache-2.0
// See search.hpp.
#include "search.hpp"

#include <algorithm>
#include <vector>

#include "construction.hpp"
#include "walk.hpp"

namespace sbox {
namespace {

// A start, and how far its walk has come.
class Runner {
 public:
  Runner(int box, int fan_in, Random& random) noexcept : fan_in_(fan_in), random_(&random) {
    best_.gates = max_nodes;
    for (int i = 0; i < 4; ++i) {
      const Builder builder(box, fan_in, random);
      if (!builder.overflowed() && builder.circuit().gates < best_.gates) {
        best_ = builder.circuit();
      }
    }
  }
  Runner(const Circuit& start, int fan_in, Random& random) noexcept
      : fan_in_(fan_in), random_(&random), best_(start) {}

  [[nodiscard]] const Circuit& best() const noexcept { return best_; }

  void finish(FoundCircuit& found) { keep_if_better(best_, found); }

  // Walks among circuits as small as the best and those with one gate more: the way from one of the
  // best to the next often leads through larger ones.
  void walk(std::uint64_t steps, FoundCircuit& found) {
    constexpr std::uint64_t epoch = 1000;
    Walk walk(best_, fan_in_, *random_);
    for (std::uint64_t i = 1; i <= steps; ++i) {
      walk.step(best_.gates + 1);
      if (walk.circuit().gates <= best_.gates) {
        const bool is_smaller = walk.circuit().gates < best_.gates;
        best_ = walk.circuit();
        if (is_smaller || i % epoch == 0) {
          keep_if_better(best_, found);
        }
      }
    }
  }

 private:
  // Among circuits of one size, prefers those that need few registers.
  void keep_if_better(Circuit circuit, FoundCircuit& found) {
    const bool is_smaller = found.alive == 0 || circuit.gates < found.circuit.gates;
    if (is_smaller || circuit.gates == found.circuit.gates) {
      const int alive = order_for_registers(circuit, Goal::few_alive, random_->next(), 4);
      if (is_smaller || alive < found.alive) {
        found.circuit = circuit;
        found.alive = alive;
      }
    }
  }

  int fan_in_;
  Random* random_;
  Circuit best_;
};

}  // namespace

FoundCircuit search(int box, int fan_in, const Circuit* known, std::uint64_t seed,
                    std::uint64_t steps) {
  Random random(seed * 8 + static_cast<std::uint64_t>(box));
  FoundCircuit found;
  found.box = box;
  found.fan_in = fan_in;
  found.seed = seed;
  found.steps = steps;
  // How far a walk gets depends much on its start. So many short walks begin, and the better half
  // goes on.
  std::vector<Runner> runners;
  if (known != nullptr) {
    runners.emplace_back(*known, fan_in, random);
  }
  while (runners.size() < 16) {
    runners.emplace_back(box, fan_in, random);
  }
  for (std::uint64_t rounds = 5; rounds > 0; --rounds) {
    const std::uint64_t each = steps / 5 / runners.size();
    for (Runner& runner : runners) {
      runner.walk(each, found);
    }
    std::stable_sort(runners.begin(), runners.end(), [](const Runner& a, const Runner& b) {
      return a.best().gates < b.best().gates;
    });
    runners.erase(runners.begin() + static_cast<std::ptrdiff_t>((runners.size() + 1) / 2),
                  runners.end());
  }
  runners.front().finish(found);  // a short walk may not have reached the end of an epoch
  return found;
}

}  // namespace sbox
