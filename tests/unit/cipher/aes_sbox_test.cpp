// SPDX-License-Identifier: Apache-2.0
// The circuits of AES's S-box against its definition, at every input: all 256 at once, one in each
// bit of a wire. Of the three-input one also how many gates it takes, that each of them counts (a
// wrong one is noticed), and that it adds a key.
#include "cipher/aes_sbox.hpp"

#include <gtest/gtest.h>

#include <bitset>

#include "cipher/aes_compute.hpp"
#include "cipher/aes_sbox_three_input.hpp"

namespace paes {
namespace {

using Bits = std::bitset<256>;

// Counts gates, and makes one of them wrong.
struct Trace {
  unsigned gates = 0;
  unsigned wrong_gate = 0;  // from 1; 0: none
};
thread_local Trace trace;

struct Wire {
  Bits bits;
};
Wire gate(const Bits& bits) {
  ++trace.gates;
  return {trace.gates == trace.wrong_gate ? ~bits : bits};
}
Wire operator&(const Wire& a, const Wire& b) { return gate(a.bits & b.bits); }
Wire operator^(const Wire& a, const Wire& b) { return gate(a.bits ^ b.bits); }

struct Gates {
  template <unsigned Table>
  static Wire lut3(const Wire& a, const Wire& b, const Wire& c) {
    Bits bits;
    for (unsigned x = 0; x < bits.size(); ++x) {
      const unsigned cell =
          unsigned{a.bits[x]} << 2 | unsigned{b.bits[x]} << 1 | unsigned{c.bits[x]};
      bits[x] = (Table >> cell & 1) != 0;
    }
    return gate(bits);
  }
};

void load_all_inputs(Wire (&wire)[8]) {
  for (unsigned x = 0; x < 256; ++x) {
    for (unsigned b = 0; b < 8; ++b) {
      wire[b].bits[x] = (x >> b & 1) != 0;
    }
  }
}

bool is_sbox(const Wire (&wire)[8], unsigned added) {
  for (unsigned x = 0; x < 256; ++x) {
    unsigned image = 0;
    for (unsigned b = 0; b < 8; ++b) {
      image |= unsigned{wire[b].bits[x]} << b;
    }
    if (image != (aes_compute::sbox.image[x] ^ added)) {
      return false;
    }
  }
  return true;
}

constexpr unsigned affine_constant = 0x63;

// The three-input circuit with a key; returns whether it is right.
bool is_three_input_right(unsigned key, unsigned wrong_gate) {
  Wire wire[8];
  load_all_inputs(wire);
  Wire added[8];
  for (unsigned b = 0; b < 8; ++b) {
    added[b].bits = (key >> b & 1) != 0 ? ~Bits() : Bits();
  }
  trace = {};
  Wire spread[8];
  spread_key(added, spread);
  trace = {0, wrong_gate};
  sbox_three_input<Gates>(wire, spread);
  return is_sbox(wire, key ^ affine_constant);
}

TEST(AesSbox, TwoInputCircuit) {
  Wire wire[8];
  load_all_inputs(wire);
  trace = {};
  sbox_circuit_without_constant(wire);
  EXPECT_TRUE(is_sbox(wire, affine_constant));
  EXPECT_EQ(trace.gates, 115U);
}

TEST(AesSbox, ThreeInputCircuitAddsAnyKey) {
  for (unsigned key = 0; key < 256; ++key) {
    EXPECT_TRUE(is_three_input_right(key, 0)) << key;
  }
  const unsigned gates = trace.gates;
  EXPECT_EQ(gates, 74U + 2U);
  for (unsigned wrong_gate = 1; wrong_gate <= gates; ++wrong_gate) {
    EXPECT_FALSE(is_three_input_right(0, wrong_gate)) << "gate " << wrong_gate;
  }
}

}  // namespace
}  // namespace paes
