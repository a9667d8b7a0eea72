// SPDX-License-Identifier: Apache-2.0
// Questions about a circuit's truth tables: which nodes determine a target, and what an inner gate
// would have to compute. An answer takes a few instructions.
//
// A gate can compute a target from some nodes if these tell apart every two inputs of the S-box at
// which the target differs. So the search takes two such inputs, tries each node that tells them
// apart, and goes on with the inputs that are still together. Few nodes are left after each step.
// All sets of three nodes are found in far less time than it would take to look at each.
#pragma once

#include <bit>

#include "circuit.hpp"
#include "sbox_random.hpp"

namespace sbox {

struct WantedTable {
  TruthTable table;
  TruthTable mask;  // where it matters
};

using Inputs = std::array<std::uint8_t, 3>;

// Bit n stands for node n.
__extension__ using NodeSet = unsigned __int128;

constexpr NodeSet set_of(unsigned node) noexcept { return NodeSet{1} << node; }
constexpr bool has(NodeSet set, unsigned node) noexcept { return (set >> node & 1) != 0; }
constexpr int count_of(NodeSet set) noexcept {
  return std::popcount(static_cast<std::uint64_t>(set)) +
         std::popcount(static_cast<std::uint64_t>(set >> 64));
}
constexpr std::uint8_t lowest(NodeSet set) noexcept {
  const auto low = static_cast<std::uint64_t>(set);
  const auto high = static_cast<std::uint64_t>(set >> 64);
  return static_cast<std::uint8_t>(low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high));
}
// Nodes 0 to `count` - 1.
constexpr NodeSet first_nodes(unsigned count) noexcept { return set_of(count) - 1; }

template <class Visit>
void for_each(NodeSet set, Visit visit) noexcept {
  for (; set != 0; set &= set - 1) {
    visit(lowest(set));
  }
}

// The inputs of the S-box, all or some, at which a target must be set, and those at which it must
// be clear.
struct Part {
  TruthTable on = 0;
  TruthTable off = 0;
  [[nodiscard]] constexpr bool is_mixed() const noexcept { return on != 0 && off != 0; }
  [[nodiscard]] constexpr Part where(TruthTable table) const noexcept {
    return {on & table, off & table};
  }
  [[nodiscard]] constexpr bool is_determined_by(TruthTable node) const noexcept {
    return ((on & ~node) == 0 && (off & node) == 0) || ((on & node) == 0 && (off & ~node) == 0);
  }
};

constexpr Part whole(WantedTable target) noexcept {
  return {target.table & target.mask, ~target.table & target.mask};
}

// The truth tables of nodes, by node and by input of the S-box.
class Signals {
 public:
  [[nodiscard]] TruthTable operator[](std::size_t node) const noexcept { return values_[node]; }
  // The node must not be set yet.
  void add(unsigned node, TruthTable table) noexcept;
  void set(const Circuit& circuit) noexcept;

  // Nodes that tell apart the ends of the part. Any node that determines it does. Four pairs of
  // inputs stand for all.
  [[nodiscard]] NodeSet separators(const Part& part) const noexcept {
    NodeSet all = ~NodeSet{0};
    for_each_pair(part, [&](NodeSet set) { all &= set; });
    return all;
  }
  // The nodes that tell apart one of the four pairs: the pair that the fewest nodes tell apart.
  [[nodiscard]] NodeSet fewest_separators(const Part& part, NodeSet allowed) const noexcept {
    NodeSet fewest = allowed;
    for_each_pair(part, [&](NodeSet set) {
      fewest = count_of(set & allowed) < count_of(fewest) ? set & allowed : fewest;
    });
    return fewest;
  }

 private:
  template <class Visit>
  void for_each_pair(const Part& part, Visit visit) const noexcept {
    const NodeSet first_on = by_input_[first(part.on)];
    const NodeSet last_on = by_input_[last(part.on)];
    const NodeSet first_off = by_input_[first(part.off)];
    const NodeSet last_off = by_input_[last(part.off)];
    visit(first_on ^ first_off);
    visit(first_on ^ last_off);
    visit(last_on ^ first_off);
    visit(last_on ^ last_off);
  }
  // Neither end of a part is empty. Without the remainder g++ 16 warns of one that is.
  static std::size_t first(TruthTable table) noexcept {
    return static_cast<std::size_t>(std::countr_zero(table)) % 64;
  }
  static std::size_t last(TruthTable table) noexcept {
    return static_cast<std::size_t>(63 - std::countl_zero(table)) % 64;
  }

  Values values_ = {};
  std::array<NodeSet, 64> by_input_ = {};
};

// The parts of a target that are mixed within one cell of the nodes looked at so far.
class Mixed {
 public:
  void add_split(const Part& part, TruthTable node) noexcept {
    add(part.where(node));
    add(part.where(~node));
  }
  [[nodiscard]] Mixed split(TruthTable node) const noexcept {
    Mixed parts;
    for (const Part& part : *this) {
      parts.add_split(part, node);
    }
    return parts;
  }
  [[nodiscard]] bool is_determined_by(TruthTable node) const noexcept {
    bool determined = true;
    for (const Part& part : *this) {
      determined = determined && part.is_determined_by(node);
    }
    return determined;
  }
  [[nodiscard]] NodeSet separators(const Signals& signals, NodeSet allowed) const noexcept {
    for (const Part& part : *this) {
      allowed &= signals.separators(part);
    }
    return allowed;
  }
  [[nodiscard]] NodeSet fewest_separators(const Signals& signals, NodeSet allowed) const noexcept {
    NodeSet fewest = allowed;
    for (const Part& part : *this) {
      const NodeSet set = signals.fewest_separators(part, allowed);
      fewest = count_of(set) < count_of(fewest) ? set : fewest;
    }
    return fewest;
  }
  [[nodiscard]] const Part* begin() const noexcept { return parts_.data(); }
  [[nodiscard]] const Part* end() const noexcept { return parts_.data() + size_; }

 private:
  void add(const Part& part) noexcept {
    if (part.is_mixed()) {
      parts_[size_++] = part;
    }
  }
  std::array<Part, 4> parts_;
  std::size_t size_ = 0;
};

// Visits every pair (fan_in 2) or triple (fan_in 3) of allowed nodes that determines the target,
// each once. If two nodes of a triple are enough, the second one comes twice; a node that is enough
// alone comes with any other. The target must be mixed.
template <class Visit>
void for_each_inputs(int fan_in, const Signals& signals, WantedTable target, NodeSet allowed,
                     Visit visit) noexcept {
  const Part part = whole(target);
  for_each(signals.fewest_separators(part, allowed), [&](std::uint8_t a) {
    allowed &= ~set_of(a);
    Mixed after_a;
    after_a.add_split(part, signals[a]);
    if (fan_in == 2) {
      for_each(after_a.separators(signals, allowed), [&](std::uint8_t b) {
        if (after_a.is_determined_by(signals[b])) {
          visit(Inputs{a, b, b});
        }
      });
      return;
    }
    NodeSet left = allowed;
    for_each(after_a.fewest_separators(signals, allowed), [&](std::uint8_t b) {
      left &= ~set_of(b);
      const Mixed after_b = after_a.split(signals[b]);
      if (after_b.begin() == after_b.end()) {
        visit(Inputs{a, b, b});
        return;
      }
      for_each(after_b.separators(signals, left), [&](std::uint8_t c) {
        if (after_b.is_determined_by(signals[c])) {
          visit(Inputs{a, b, c});
        }
      });
    });
  });
}

// Picks uniformly among the alternatives that it is offered.
class Lottery {
 public:
  explicit Lottery(Random& random) noexcept : random_(random) {}
  void offer(const Inputs& inputs) noexcept {
    if (random_.below(++offers_) == 0) {
      winner_ = inputs;
    }
  }
  [[nodiscard]] bool has_winner() const noexcept { return offers_ != 0; }
  [[nodiscard]] const Inputs& winner() const noexcept { return winner_; }

 private:
  Random& random_;
  unsigned offers_ = 0;
  Inputs winner_ = {};
};

// The gate over `in` that yields the target where it matters; cells that never occur there get
// random bits. Only for inputs that determine the target.
Gate make_gate(int fan_in, const Inputs& in, const Signals& signals, WantedTable target,
               Random& random) noexcept;

inline TruthTable evaluate(const Gate& gate, const Signals& signals) noexcept {
  return evaluate(gate.table, signals[gate.in[0]], signals[gate.in[1]], signals[gate.in[2]]);
}

// An allowed node that equals the target or its complement where it matters, or -1.
int find_equal(const Signals& signals, WantedTable target, NodeSet allowed) noexcept;

// What an inner gate must compute so that it and `others` (one node for fan_in 2, two for 3)
// determine the target: in each mixed cell of `others`, the target or its complement, chosen at
// random.
WantedTable inner_target(int fan_in, const Inputs& others, const Signals& signals,
                         WantedTable target, Random& random) noexcept;

}  // namespace sbox
