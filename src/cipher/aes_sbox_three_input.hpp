// SPDX-License-Identifier: Apache-2.0
// The AES S-box (FIPS 197, section 5.1.1) as a circuit of 74 three-input gates, for processors that
// have an instruction for each of them. Intermediate values have the same names as in aes_sbox.hpp,
// the circuit of two-input gates (J. Boyar and R. Peralta, SEA 2010). No branch and no address
// depends on data.
//
// What saves gates: a sum of three takes one gate instead of two, and so does a product added to a
// sum. In the four sums before the inversion, a product ab may become ab + a, ab + b or a OR b at
// no cost, which changes the linear part of the sum. Of the 2^18 ways to do so, this circuit takes
// one whose four linear parts are values that exist anyway (u6, y10, u2, u5 instead of y18 to y21).
// Products that are needed twice are computed twice where the sum that takes them has room.
//
// Six of the sums have an operand to spare. There the circuit adds a key: see spread_key.
#pragma once

#include <cstdint>

namespace paes {

// The circuit adds key[b] to output b. A mask that it adds early reaches several outputs, so it
// takes the masks `spread`, which make up for that.
template <typename Word>
constexpr void spread_key(const Word (&key)[8], Word (&spread)[8]) noexcept {
  spread[0] = key[0];
  spread[1] = key[1];
  spread[2] = key[1] ^ key[2];
  spread[3] = key[3];
  spread[4] = key[4];
  spread[5] = key[2] ^ key[5];
  spread[6] = spread[5] ^ key[4] ^ key[6];
  spread[7] = spread[5] ^ key[7];
}

// x[i] holds bit i of the bytes, on the way in and out. The four negations at the end (bits 0, 1,
// 5, 6) are left to the key. `Gates::lut3<t>(a, b, c)` is bit (a << 2 | b << 1 | c) of t.
template <class Gates, typename Word>
[[gnu::always_inline]] constexpr void sbox_three_input(Word (&x)[8],
                                                       const Word (&spread)[8]) noexcept {
  constexpr auto and2 = [](Word a, Word b) { return a & b; };
  constexpr auto xor2 = [](Word a, Word b) { return a ^ b; };
  constexpr auto xor3 = [](Word a, Word b, Word c) { return Gates::template lut3<0x96>(a, b, c); };
  // In this order: a ^ (b & c); a ^ (b | c); a ^ (b & ~c); and b where a has a bit, else c.
  constexpr auto add_and = [](Word a, Word b, Word c) {
    return Gates::template lut3<0x78>(a, b, c);
  };
  constexpr auto add_or = [](Word a, Word b, Word c) {
    return Gates::template lut3<0x1e>(a, b, c);
  };
  constexpr auto add_andnot = [](Word a, Word b, Word c) {
    return Gates::template lut3<0xb4>(a, b, c);
  };
  constexpr auto select = [](Word a, Word b, Word c) {
    return Gates::template lut3<0xca>(a, b, c);
  };

  // The paper numbers bits from the most significant.
  const Word u0 = x[7], u1 = x[6], u2 = x[5], u3 = x[4];
  const Word u4 = x[3], u5 = x[2], u6 = x[1], u7 = x[0];

  const Word y14 = xor2(u3, u5);
  const Word y13 = xor2(u0, u6);
  const Word y9 = xor2(u0, u3);
  const Word y8 = xor2(u0, u5);
  const Word y12 = xor2(y13, y14);
  const Word y1 = xor3(u1, u2, u7);
  const Word y4 = xor2(y1, u3);
  const Word y2 = xor2(y1, u0);
  const Word y5 = xor2(y1, u6);
  const Word y3 = xor2(y5, y8);
  const Word y15 = xor3(u4, y12, u5);
  const Word y6 = xor2(y15, u7);
  const Word y10 = xor3(y15, u1, u2);
  const Word y17 = xor3(y8, u2, u3);
  const Word y11 = xor2(y10, y17);
  const Word y7 = xor2(u7, y11);
  const Word y16 = xor3(u1, u2, y11);

  // The norm, down to GF(2^4).
  const Word t2 = and2(y12, y15);
  const Word t4 = add_or(t2, y3, y6);
  const Word t6 = add_and(t2, y4, u7);
  const Word t7 = Gates::template lut3<0x30>(y16, y13, y13);  // y16 & ~y13
  const Word t9 = add_or(t7, y5, y1);
  const Word t11 = add_and(t7, y2, y7);
  const Word t12 = and2(y9, y11);
  const Word t14 = add_or(t12, y14, y17);
  const Word t16 = add_andnot(t12, y8, y10);
  const Word t21 = xor3(t4, t14, u6);
  const Word t22 = xor3(t6, t16, y10);
  const Word t23 = xor3(t9, t14, u2);
  const Word t24 = xor3(t11, t16, u5);

  // The inverse in GF(2^4).
  const Word t27 = add_and(t24, t21, t23);
  const Word t31 = add_and(t22, t21, t23);
  const Word t29 = select(t27, t21, t22);
  const Word t33 = select(t31, t23, t24);
  const Word t37 = xor2(select(t24, t27, t33), t23);
  const Word t40 = xor2(select(t22, t31, t29), t21);
  const Word t41 = xor2(t40, t37);
  const Word t42 = xor2(t29, t33);
  const Word t43 = xor2(t29, t40);
  const Word t44 = xor2(t33, t37);
  const Word t45 = xor2(t42, t41);

  // Times the conjugate, and back to the standard's basis together with the affine map's matrix.
  const Word z16 = and2(t45, y14);
  const Word t46 = add_and(z16, t42, y9);  // + z15
  const Word z5 = and2(t29, y7);
  const Word t48 = add_and(z5, t40, y5);  // + z13
  const Word z3 = and2(t43, y16);
  const Word t53 = add_and(z3, t44, y15);  // + z0
  const Word z7 = and2(t45, y17);
  const Word t54 = add_and(z7, t42, y11);  // + z6
  const Word t59 = xor3(t54, z3, spread[5]);
  const Word z2 = and2(t33, u7);
  const Word z12 = and2(t43, y13);
  const Word t57 = xor3(z2, z12, t53);
  const Word t58 = add_and(t46, t40, y1);                        // + z4
  const Word t62 = add_and(xor3(t58, z7, spread[1]), t41, y10);  // + z8
  const Word t63 = add_and(add_and(t58, t44, y12), t37, y3);     // + z9 + z10
  const Word t64 = add_and(t59, t40, y1);                        // + z4
  const Word t65 = xor3(add_and(t57, t29, y2), t62, spread[2]);  // + z14
  const Word t66 = add_and(t63, t37, y6);                        // + z1
  const Word s3 = xor3(t53, t66, spread[4]);
  x[7] = xor3(t59, t63, spread[7]);
  x[6] = xor3(t64, s3, spread[6]);
  x[5] = xor3(add_and(z16, t41, y8), t64, t65);  // + z17
  x[4] = s3;
  x[3] = xor2(xor3(z2, z5, t66), spread[3]);
  x[2] = add_and(add_and(t65, t37, y3), t33, y4);  // + z10 + z11
  x[1] = xor3(z12, t48, t62);
  x[0] = xor2(xor3(t48, t46, t57), spread[0]);
}

}  // namespace paes
