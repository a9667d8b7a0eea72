// SPDX-License-Identifier: Apache-2.0
// See circuit.hpp.
#include "circuit.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "cipher/des_standard.hpp"
#include "sbox_random.hpp"

namespace sbox {

TruthTable output_table(int box, int i) noexcept {
  TruthTable table = 0;
  for (unsigned x = 0; x < 64; ++x) {
    const unsigned entry = paes::des_standard::sbox_entry(static_cast<unsigned>(box), x);
    table |= static_cast<TruthTable>(entry >> (output_count - 1 - i) & 1) << x;
  }
  return table;
}

void evaluate_all(const Circuit& circuit, Values& values) noexcept {
  for (int i = 0; i < input_count; ++i) {
    values[static_cast<std::size_t>(i)] = input_table(i);
  }
  for (int i = 0; i < circuit.gates; ++i) {
    const Gate& gate = circuit.gate[static_cast<std::size_t>(i)];
    values[static_cast<std::size_t>(input_count + i)] =
        evaluate(gate.table, values[gate.in[0]], values[gate.in[1]], values[gate.in[2]]);
  }
}

bool computes(const Circuit& circuit, int box) noexcept {
  Values values = {};
  evaluate_all(circuit, values);
  for (int i = 0; i < output_count; ++i) {
    const TruthTable difference =
        values[circuit.output[static_cast<std::size_t>(i)]] ^ output_table(box, i);
    if (difference != 0 && difference != ~TruthTable{0}) {
      return false;
    }
  }
  return true;
}

unsigned complemented_outputs(const Circuit& circuit, int box) noexcept {
  Values values = {};
  evaluate_all(circuit, values);
  unsigned set = 0;
  for (int i = 0; i < output_count; ++i) {
    const bool differs =
        values[circuit.output[static_cast<std::size_t>(i)]] != output_table(box, i);
    set |= (differs ? 1U : 0U) << i;
  }
  return set;
}

namespace {

// What ordering the gates needs to know of a circuit.
struct Uses {
  std::array<std::uint8_t, max_nodes> count = {};  // by gates; outputs leave where they are made
  explicit Uses(const Circuit& circuit) noexcept {
    for (int i = 0; i < circuit.gates; ++i) {
      for_each_input(circuit.gate[static_cast<std::size_t>(i)],
                     [this](std::uint8_t in) { ++count[in]; });
    }
  }
  // Visits each different input once.
  template <class Visit>
  static void for_each_input(const Gate& gate, Visit visit) noexcept {
    visit(gate.in[0]);
    if (gate.in[1] != gate.in[0]) {
      visit(gate.in[1]);
    }
    if (gate.in[2] != gate.in[0] && gate.in[2] != gate.in[1]) {
      visit(gate.in[2]);
    }
  }
};

// How many of a circuit's values integer registers hold, besides addresses and one temporary.
constexpr int register_count = 11;

struct Order {
  std::array<std::uint8_t, max_nodes> gate = {};  // indices into circuit.gate
  int alive = 0;                                  // most values alive at a time
  long total = 0;                                 // sum of the values alive after each gate
  long spilled = 0;  // sum of those for which integer registers have no room
};

// An input is alive from its first use; before that it is in memory.
Order try_order(const Circuit& circuit, Random& random) noexcept {
  Order order;
  Uses uses(circuit);
  std::array<bool, max_nodes> made = {};
  std::array<bool, max_nodes> loaded = {};
  for (std::size_t i = 0; i < input_count; ++i) {
    made[i] = true;
  }
  int alive = 0;
  for (int place = 0; place < circuit.gates; ++place) {
    int best = -1;
    int best_score = 0;
    int best_alive = 0;
    int best_peak = 0;
    for (int i = 0; i < circuit.gates; ++i) {
      const Gate& gate = circuit.gate[static_cast<std::size_t>(i)];
      const auto node = static_cast<std::size_t>(input_count + i);
      if (made[node] || !made[gate.in[0]] || !made[gate.in[1]] || !made[gate.in[2]]) {
        continue;
      }
      int loads = 0;
      int freed = 0;
      int progress = 0;  // prefer to finish with values that have few uses left
      Uses::for_each_input(gate, [&](std::uint8_t in) {
        loads += in < input_count && !loaded[in] ? 1 : 0;
        freed += uses.count[in] == 1 ? 1 : 0;
        progress += uses.count[in] == 2 ? 1 : 0;
      });
      const int peak = alive + loads;
      const int after = peak - freed + (uses.count[node] != 0 ? 1 : 0);
      const int score = 64 * after - 8 * progress + 4 * loads + static_cast<int>(random.below(24));
      if (best < 0 || score < best_score) {
        best = i;
        best_score = score;
        best_alive = after;
        best_peak = peak > after ? peak : after;
      }
    }
    const Gate& gate = circuit.gate[static_cast<std::size_t>(best)];
    Uses::for_each_input(gate, [&](std::uint8_t in) {
      --uses.count[in];
      loaded[in] = true;
    });
    made[static_cast<std::size_t>(input_count + best)] = true;
    order.gate[static_cast<std::size_t>(place)] = static_cast<std::uint8_t>(best);
    alive = best_alive;
    order.alive = best_peak > order.alive ? best_peak : order.alive;
    order.total += alive;
    order.spilled += best_peak > register_count ? best_peak - register_count : 0;
  }
  return order;
}

}  // namespace

int order_for_registers(Circuit& circuit, Goal goal, std::uint64_t seed, int tries) {
  Random random(seed);
  Order best;
  std::array<long, 3> best_cost = {};
  for (int i = 0; i < tries; ++i) {
    const Order order = try_order(circuit, random);
    const std::array<long, 3> cost =
        goal == Goal::few_alive ? std::array<long, 3>{order.alive, order.total, 0}
                                : std::array<long, 3>{order.spilled, order.total, order.alive};
    if (i == 0 || cost < best_cost) {
      best_cost = cost;
      best = order;
    }
  }
  std::array<std::uint8_t, max_nodes> place = {0, 1, 2, 3, 4, 5};
  Circuit ordered = circuit;
  for (int i = 0; i < circuit.gates; ++i) {
    const std::uint8_t old = best.gate[static_cast<std::size_t>(i)];
    Gate gate = circuit.gate[old];
    for (std::uint8_t& in : gate.in) {
      in = place[in];
    }
    ordered.gate[static_cast<std::size_t>(i)] = gate;
    place[static_cast<std::size_t>(input_count + old)] = static_cast<std::uint8_t>(input_count + i);
  }
  for (std::uint8_t& output : ordered.output) {
    output = place[output];
  }
  circuit = ordered;
  return best.alive;
}

std::string to_line(const FoundCircuit& found) {
  std::ostringstream line;
  line << "box " << found.box + 1 << " gates " << found.circuit.gates << " alive " << found.alive
       << " seed " << found.seed << " steps " << found.steps << " outputs";
  for (const std::uint8_t output : found.circuit.output) {
    line << ' ' << static_cast<int>(output);
  }
  line << " circuit";
  for (int i = 0; i < found.circuit.gates; ++i) {
    const Gate& gate = found.circuit.gate[static_cast<std::size_t>(i)];
    line << ' ' << static_cast<int>(gate.in[0]) << ',' << static_cast<int>(gate.in[1]) << ','
         << static_cast<int>(gate.in[2]) << ':' << static_cast<int>(gate.table);
  }
  return line.str();
}

FoundCircuit from_line(const std::string& line, int fan_in) {
  FoundCircuit found;
  found.fan_in = fan_in;
  std::istringstream in(line);
  std::string word;
  const auto expect = [&](const char* name, auto& value) {
    if (!(in >> word >> value) || word != name) {
      throw std::runtime_error(std::string("no '") + name + "' in: " + line);
    }
  };
  expect("box", found.box);
  --found.box;
  expect("gates", found.circuit.gates);
  expect("alive", found.alive);
  expect("seed", found.seed);
  expect("steps", found.steps);
  bool good = static_cast<bool>(in >> word) && found.box >= 0 && found.box < 8 &&
              found.circuit.gates > 0 && found.circuit.gates <= max_nodes - input_count;
  for (std::uint8_t& output : found.circuit.output) {
    int node = 0;
    good = good && in >> node && node >= 0 && node < input_count + found.circuit.gates;
    output = static_cast<std::uint8_t>(node);
  }
  good = good && in >> word;
  for (int i = 0; good && i < found.circuit.gates; ++i) {
    std::array<int, 4> number = {};
    char separator = 0;
    good = static_cast<bool>(in >> number[0] >> separator >> number[1] >> separator >> number[2] >>
                             separator >> number[3]);
    Gate& gate = found.circuit.gate[static_cast<std::size_t>(i)];
    for (std::size_t j = 0; j < 3; ++j) {
      good = good && number[j] >= 0 && number[j] < input_count + i;
      gate.in[j] = static_cast<std::uint8_t>(number[j]);
    }
    gate.table = static_cast<std::uint8_t>(number[3]);
    good = good && number[3] >= 0 && number[3] < 256 && (fan_in == 3 || number[1] == number[2]);
  }
  if (!good || !computes(found.circuit, found.box)) {
    throw std::runtime_error("not a circuit of its box: " + line);
  }
  return found;
}

}  // namespace sbox
