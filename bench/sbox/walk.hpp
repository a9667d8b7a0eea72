// A random walk over circuits of one size: gates are replaced by others that the outputs cannot
// tell apart, until something is left over.
#pragma once

#include "candidates.hpp"

namespace sbox {

// Throws out what no output needs and brings the gates into an order in which each comes after its
// inputs. False if there is no such order.
bool compact(Circuit& circuit) noexcept;

// The table with input `position` complemented.
std::uint8_t complement_input(std::uint8_t table, std::size_t position) noexcept;

class Walk {
 public:
  Walk(const Circuit& start, int fan_in, Random& random) noexcept
      : circuit_(start), fan_in_(fan_in), random_(random) {
    compact(circuit_);
    evaluate_all(circuit_, values_);
  }

  [[nodiscard]] const Circuit& circuit() const noexcept { return circuit_; }
  void restart(const Circuit& circuit) noexcept {
    circuit_ = circuit;
    evaluate_all(circuit_, values_);
  }

  // Replaces one gate by another, or a gate and what it alone uses by two. May grow the circuit by
  // at most `growth` gates.
  void step(bool two_gates, int growth) noexcept {
    const int g =
        input_count + static_cast<int>(random_.below(static_cast<unsigned>(circuit_.gates)));
    look_at(g);
    const int equal = find_equal(list_, values_, target_);
    if (equal >= 0) {
      const TruthTable difference =
          (values_[static_cast<std::size_t>(equal)] ^ target_.table) & target_.mask;
      Circuit next = circuit_;
      redirect(next, g, equal, difference != 0);
      accept(next);
      return;
    }
    if (two_gates) {
      replace_by_two(g, growth);
    } else {
      replace_by_one(g);
    }
  }

 private:
  // Finds where the outputs depend on gate g, which nodes do not depend on it, and which serve it
  // alone.
  void look_at(int g) noexcept {
    const int nodes = input_count + circuit_.gates;
    Values flipped = values_;
    std::array<bool, max_nodes> depends = {};
    depends[static_cast<std::size_t>(g)] = true;
    flipped[static_cast<std::size_t>(g)] = ~values_[static_cast<std::size_t>(g)];
    list_.size = 0;
    for (int n = 0; n < g; ++n) {
      list_.add(n);
    }
    for (int n = g + 1; n < nodes; ++n) {
      const Gate& gate = circuit_.gate[static_cast<std::size_t>(n - input_count)];
      if (depends[gate.in[0]] || depends[gate.in[1]] || depends[gate.in[2]]) {
        depends[static_cast<std::size_t>(n)] = true;
        flipped[static_cast<std::size_t>(n)] =
            evaluate(gate.table, flipped[gate.in[0]], flipped[gate.in[1]], flipped[gate.in[2]]);
      } else {
        list_.add(n);
      }
    }
    TruthTable mask = 0;
    for (const std::uint8_t output : circuit_.output) {
      mask |= values_[output] ^ flipped[output];
    }
    target_ = {values_[static_cast<std::size_t>(g)], mask};
    find_own(g);
  }

  // Marks in own_ the gates that nothing but g (through others of the kind) uses.
  void find_own(int g) noexcept {
    std::array<std::uint8_t, max_nodes> uses = {};
    for (int i = 0; i < circuit_.gates; ++i) {
      for (const std::uint8_t in : circuit_.gate[static_cast<std::size_t>(i)].in) {
        ++uses[in];
      }
    }
    for (const std::uint8_t output : circuit_.output) {
      ++uses[output];
    }
    own_.fill(false);
    own_count_ = 0;
    for (int n = g; n >= input_count; --n) {
      if (n != g && uses[static_cast<std::size_t>(n)] != 0) {
        continue;
      }
      if (n != g) {
        own_[static_cast<std::size_t>(n)] = true;
        ++own_count_;
      }
      for (const std::uint8_t in : circuit_.gate[static_cast<std::size_t>(n - input_count)].in) {
        --uses[in];
      }
    }
  }

  void redirect(Circuit& circuit, int from, int to, bool complement) const noexcept {
    for (int i = 0; i < circuit.gates; ++i) {
      Gate& gate = circuit.gate[static_cast<std::size_t>(i)];
      for (std::size_t position = 0; position < 3; ++position) {
        if (gate.in[position] == from) {
          gate.in[position] = static_cast<std::uint8_t>(to);
          if (complement) {
            gate.table = complement_input(gate.table, position);
          }
        }
      }
    }
    for (std::uint8_t& output : circuit.output) {
      if (output == from) {
        output = static_cast<std::uint8_t>(to);
      }
    }
  }

  void accept(Circuit& next) noexcept {
    if (compact(next)) {
      circuit_ = next;
      evaluate_all(circuit_, values_);
    }
  }

  void replace_by_one(int g) noexcept {
    Lottery smaller(random_);
    Lottery same(random_);
    offer(fan_in_, list_, values_, target_, own_, smaller, same);
    const Lottery& winner = smaller.has_winner() ? smaller : same;
    if (!winner.has_winner()) {
      return;
    }
    Circuit next = circuit_;
    next.gate[static_cast<std::size_t>(g - input_count)] =
        make_gate(fan_in_, winner.winner(), values_, target_, random_);
    accept(next);
  }

  void replace_by_two(int g, int growth) noexcept {
    if (own_count_ + growth < 1 || circuit_.gates + input_count + 1 >= max_nodes) {
      return;
    }
    NodeList free;
    for (int i = 0; i < list_.size; ++i) {
      const std::uint8_t n = list_.node[static_cast<std::size_t>(i)];
      if (!own_[n]) {
        free.add(n);
      }
    }
    const auto size = static_cast<unsigned>(free.size);
    for (int i = 0; i < 12; ++i) {
      const Inputs others = {free.node[random_.below(size)], free.node[random_.below(size)], 0};
      const Target inner = inner_target(others, fan_in_ - 1, values_, target_, random_);
      Lottery lottery(random_);
      offer(fan_in_, free, values_, inner, own_, lottery, lottery);
      if (lottery.has_winner()) {
        Circuit next = circuit_;
        const int n = input_count + next.gates;
        Gate& added = next.gate[static_cast<std::size_t>(next.gates++)];
        added = make_gate(fan_in_, lottery.winner(), values_, inner, random_);
        values_[static_cast<std::size_t>(n)] =
            evaluate(added.table, values_[added.in[0]], values_[added.in[1]], values_[added.in[2]]);
        next.gate[static_cast<std::size_t>(g - input_count)] =
            make_gate(fan_in_, {static_cast<std::uint8_t>(n), others[0], others[1]}, values_,
                      target_, random_);
        accept(next);
        return;
      }
    }
  }

  Circuit circuit_;
  int fan_in_;
  Random& random_;
  Values values_ = {};
  NodeList list_;
  Target target_ = {};
  std::array<bool, max_nodes> own_ = {};
  int own_count_ = 0;
};

}  // namespace sbox
