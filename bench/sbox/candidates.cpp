// SPDX-License-Identifier: Apache-2.0
// See candidates.hpp.
#include "candidates.hpp"

namespace sbox {
namespace {

// Bit c of row r becomes bit r of row c, by exchanging ever smaller squares.
void transpose(std::array<std::uint64_t, 64>& rows) noexcept {
  std::uint64_t mask = 0xffffffff;
  for (std::size_t width = 32; width != 0; width >>= 1, mask ^= mask << width) {
    for (std::size_t r = 0; r < 64; r = ((r | width) + 1) & ~width) {
      const std::uint64_t change = (rows[r] >> width ^ rows[r | width]) & mask;
      rows[r | width] ^= change;
      rows[r] ^= change << width;
    }
  }
}

}  // namespace

void Signals::add(unsigned node, TruthTable table) noexcept {
  values_[node] = table;
  for (std::size_t x = 0; x < by_input_.size(); ++x) {
    by_input_[x] |= NodeSet{table >> x & 1} << node;
  }
}

void Signals::set(const Circuit& circuit) noexcept {
  evaluate_all(circuit, values_);
  const auto nodes = static_cast<std::size_t>(input_count + circuit.gates);
  by_input_.fill(0);
  for (std::size_t first = 0; first < nodes; first += 64) {
    std::array<std::uint64_t, 64> rows = {};
    for (std::size_t i = 0; i < 64 && first + i < nodes; ++i) {
      rows[i] = values_[first + i];
    }
    transpose(rows);
    for (std::size_t x = 0; x < rows.size(); ++x) {
      by_input_[x] |= NodeSet{rows[x]} << first;
    }
  }
}

Gate make_gate(int fan_in, const Inputs& in, const Signals& signals, WantedTable target,
               Random& random) noexcept {
  unsigned table = 0;
  const auto spare = static_cast<unsigned>(random.next());
  const unsigned step = fan_in == 2 ? 2 : 1;
  for (unsigned cell = 0; cell < 8; cell += step) {
    TruthTable where = target.mask & ((cell & 4) != 0 ? signals[in[0]] : ~signals[in[0]]) &
                       ((cell & 2) != 0 ? signals[in[1]] : ~signals[in[1]]);
    if (fan_in == 3) {
      where &= (cell & 1) != 0 ? signals[in[2]] : ~signals[in[2]];
    }
    const bool bit = where != 0 ? (where & target.table) != 0 : (spare >> cell & 1) != 0;
    table |= (bit ? (1U << step) - 1U : 0U) << cell;
  }
  return {fan_in == 2 ? Inputs{in[0], in[1], in[1]} : in, static_cast<std::uint8_t>(table)};
}

int find_equal(const Signals& signals, WantedTable target, NodeSet allowed) noexcept {
  int equal = -1;
  for_each(allowed, [&](std::uint8_t n) {
    const TruthTable difference = (signals[n] ^ target.table) & target.mask;
    if (equal < 0 && (difference == 0 || difference == target.mask)) {
      equal = n;
    }
  });
  return equal;
}

WantedTable inner_target(int fan_in, const Inputs& others, const Signals& signals,
                         WantedTable target, Random& random) noexcept {
  Mixed mixed;
  mixed.add_split(whole(target), signals[others[0]]);
  if (fan_in == 3) {
    mixed = mixed.split(signals[others[1]]);
  }
  WantedTable inner = {0, 0};
  std::uint64_t flips = random.next();
  for (const Part& part : mixed) {
    inner.mask |= part.on | part.off;
    inner.table |= (flips & 1) != 0 ? part.off : part.on;
    flips >>= 1;
  }
  return inner;
}

}  // namespace sbox
