// See candidates.hpp.
#include "candidates.hpp"

#include <bit>

namespace sbox {
namespace {

constexpr bool separates(TruthTable node, TruthTable on, TruthTable off) noexcept {
  return ((on & ~node) == 0 && (off & node) == 0) || ((on & node) == 0 && (off & ~node) == 0);
}

// The parts of the target that are mixed within one cell of the nodes looked at so far.
struct Mixed {
  std::array<TruthTable, 4> on;
  std::array<TruthTable, 4> off;
  int size = 0;
  void add(TruthTable on_part, TruthTable off_part) noexcept {
    if (on_part != 0 && off_part != 0) {
      on[static_cast<std::size_t>(size)] = on_part;
      off[static_cast<std::size_t>(size++)] = off_part;
    }
  }
  void add_split(TruthTable on_part, TruthTable off_part, TruthTable node) noexcept {
    add(on_part & node, off_part & node);
    add(on_part & ~node, off_part & ~node);
  }
};

// Pairs of inputs that a circuit has to tell apart, all at one distance: bit i of `wanted` is set
// where the target matters for both input i and input i - distance and differs between them. A set
// of nodes can determine the target only if each such pair is separated by one of them at least,
// which takes one OR a node to see.
struct Witnesses {
  TruthTable wanted = 0;
  int distance = 0;
};

constexpr TruthTable differences(TruthTable table, int distance) noexcept {
  return table ^ std::rotl(table, distance);
}

// The two distances with the most pairs.
std::array<Witnesses, 2> choose_witnesses(Target target) noexcept {
  std::array<Witnesses, 2> best;
  std::array<int, 2> most = {-1, -1};
  for (int distance = 1; distance <= 32; ++distance) {
    const TruthTable wanted =
        differences(target.table, distance) & target.mask & std::rotl(target.mask, distance);
    const int count = std::popcount(wanted);
    if (count > most[0]) {
      best[1] = best[0];
      most[1] = most[0];
      best[0] = {wanted, distance};
      most[0] = count;
    } else if (count > most[1]) {
      best[1] = {wanted, distance};
      most[1] = count;
    }
  }
  return best;
}

// Whether nodes a, b and c (two-input gates: b again) determine the target.
bool determine(TruthTable a, TruthTable b, TruthTable c, Target target) noexcept {
  const TruthTable on = target.table & target.mask;
  const TruthTable off = ~target.table & target.mask;
  Mixed mixed;
  mixed.add_split(on & a, off & a, b);
  mixed.add_split(on & ~a, off & ~a, b);
  bool determined = true;
  for (int m = 0; m < mixed.size && determined; ++m) {
    const auto at = static_cast<std::size_t>(m);
    determined = separates(c, mixed.on[at], mixed.off[at]);
  }
  return determined;
}

}  // namespace

Gate make_gate(int fan_in, const Inputs& in, const Values& values, Target target,
               Random& random) noexcept {
  unsigned table = 0;
  const auto spare = static_cast<unsigned>(random.next());
  const unsigned step = fan_in == 2 ? 2 : 1;
  for (unsigned cell = 0; cell < 8; cell += step) {
    TruthTable where = target.mask & ((cell & 4) != 0 ? values[in[0]] : ~values[in[0]]) &
                       ((cell & 2) != 0 ? values[in[1]] : ~values[in[1]]);
    if (fan_in == 3) {
      where &= (cell & 1) != 0 ? values[in[2]] : ~values[in[2]];
    }
    const bool bit = where != 0 ? (where & target.table) != 0 : (spare >> cell & 1) != 0;
    table |= (bit ? (1U << step) - 1U : 0U) << cell;
  }
  return {fan_in == 2 ? Inputs{in[0], in[1], in[1]} : in, static_cast<std::uint8_t>(table)};
}

int find_equal(const NodeList& list, const Values& values, Target target) noexcept {
  for (int i = 0; i < list.size; ++i) {
    const std::uint8_t n = list.node[static_cast<std::size_t>(i)];
    const TruthTable difference = (values[n] ^ target.table) & target.mask;
    if (difference == 0 || difference == target.mask) {
      return n;
    }
  }
  return -1;
}

void offer(int fan_in, const NodeList& list, const Values& values, Target target,
           const std::array<bool, max_nodes>& dear, Lottery& cheap, Lottery& rest) noexcept {
  const std::array<Witnesses, 2> witnesses = choose_witnesses(target);
  std::array<std::array<TruthTable, 2>, max_nodes> same;  // pairs that a node does not separate
  const auto size = static_cast<std::size_t>(list.size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t w = 0; w < 2; ++w) {
      same[i][w] = witnesses[w].wanted & ~differences(values[list.node[i]], witnesses[w].distance);
    }
  }
  const auto try_set = [&](std::size_t i, std::size_t j, std::size_t k) {
    const std::uint8_t a = list.node[i];
    const std::uint8_t b = list.node[j];
    const std::uint8_t c = list.node[k];
    if (determine(values[a], values[b], values[c], target)) {
      (dear[a] || dear[b] || dear[c] ? rest : cheap).offer(a, b, c);
    }
  };
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i + 1; j < size; ++j) {
      const TruthTable left0 = same[i][0] & same[j][0];
      const TruthTable left1 = same[i][1] & same[j][1];
      if (fan_in == 2) {
        if ((left0 | left1) == 0) {
          try_set(i, j, j);
        }
        continue;
      }
      for (std::size_t k = j + 1; k < size; ++k) {
        if (((left0 & same[k][0]) | (left1 & same[k][1])) == 0) {
          try_set(i, j, k);
        }
      }
    }
  }
}

Target inner_target(const Inputs& others, int other_count, const Values& values, Target target,
                    Random& random) noexcept {
  const TruthTable on = target.table & target.mask;
  const TruthTable off = ~target.table & target.mask;
  Mixed mixed;
  const TruthTable d = values[others[0]];
  if (other_count == 1) {
    mixed.add_split(on, off, d);
  } else {
    const TruthTable e = values[others[1]];
    mixed.add_split(on & d, off & d, e);
    mixed.add_split(on & ~d, off & ~d, e);
  }
  Target inner = {0, 0};
  const std::uint64_t flips = random.next();
  for (int m = 0; m < mixed.size; ++m) {
    const auto at = static_cast<std::size_t>(m);
    inner.mask |= mixed.on[at] | mixed.off[at];
    inner.table |= (flips >> m & 1) != 0 ? mixed.off[at] : mixed.on[at];
  }
  return inner;
}

}  // namespace sbox
