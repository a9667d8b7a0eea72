// Questions to a circuit's truth tables: which nodes determine a target, and what an inner gate
// would have to compute. Written so that one answer takes a few instructions.
#pragma once

#include "circuit.hpp"
#include "random.hpp"

namespace sbox {

struct Target {
  TruthTable table;
  TruthTable mask;  // where it matters
};

struct NodeList {
  std::array<std::uint8_t, max_nodes> node;
  int size = 0;
  void add(int n) noexcept {
    node[static_cast<std::size_t>(size++)] = static_cast<std::uint8_t>(n);
  }
};

using Inputs = std::array<std::uint8_t, 3>;

// Picks uniformly among the alternatives it is offered.
class Lottery {
 public:
  explicit Lottery(Random& random) noexcept : random_(random) {}
  void offer(std::uint8_t a, std::uint8_t b, std::uint8_t c) noexcept {
    if (random_.below(++offers_) == 0) {
      winner_ = {a, b, c};
    }
  }
  [[nodiscard]] bool has_winner() const noexcept { return offers_ != 0; }
  [[nodiscard]] const Inputs& winner() const noexcept { return winner_; }

 private:
  Random& random_;
  unsigned offers_ = 0;
  Inputs winner_ = {};
};

// The gate over `in` that gives the target where it matters; cells that never occur there get
// random bits. Only for inputs that determine the target.
Gate make_gate(int fan_in, const Inputs& in, const Values& values, Target target,
               Random& random) noexcept;

// A node that is the target or its complement where it matters, or -1.
int find_equal(const NodeList& list, const Values& values, Target target) noexcept;

// Offers every pair (fan_in 2) or triple (fan_in 3) of the list that determines the target; those
// without a node marked in `dear` go to `cheap`, the others to `rest`.
void offer(int fan_in, const NodeList& list, const Values& values, Target target,
           const std::array<bool, max_nodes>& dear, Lottery& cheap, Lottery& rest) noexcept;

// What an inner gate has to compute so that it and `others` (one or two nodes) determine the
// target: in each mixed cell of `others` the target or its complement, chosen at random.
Target inner_target(const Inputs& others, int other_count, const Values& values, Target target,
                    Random& random) noexcept;

}  // namespace sbox
