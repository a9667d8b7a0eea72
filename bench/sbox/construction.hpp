// SPDX-License-Identifier: Apache-2.0
// Builds a circuit from nothing after M. Kwan ("Reducing the Gate Count of Bitslice DES", IACR
// ePrint 2000/051): output by output, it divides by one input after the other, and at each step it
// reuses whatever already computes the part that matters. Orders are random.
#pragma once

#include "candidates.hpp"

namespace sbox {

class Builder {
 public:
  Builder(int box, int fan_in, Random& random) noexcept : fan_in_(fan_in), random_(random) {
    for (int i = 0; i < input_count; ++i) {
      signals_.add(static_cast<unsigned>(i), input_table(i));
    }
    std::array<int, output_count> outputs = {0, 1, 2, 3};
    shuffle(outputs);
    std::array<int, input_count> inputs = {0, 1, 2, 3, 4, 5};
    shuffle(inputs);
    for (const int output : outputs) {
      const WantedTable target{output_table(box, output), ~TruthTable{0}};
      circuit_.output[static_cast<std::size_t>(output)] =
          static_cast<std::uint8_t>(build(target, inputs, 0));
    }
  }

  [[nodiscard]] const Circuit& circuit() const noexcept { return circuit_; }
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

 private:
  template <std::size_t Size>
  void shuffle(std::array<int, Size>& items) noexcept {
    for (unsigned i = Size; i > 1; --i) {
      std::swap(items[i - 1], items[random_.below(i)]);
    }
  }

  [[nodiscard]] unsigned nodes() const noexcept {
    return static_cast<unsigned>(input_count + circuit_.gates);
  }

  int add(const Inputs& in, WantedTable target) noexcept {
    const unsigned n = nodes();
    if (n >= max_nodes) {
      overflowed_ = true;
      return 0;
    }
    const Gate gate = make_gate(fan_in_, in, signals_, target, random_);
    signals_.add(n, evaluate(gate, signals_));
    circuit_.gate[static_cast<std::size_t>(circuit_.gates++)] = gate;
    return static_cast<int>(n);
  }

  // A node that yields the target where it matters, perhaps complemented.
  int build(WantedTable target, const std::array<int, input_count>& inputs,
            std::size_t depth) noexcept {
    const NodeSet all = first_nodes(nodes());
    if (const int equal = find_equal(signals_, target, all); equal >= 0) {
      return equal;
    }
    Lottery one(random_);
    for_each_inputs(fan_in_, signals_, target, all, [&](const Inputs& in) { one.offer(in); });
    if (one.has_winner()) {
      return add(one.winner(), target);
    }
    // Two gates: another node (for gates with three inputs, two) and an inner gate.
    const unsigned tries = fan_in_ == 2 ? 2 * nodes() : 60;
    for (unsigned i = 0; i < tries; ++i) {
      const Inputs others = {static_cast<std::uint8_t>(random_.below(nodes())),
                             static_cast<std::uint8_t>(random_.below(nodes())), 0};
      const WantedTable inner = inner_target(fan_in_, others, signals_, target, random_);
      Lottery two(random_);
      for_each_inputs(fan_in_, signals_, inner, all, [&](const Inputs& in) { two.offer(in); });
      if (two.has_winner()) {
        const int n = add(two.winner(), inner);
        return add({static_cast<std::uint8_t>(n), others[0], others[1]}, target);
      }
    }
    return divide(target, inputs, depth);
  }

  int divide(WantedTable target, const std::array<int, input_count>& inputs,
             std::size_t depth) noexcept {
    if (overflowed_ || depth == inputs.size()) {
      overflowed_ = true;  // The second cannot happen: any node matches a single input.
      return 0;
    }
    const auto x = static_cast<std::uint8_t>(inputs[depth]);
    const bool flip = random_.below(2) != 0;
    const TruthTable first = flip ? signals_[x] : ~signals_[x];
    const int f0 = build({target.table, target.mask & first}, inputs, depth + 1);
    const TruthTable other = target.table ^ signals_[static_cast<std::size_t>(f0)];
    // f0 may be the target's complement, so the sum uses what f0 really is.
    const bool complemented = (other & target.mask & first) != 0;
    const TruthTable rest = complemented ? ~other : other;
    if (fan_in_ == 3) {
      const bool plain = random_.below(2) != 0;
      const int f1 = build({plain ? target.table : rest, target.mask & ~first}, inputs, depth + 1);
      return add({x, static_cast<std::uint8_t>(f0), static_cast<std::uint8_t>(f1)}, target);
    }
    // target = f0 ^ (x & f1), or that with x complemented.
    const int f1 = build({rest, target.mask & ~first}, inputs, depth + 1);
    const TruthTable f1_table = signals_[static_cast<std::size_t>(f1)];
    const bool f1_complemented = ((f1_table ^ rest) & target.mask & ~first) != 0;
    const TruthTable product = (f1_complemented ? ~f1_table : f1_table) & ~first;
    const int n = add({x, static_cast<std::uint8_t>(f1), 0}, {product, ~TruthTable{0}});
    return add({static_cast<std::uint8_t>(f0), static_cast<std::uint8_t>(n), 0}, target);
  }

  int fan_in_;
  Random& random_;
  Signals signals_;
  Circuit circuit_;
  bool overflowed_ = false;
};

}  // namespace sbox
