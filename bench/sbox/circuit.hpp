// SPDX-License-Identifier: Apache-2.0
// A Boolean circuit of gates with two or three inputs that computes one S-box of DES, and its text
// form (one line per circuit in the .circuits files beside this file).
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace sbox {

// One bit for each of the 64 inputs of an S-box: bit x belongs to input x, whose first bit is the
// most significant.
using TruthTable = std::uint64_t;

inline constexpr int input_count = 6;
inline constexpr int output_count = 4;
inline constexpr int max_nodes = 120;

// The truth table of input i (0 to 5).
constexpr TruthTable input_table(int i) noexcept {
  TruthTable table = 0;
  for (unsigned x = 0; x < 64; ++x) {
    table |= static_cast<TruthTable>(x >> (input_count - 1 - i) & 1) << x;
  }
  return table;
}

// The truth table of output i (0 to 3, the first is the most significant) of S-box `box` (0 to 7).
TruthTable output_table(int box, int i) noexcept;

// Bit (a << 2 | b << 1 | c) of `table` is the gate's output; two-input gates have in[2] == in[1].
struct Gate {
  std::array<std::uint8_t, 3> in;
  std::uint8_t table;
};

// Node n is input n for n < 6, otherwise gate n - 6, which refers only to earlier nodes. Outputs
// may be complemented; users of the circuit fold that into their own constants.
struct Circuit {
  std::array<Gate, max_nodes> gate;
  int gates = 0;
  std::array<std::uint8_t, output_count> output = {};
};

[[nodiscard]] constexpr TruthTable spread(unsigned table, int bit) noexcept {
  return TruthTable{0} - (table >> bit & 1U);
}

[[nodiscard]] constexpr TruthTable evaluate(unsigned table, TruthTable a, TruthTable b,
                                            TruthTable c) noexcept {
  const TruthTable a_set = (b & ((c & spread(table, 7)) | (~c & spread(table, 6)))) |
                           (~b & ((c & spread(table, 5)) | (~c & spread(table, 4))));
  const TruthTable a_clear = (b & ((c & spread(table, 3)) | (~c & spread(table, 2)))) |
                             (~b & ((c & spread(table, 1)) | (~c & spread(table, 0))));
  return (a & a_set) | (~a & a_clear);
}

using Values = std::array<TruthTable, max_nodes>;

// The truth table of every node.
void evaluate_all(const Circuit& circuit, Values& values) noexcept;

// Whether each output is that of S-box `box` or its complement.
[[nodiscard]] bool computes(const Circuit& circuit, int box) noexcept;

// Has a bit set for each output that is complemented.
[[nodiscard]] unsigned complemented_outputs(const Circuit& circuit, int box) noexcept;

// Orders the gates so that few values are alive at a time, and returns how many at most. An input
// is alive from its first use to its last; an output ends where it is made. Greedy: it looks at
// which values a gate frees, and breaks ties randomly, `tries` times.
enum class Goal { few_alive, few_spills };
int order_for_registers(Circuit& circuit, Goal goal, std::uint64_t seed, int tries);

struct FoundCircuit {
  int box = 0;  // 0 to 7
  int fan_in = 2;
  int alive = 0;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  Circuit circuit;
};

[[nodiscard]] std::string to_line(const FoundCircuit& found);
// Throws std::runtime_error if a line is malformed, or if its circuit does not compute its box.
[[nodiscard]] FoundCircuit from_line(const std::string& line, int fan_in);

}  // namespace sbox
