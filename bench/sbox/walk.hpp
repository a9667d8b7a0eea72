// SPDX-License-Identifier: Apache-2.0
// A random walk over circuits of one size. It replaces gates by others that the outputs cannot tell
// apart, until one becomes superfluous.
#pragma once

#include "candidates.hpp"

namespace sbox {

// Removes what no output needs, and orders the gates so that each comes after its inputs. False if
// there is no such order.
bool compact(Circuit& circuit) noexcept;

// The table with input `position` complemented.
std::uint8_t complement_input(std::uint8_t table, std::size_t position) noexcept;

// The table that is left if input `position` always has this value.
std::uint8_t fix_input(std::uint8_t table, std::size_t position, bool value) noexcept;

class Walk {
 public:
  Walk(const Circuit& start, int fan_in, Random& random) noexcept
      : circuit_(start), fan_in_(fan_in), random_(random) {
    compact(circuit_);
    signals_.set(circuit_);
  }

  [[nodiscard]] const Circuit& circuit() const noexcept { return circuit_; }

  // Replaces one gate by another, or a gate and those that only it uses by two. Never makes a
  // circuit larger than `most_gates` if it was not so before.
  void step(int most_gates) noexcept {
    const unsigned g = input_count + random_.below(static_cast<unsigned>(circuit_.gates));
    look_at(g);
    if (!whole(target_).is_mixed()) {
      Circuit next = circuit_;
      make_constant(next, g, (target_.table & target_.mask) != 0);
      accept(next);
    } else if (const int equal = find_equal(signals_, target_, allowed_); equal >= 0) {
      const auto node = static_cast<std::uint8_t>(equal);
      Circuit next = circuit_;
      redirect(next, g, node, ((signals_[node] ^ target_.table) & target_.mask) != 0);
      accept(next);
    } else if (random_.below(2) == 0) {
      replace_by_one(g);
    } else {
      replace_by_two(g, circuit_.gates < most_gates && random_.below(growth_odds) == 0);
    }
  }

 private:
  // One in this many of the steps that have room for another gate may add one.
  static constexpr unsigned growth_odds = 10;

  // Finds where the outputs depend on gate g, which nodes do not depend on it, and which only serve
  // it.
  void look_at(unsigned g) noexcept {
    std::array<TruthTable, max_nodes> flipped;
    NodeSet depends = set_of(g);
    flipped[g] = ~signals_[g];
    const auto after = [&](std::uint8_t n) { return has(depends, n) ? flipped[n] : signals_[n]; };
    for (unsigned n = g + 1; n < nodes(); ++n) {
      const Gate& gate = gate_of(n);
      if ((inputs_of(gate.in) & depends) != 0) {
        flipped[n] = evaluate(gate.table, after(gate.in[0]), after(gate.in[1]), after(gate.in[2]));
        depends |= set_of(n);
      }
    }
    TruthTable mask = 0;
    for (const std::uint8_t output : circuit_.output) {
      mask |= signals_[output] ^ after(output);
    }
    target_ = {signals_[g], mask};
    allowed_ = first_nodes(nodes()) & ~depends;
    find_own(g);
  }

  // Collects in own_ the gates that only g uses (also through others of the kind), and in kept_
  // which of them would stay if one of them did: itself and those that it uses.
  void find_own(unsigned g) noexcept {
    std::array<std::uint16_t, max_nodes> uses = {};
    for (unsigned n = input_count; n < nodes(); ++n) {
      for (const std::uint8_t in : gate_of(n).in) {
        ++uses[in];
      }
    }
    for (const std::uint8_t output : circuit_.output) {
      ++uses[output];
    }
    own_ = 0;
    kept_.fill(0);
    NodeSet reached = set_of(g);
    for (unsigned n = g; n >= input_count; --n) {
      if (!has(reached, n) || (n != g && uses[n] != 0)) {
        continue;
      }
      own_ |= n != g ? set_of(n) : 0;
      reached |= inputs_of(gate_of(n).in);
      for (const std::uint8_t in : gate_of(n).in) {
        --uses[in];
      }
    }
    for_each(own_, [this](std::uint8_t n) { kept_[n] = set_of(n) | kept_by(gate_of(n).in); });
  }

  [[nodiscard]] unsigned nodes() const noexcept {
    return static_cast<unsigned>(input_count + circuit_.gates);
  }
  [[nodiscard]] const Gate& gate_of(unsigned node) const noexcept {
    return circuit_.gate[node - input_count];
  }
  static NodeSet inputs_of(const Inputs& in) noexcept {
    return set_of(in[0]) | set_of(in[1]) | set_of(in[2]);
  }
  [[nodiscard]] NodeSet kept_by(const Inputs& in) const noexcept {
    return kept_[in[0]] | kept_[in[1]] | kept_[in[2]];
  }
  // How many gates become superfluous if g keeps only these.
  [[nodiscard]] int saved(NodeSet kept) const noexcept { return count_of(own_ & ~kept); }

  static void redirect(Circuit& circuit, unsigned from, std::uint8_t to, bool complement) noexcept {
    for (int i = 0; i < circuit.gates; ++i) {
      Gate& gate = circuit.gate[static_cast<std::size_t>(i)];
      for (std::size_t position = 0; position < 3; ++position) {
        if (gate.in[position] == from) {
          gate.in[position] = to;
          if (complement) {
            gate.table = complement_input(gate.table, position);
          }
        }
      }
    }
    for (std::uint8_t& output : circuit.output) {
      if (output == from) {
        output = to;
      }
    }
  }

  // Users of `node`, which is no output, get any input instead and ignore it.
  static void make_constant(Circuit& circuit, unsigned node, bool value) noexcept {
    for (int i = 0; i < circuit.gates; ++i) {
      Gate& gate = circuit.gate[static_cast<std::size_t>(i)];
      for (std::size_t position = 0; position < 3; ++position) {
        if (gate.in[position] == node) {
          gate.in[position] = 0;
          gate.table = fix_input(gate.table, position, value);
        }
      }
    }
  }

  void accept(Circuit& next) noexcept {
    if (compact(next)) {
      circuit_ = next;
    }
    signals_.set(circuit_);
  }

  void replace_by_one(unsigned g) noexcept {
    Lottery smaller(random_);
    Lottery same(random_);
    for_each_inputs(fan_in_, signals_, target_, allowed_,
                    [&](const Inputs& in) { (saved(kept_by(in)) > 0 ? smaller : same).offer(in); });
    const Lottery& winner = smaller.has_winner() ? smaller : same;
    if (winner.has_winner()) {
      Circuit next = circuit_;
      next.gate[g - input_count] = make_gate(fan_in_, winner.winner(), signals_, target_, random_);
      accept(next);
    }
  }

  void replace_by_two(unsigned g, bool may_grow) noexcept {
    const int least = may_grow ? 0 : 1;  // to be saved
    if (saved(0) < least || nodes() + 1 >= max_nodes) {
      return;
    }
    for (int i = 0; i < 12; ++i) {
      Inputs others = {any_allowed(), any_allowed(), 0};
      others[2] = others[1];
      const NodeSet kept = kept_[others[0]] | (fan_in_ == 3 ? kept_[others[1]] : 0);
      const WantedTable inner = inner_target(fan_in_, others, signals_, target_, random_);
      if (saved(kept) < least || inner.mask == 0) {
        continue;
      }
      Lottery smaller(random_);
      Lottery same(random_);
      for_each_inputs(fan_in_, signals_, inner, allowed_, [&](const Inputs& in) {
        if (const int gates = saved(kept | kept_by(in)); gates >= least) {
          (gates > least ? smaller : same).offer(in);
        }
      });
      const Lottery& winner = smaller.has_winner() ? smaller : same;
      if (winner.has_winner()) {
        put_two(g, winner.winner(), inner, others);
        return;
      }
    }
  }

  // Puts a gate over `inputs` for the inner target, and one over it and `others` in g's place.
  void put_two(unsigned g, const Inputs& inputs, WantedTable inner, const Inputs& others) noexcept {
    Circuit next = circuit_;
    const unsigned n = nodes();
    const Gate added = make_gate(fan_in_, inputs, signals_, inner, random_);
    next.gate[static_cast<std::size_t>(next.gates++)] = added;
    signals_.add(n, evaluate(added, signals_));
    next.gate[g - input_count] = make_gate(
        fan_in_, {static_cast<std::uint8_t>(n), others[0], others[1]}, signals_, target_, random_);
    accept(next);
  }

  [[nodiscard]] std::uint8_t any_allowed() noexcept {
    unsigned node = random_.below(nodes());
    while (!has(allowed_, node)) {
      node = random_.below(nodes());
    }
    return static_cast<std::uint8_t>(node);
  }

  Circuit circuit_;
  int fan_in_;
  Random& random_;
  Signals signals_;
  WantedTable target_ = {};
  NodeSet allowed_ = 0;
  NodeSet own_ = 0;
  std::array<NodeSet, max_nodes> kept_ = {};
};

}  // namespace sbox
