// SPDX-License-Identifier: Apache-2.0
// The AES S-box (FIPS 197, section 5.1.1) as a circuit of 32 AND, 79 XOR and 4 XNOR gates, for
// whatever type has these operators: each bit position of the eight words is a byte of its own.
// No branch and no address depends on data. The equations are those of J. Boyar and R. Peralta, "A
// new combinational logic minimization technique with applications to cryptology", SEA 2010.
#pragma once

namespace paes {

// x[i] holds bit i of the bytes (bit 0 is the least significant), on the way in and out. The four
// negations at the end (bits 0, 1, 5, 6: the affine constant 0x63) are left out. Callers that run
// many rounds put them into the round keys; others use sbox_circuit.
template <typename Word>
[[gnu::always_inline]] constexpr void sbox_circuit_without_constant(Word (&x)[8]) noexcept {
  // The paper numbers bits from the most significant.
  const Word u0 = x[7], u1 = x[6], u2 = x[5], u3 = x[4];
  const Word u4 = x[3], u5 = x[2], u6 = x[1], u7 = x[0];

  // The change of basis to GF(((2^2)^2)^2), and the sums that the products below need.
  const Word y14 = u3 ^ u5;
  const Word y13 = u0 ^ u6;
  const Word y9 = u0 ^ u3;
  const Word y8 = u0 ^ u5;
  const Word t0 = u1 ^ u2;
  const Word y1 = t0 ^ u7;
  const Word y4 = y1 ^ u3;
  const Word y12 = y13 ^ y14;
  const Word y2 = y1 ^ u0;
  const Word y5 = y1 ^ u6;
  const Word y3 = y5 ^ y8;
  const Word t1 = u4 ^ y12;
  const Word y15 = t1 ^ u5;
  const Word y20 = t1 ^ u1;
  const Word y6 = y15 ^ u7;
  const Word y10 = y15 ^ t0;
  const Word y11 = y20 ^ y9;
  const Word y7 = u7 ^ y11;
  const Word y17 = y10 ^ y11;
  const Word y19 = y10 ^ y8;
  const Word y16 = t0 ^ y11;
  const Word y21 = y13 ^ y16;
  const Word y18 = u0 ^ y16;

  // The norm, down to GF(2^4).
  const Word t2 = y12 & y15;
  const Word t4 = (y3 & y6) ^ t2;
  const Word t6 = (y4 & u7) ^ t2;
  const Word t7 = y13 & y16;
  const Word t9 = (y5 & y1) ^ t7;
  const Word t11 = (y2 & y7) ^ t7;
  const Word t12 = y9 & y11;
  const Word t14 = (y14 & y17) ^ t12;
  const Word t16 = (y8 & y10) ^ t12;
  const Word t21 = t4 ^ t14 ^ y20;
  const Word t22 = t6 ^ t16 ^ y19;
  const Word t23 = t9 ^ t14 ^ y21;
  const Word t24 = t11 ^ t16 ^ y18;

  // The inverse in GF(2^4).
  const Word t25 = t21 ^ t22;
  const Word t26 = t21 & t23;
  const Word t27 = t24 ^ t26;
  const Word t29 = (t25 & t27) ^ t22;
  const Word t30 = t23 ^ t24;
  const Word t31 = t22 ^ t26;
  const Word t33 = (t31 & t30) ^ t24;
  const Word t34 = t23 ^ t33;
  const Word t35 = t27 ^ t33;
  const Word t36 = t24 & t35;
  const Word t37 = t36 ^ t34;
  const Word t38 = t27 ^ t36;
  const Word t40 = t25 ^ (t29 & t38);
  const Word t41 = t40 ^ t37;
  const Word t42 = t29 ^ t33;
  const Word t43 = t29 ^ t40;
  const Word t44 = t33 ^ t37;
  const Word t45 = t42 ^ t41;

  // Times the conjugate: the inverse in GF(2^8).
  const Word z0 = t44 & y15;
  const Word z1 = t37 & y6;
  const Word z2 = t33 & u7;
  const Word z3 = t43 & y16;
  const Word z4 = t40 & y1;
  const Word z5 = t29 & y7;
  const Word z6 = t42 & y11;
  const Word z7 = t45 & y17;
  const Word z8 = t41 & y10;
  const Word z9 = t44 & y12;
  const Word z10 = t37 & y3;
  const Word z11 = t33 & y4;
  const Word z12 = t43 & y13;
  const Word z13 = t40 & y5;
  const Word z14 = t29 & y2;
  const Word z15 = t42 & y9;
  const Word z16 = t45 & y14;
  const Word z17 = t41 & y8;

  // Back to the standard's basis, together with the affine map's matrix.
  const Word t46 = z15 ^ z16;
  const Word t48 = z5 ^ z13;
  const Word t53 = z0 ^ z3;
  const Word t54 = z6 ^ z7;
  const Word t57 = z2 ^ z12 ^ t53;
  const Word t58 = z4 ^ t46;
  const Word t59 = z3 ^ t54;
  const Word t60 = t46 ^ t57;
  const Word t61 = z14 ^ t57;
  const Word t62 = z7 ^ z8 ^ t58;
  const Word t63 = z9 ^ z10 ^ t58;
  const Word t64 = z4 ^ t59;
  const Word t65 = t61 ^ t62;
  const Word t66 = z1 ^ t63;
  const Word s3 = t53 ^ t66;
  x[7] = t59 ^ t63;
  x[6] = t64 ^ s3;
  x[5] = z16 ^ z17 ^ t64 ^ t65;
  x[4] = s3;
  x[3] = z2 ^ z5 ^ t66;
  x[2] = z10 ^ z11 ^ t65;
  x[1] = z12 ^ t48 ^ t62;
  x[0] = t48 ^ t60;
}

template <typename Word>
[[gnu::always_inline]] constexpr void sbox_circuit(Word (&x)[8]) noexcept {
  sbox_circuit_without_constant(x);
  x[0] = ~x[0];
  x[1] = ~x[1];
  x[5] = ~x[5];
  x[6] = ~x[6];
}

}  // namespace paes
