// SPDX-License-Identifier: Apache-2.0
// See walk.hpp.
#include "walk.hpp"

namespace sbox {

bool compact(Circuit& circuit) noexcept {
  constexpr std::uint8_t unseen = 0xff;
  std::array<std::uint8_t, max_nodes> place;
  std::array<std::uint8_t, max_nodes> visiting = {};
  place.fill(unseen);
  for (std::uint8_t i = 0; i < input_count; ++i) {
    place[i] = i;
  }
  Circuit ordered;
  std::array<std::uint8_t, 4 * max_nodes> stack;
  for (const std::uint8_t output : circuit.output) {
    std::size_t depth = 0;
    stack[depth++] = output;
    while (depth > 0) {
      const std::uint8_t n = stack[depth - 1];
      if (place[n] != unseen) {
        --depth;
        continue;
      }
      const Gate& gate = circuit.gate[static_cast<std::size_t>(n - input_count)];
      bool ready = true;
      for (const std::uint8_t in : gate.in) {
        if (place[in] == unseen) {
          if (visiting[in] != 0 || depth == stack.size()) {
            return false;
          }
          stack[depth++] = in;
          ready = false;
          break;
        }
      }
      visiting[n] = ready ? 0 : 1;
      if (ready) {
        place[n] = static_cast<std::uint8_t>(input_count + ordered.gates);
        ordered.gate[static_cast<std::size_t>(ordered.gates++)] = {
            {place[gate.in[0]], place[gate.in[1]], place[gate.in[2]]}, gate.table};
        --depth;
      }
    }
  }
  for (std::size_t i = 0; i < circuit.output.size(); ++i) {
    ordered.output[i] = place[circuit.output[i]];
  }
  circuit = ordered;
  return true;
}

namespace {

// The cells of a table in which input `position` is set.
unsigned cells_of(std::size_t position) noexcept {
  static constexpr std::array<std::uint8_t, 3> cells = {0xf0, 0xcc, 0xaa};
  return cells[position];
}

}  // namespace

std::uint8_t complement_input(std::uint8_t table, std::size_t position) noexcept {
  const unsigned set = cells_of(position);
  const int shift = 4 >> position;
  return static_cast<std::uint8_t>((table & set) >> shift | (table & ~set) << shift);
}

std::uint8_t fix_input(std::uint8_t table, std::size_t position, bool value) noexcept {
  const unsigned set = cells_of(position);
  const int shift = 4 >> position;
  const unsigned left = value ? table & set : table & ~set;
  return static_cast<std::uint8_t>(left | (value ? left >> shift : left << shift));
}

}  // namespace sbox
