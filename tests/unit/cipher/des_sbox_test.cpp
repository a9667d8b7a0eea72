// SPDX-License-Identifier: Apache-2.0
// The generated S-box circuits: every box at every input against the standard's tables, how many
// gates they take, and that each of their gates counts (a wrong one is noticed).
#include <gtest/gtest.h>

#include "cipher/des_sbox_three_input.hpp"
#include "cipher/des_sbox_two_input.hpp"
#include "cipher/des_standard.hpp"

namespace paes {
namespace {

// Counts gates, and makes one of them wrong.
struct Trace {
  unsigned gates = 0;
  unsigned wrong_gate = 0;  // from 1; 0: none
};
thread_local Trace trace;

// A value for each of the 64 inputs of a box.
struct Wire {
  std::uint64_t bits;
};
struct Inverted {
  std::uint64_t bits;
};
Wire gate(std::uint64_t bits) {
  ++trace.gates;
  return {trace.gates == trace.wrong_gate ? ~bits : bits};
}
// The `~` of an ANDNOT; no operation takes it but `&`, so a NOT that is none does not compile.
Inverted operator~(Wire a) { return {~a.bits}; }
Wire operator&(Wire a, Inverted b) { return gate(a.bits & b.bits); }
Wire operator&(Wire a, Wire b) { return gate(a.bits & b.bits); }
Wire operator|(Wire a, Wire b) { return gate(a.bits | b.bits); }
Wire operator^(Wire a, Wire b) { return gate(a.bits ^ b.bits); }

struct Ports {
  std::uint64_t* outputs;

  static Wire input(unsigned i) {
    std::uint64_t bits = 0;
    for (unsigned x = 0; x < 64; ++x) {
      bits |= static_cast<std::uint64_t>(x >> (6 - i) & 1) << x;
    }
    return {bits};
  }
  void output(unsigned i, Wire value) const { outputs[i - 1] = value.bits; }
  template <unsigned Table>
  static Wire lut3(Wire a, Wire b, Wire c) {
    std::uint64_t bits = 0;
    for (unsigned x = 0; x < 64; ++x) {
      const std::uint64_t cell =
          (a.bits >> x & 1) << 2 | (b.bits >> x & 1) << 1 | (c.bits >> x & 1);
      bits |= (Table >> cell & std::uint64_t{1}) << x;
    }
    return gate(bits);
  }
};

template <class Sboxes>
void run(unsigned box, Ports ports) {
  switch (box) {
    case 0:
      return Sboxes::sbox_1(ports);
    case 1:
      return Sboxes::sbox_2(ports);
    case 2:
      return Sboxes::sbox_3(ports);
    case 3:
      return Sboxes::sbox_4(ports);
    case 4:
      return Sboxes::sbox_5(ports);
    case 5:
      return Sboxes::sbox_6(ports);
    case 6:
      return Sboxes::sbox_7(ports);
    default:
      return Sboxes::sbox_8(ports);
  }
}

// Whether the box is right at every input, with gate `wrong_gate` made wrong.
template <class Sboxes>
bool is_right(unsigned box, unsigned wrong_gate) {
  std::uint64_t outputs[4] = {};
  trace = {0, wrong_gate};
  run<Sboxes>(box, Ports{outputs});
  for (unsigned x = 0; x < 64; ++x) {
    unsigned entry = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned complemented = Sboxes::complemented_outputs[box] >> i & 1U;
      entry = entry << 1 | (static_cast<unsigned>(outputs[i] >> x & 1) ^ complemented);
    }
    if (entry != des_standard::sbox_entry(box, x)) {
      return false;
    }
  }
  return true;
}

// Returns the gates of all eight boxes; a complemented output counts as a NOT.
template <class Sboxes>
unsigned check_all(const char* name) {
  unsigned sum = 0;
  unsigned nots = 0;
  for (unsigned box = 0; box < 8; ++box) {
    EXPECT_TRUE(is_right<Sboxes>(box, 0)) << name << ", box " << box + 1;
    const unsigned gates = trace.gates;
    for (unsigned wrong_gate = 1; wrong_gate <= gates; ++wrong_gate) {
      EXPECT_FALSE(is_right<Sboxes>(box, wrong_gate))
          << name << ", box " << box + 1 << ": gate " << wrong_gate << " does not matter";
    }
    sum += gates;
    nots += static_cast<unsigned>(__builtin_popcount(Sboxes::complemented_outputs[box]));
    std::printf("%s: box %u: %u gates\n", name, box + 1, gates);
  }
  std::printf("%s: %.2f gates a box, %.2f with a NOT for each complemented output\n", name,
              sum / 8.0, (sum + nots) / 8.0);
  return sum + nots;
}

TEST(DesSboxes, TwoInputCircuitsComputeTheStandardsTables) {
  EXPECT_LE(check_all<DesTwoInputSboxes>("two-input"), 8 * 47U);
}

TEST(DesSboxes, ThreeInputCircuitsComputeTheStandardsTables) {
  EXPECT_LE(check_all<DesThreeInputSboxes>("three-input"), 8 * 22U);
}

}  // namespace
}  // namespace paes
