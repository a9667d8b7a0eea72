// SPDX-License-Identifier: Apache-2.0
// The S-boxes of DES as circuits of two-input gates, for bit slicing (E. Biham, FSE 1997). Made by
// `sbox emit 2 bench/sbox/two_input.circuits`, so that a change belongs there:
// tests/campaign/sbox/sbox.sh checks that it still says this, tests/unit/cipher/des_sbox_test.cpp
// every box at every input.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4) or its complement: bit i - 1 of complemented_outputs says which.
// 351 gates in all.
#pragma once

#include <cstdint>

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges

struct DesTwoInputSboxes {
  static constexpr std::uint8_t complemented_outputs[8] = {7, 15, 5, 14, 4, 3, 2, 11};

  // 48 gates; at most 13 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_1(Box box) noexcept {
    const auto a5 = box.input(5), a1 = box.input(1), g1 = a1 & ~a5, a4 = box.input(4), g2 = g1 ^ a4;
    const auto g3 = a4 ^ a1, g4 = g3 | g2, a6 = box.input(6), g5 = a6 | g3, g6 = g5 ^ a5;
    const auto g7 = g6 & a1, g8 = a6 | g7, g9 = g8 ^ a5, g10 = a4 & ~g9, g11 = a6 & a1;
    const auto g12 = g9 ^ a6, g13 = g4 & ~g9, g14 = g8 & ~g2, a3 = box.input(3), g15 = g8 & ~a3;
    const auto g16 = g15 ^ g13, g17 = g13 | a3, g18 = a1 & g17, g19 = g18 ^ g10, g20 = g12 ^ g14;
    const auto g21 = a3 | g12, g22 = g20 & ~g19, g23 = g22 ^ g13, g24 = g22 | g6, g25 = g11 ^ g24;
    const auto g26 = g19 & ~g24, g27 = g26 ^ a3, g28 = g21 & ~g22, g29 = g25 ^ g17, g30 = g16 ^ g25;
    const auto g31 = g21 & ~g27, a2 = box.input(2), g32 = g16 | a2, g33 = g32 ^ g4, g34 = g28 ^ g33;
    box.output(2, g34);
    const auto g35 = g34 | g14, g36 = g27 & a2, g37 = g29 ^ a2, g38 = g35 & ~a2, g39 = a3 | a2;
    const auto g40 = g36 & ~g2, g41 = g37 ^ g40;
    box.output(1, g41);
    const auto g42 = g39 ^ g6, g43 = g6 & g39, g44 = g42 | g30, g45 = g44 ^ g38, g46 = g31 ^ g45;
    box.output(4, g46);
    const auto g47 = g23 ^ g43, g48 = g47 ^ g36;
    box.output(3, g48);
  }

  // 45 gates; at most 14 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_2(Box box) noexcept {
    const auto a6 = box.input(6), a5 = box.input(5), g1 = a6 ^ a5, a1 = box.input(1), g2 = a1 & g1;
    const auto g3 = a5 & ~g2, g4 = a5 ^ a1, g5 = a6 | a1, g6 = g5 ^ g3, a2 = box.input(2);
    const auto g7 = a2 | g3, g8 = g6 ^ a2, g9 = g8 & ~g2, g10 = g9 ^ g4, g11 = g10 & ~a6;
    const auto g12 = g9 ^ g11, g13 = g12 ^ a1, a4 = box.input(4), g14 = a4 & g7, g15 = g14 ^ g12;
    const auto g16 = a6 | g8, g17 = a4 & a6, g18 = g17 | g6, g19 = g13 & ~g8, g20 = g6 & ~g19;
    const auto g21 = a4 | g19, g22 = g13 & ~a4, g23 = g22 & g10, a3 = box.input(3), g24 = a3 ^ g23;
    const auto g25 = g4 ^ a3, g26 = g25 ^ g16, g27 = g26 | g20, g28 = g18 ^ g27, g29 = g10 ^ g28;
    const auto g30 = a3 & g27, g31 = g30 ^ g15;
    box.output(1, g31);
    const auto g32 = g16 & a3, g33 = g32 | g29, g34 = g33 ^ a4, g35 = g34 | g11, g36 = g20 & g35;
    const auto g37 = g35 ^ g25;
    box.output(2, g37);
    const auto g38 = g29 ^ g21, g39 = g38 ^ g5;
    box.output(4, g39);
    const auto g40 = g5 & ~g37, g41 = g21 ^ g40, g42 = g36 ^ g24, g43 = g41 & ~g42, g44 = g8 ^ g43;
    const auto g45 = g44 ^ g36;
    box.output(3, g45);
  }

  // 48 gates; at most 14 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_3(Box box) noexcept {
    const auto a6 = box.input(6), a3 = box.input(3), g1 = a6 ^ a3, a5 = box.input(5), g2 = a6 | a5;
    const auto g3 = g1 ^ g2, g4 = a3 & g3, g5 = g2 ^ g4, a4 = box.input(4), g6 = g5 ^ a4;
    const auto g7 = a3 | g6, g8 = g6 ^ a5, g9 = g2 & ~g6, g10 = g1 ^ g9, g11 = g8 & ~g6;
    const auto g12 = g8 & ~g10, g13 = a6 & ~g12, a1 = box.input(1), g14 = a1 & ~g5, g15 = g2 & ~a1;
    const auto g16 = g13 ^ g8, g17 = g16 & ~g15, g18 = g10 ^ g17, g19 = g18 ^ g11, g20 = g13 | g19;
    const auto g21 = g18 & ~g11, g22 = g21 ^ a6, g23 = g7 & ~g8, g24 = g14 & ~g23;
    const auto a2 = box.input(2), g25 = g24 | a2, g26 = g19 ^ g25;
    box.output(4, g26);
    const auto g27 = g26 & ~g7, g28 = a2 & ~g10, g29 = g23 ^ g28, g30 = g29 | g10, g31 = g30 & a6;
    const auto g32 = g4 & a2, g33 = g4 | a2, g34 = g31 ^ g33, g35 = g3 & ~g32, g36 = a1 ^ g32;
    const auto g37 = g27 | g36, g38 = g34 | g22, g39 = g34 ^ g37, g40 = g39 ^ g11;
    box.output(2, g40);
    const auto g41 = g38 & ~g39, g42 = g25 & ~g41, g43 = g20 ^ g42, g44 = g43 | a1, g45 = g44 ^ g29;
    box.output(3, g45);
    const auto g46 = g38 & ~a1, g47 = g46 ^ g8, g48 = g35 ^ g47;
    box.output(1, g48);
  }

  // 33 gates; at most 10 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_4(Box box) noexcept {
    const auto a5 = box.input(5), a2 = box.input(2), g1 = a5 ^ a2, a4 = box.input(4), g2 = a4 ^ a2;
    const auto g3 = g2 & ~g1, a3 = box.input(3), g4 = g3 ^ a3, g5 = a2 & ~g4, g6 = a4 ^ g4;
    const auto g7 = g2 & g4, g8 = g6 ^ g5, g9 = g1 ^ g8, g10 = g9 | g6, g11 = g10 ^ a3;
    const auto g12 = g3 ^ g9, g13 = g9 | g5, g14 = g11 | g2, g15 = g13 & ~g7, a1 = box.input(1);
    const auto g16 = g14 & a1, g17 = g11 | a1, g18 = g17 | g12, g19 = g18 ^ a5, a6 = box.input(6);
    const auto g20 = a6 ^ g13, g21 = g20 ^ g19, g22 = g21 & ~a6, g23 = g22 ^ g16, g24 = g23 ^ g15;
    box.output(4, g24);
    const auto g25 = g21 ^ g24;
    box.output(3, g25);
    const auto g26 = g16 & ~g8, g27 = g20 ^ g26, g28 = g27 ^ a4, g29 = a6 | g28, g30 = g29 ^ g17;
    const auto g31 = g30 ^ a5, g32 = g31 ^ g8;
    box.output(1, g32);
    const auto g33 = g32 ^ g28;
    box.output(2, g33);
  }

  // 50 gates; at most 14 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_5(Box box) noexcept {
    const auto a6 = box.input(6), a1 = box.input(1), g1 = a6 ^ a1, a4 = box.input(4), g2 = a6 | a4;
    const auto g3 = a4 & a1, g4 = g1 ^ g3, a3 = box.input(3), g5 = g2 ^ a3, g6 = g5 & ~g4;
    const auto g7 = g2 | g6, g8 = a4 ^ g6, g9 = g1 ^ g8, g10 = g4 ^ a3, g11 = g9 & ~g10;
    const auto g12 = g10 & g7, g13 = a4 | g11, g14 = g9 & g13, g15 = g12 ^ a1, g16 = g4 ^ g14;
    const auto g17 = g15 ^ g8, g18 = g3 | g17, a2 = box.input(2), g19 = a3 ^ a2, g20 = g19 ^ g11;
    const auto g21 = g18 ^ g19, g22 = g15 ^ g19, g23 = g8 & a2, g24 = g22 | g23, g25 = g13 & ~a2;
    const auto g26 = g25 & ~g17, g27 = a2 & ~g16, g28 = g12 ^ g24, g29 = g12 ^ g26, g30 = g6 ^ g28;
    const auto g31 = g15 & ~g6, g32 = g31 ^ g26, g33 = g14 & ~g31, a5 = box.input(5);
    const auto g34 = g32 | a5, g35 = g30 ^ g34;
    box.output(1, g35);
    const auto g36 = g35 | g16, g37 = a5 & ~g33, g38 = g37 ^ g25, g39 = g15 ^ g38;
    box.output(2, g39);
    const auto g40 = g38 & g36, g41 = g14 & ~g38, g42 = g29 | g41, g43 = g5 ^ g40, g44 = a5 & g7;
    const auto g45 = g27 ^ a5, g46 = g44 | g43, g47 = g46 ^ g21;
    box.output(3, g47);
    const auto g48 = g46 ^ g42, g49 = g45 & ~g48, g50 = g49 ^ g20;
    box.output(4, g50);
  }

  // 48 gates; at most 14 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_6(Box box) noexcept {
    const auto a4 = box.input(4), a5 = box.input(5), g1 = a5 & ~a4, a1 = box.input(1), g2 = g1 ^ a1;
    const auto a3 = box.input(3), g3 = a3 | a5, g4 = g2 & g3, g5 = g4 & ~g1, g6 = a4 ^ g5;
    const auto g7 = g2 ^ g5, g8 = a5 ^ g7, g9 = a3 & ~g8, g10 = g2 | g9, g11 = g6 ^ a3;
    const auto g12 = g11 ^ a1, g13 = g3 ^ g12, g14 = g9 ^ g13, a6 = box.input(6), g15 = a6 & ~g11;
    const auto g16 = a6 & ~g12, g17 = g16 | a3, g18 = g17 | a4, g19 = g18 ^ g15, g20 = g19 & g17;
    const auto g21 = g16 ^ g20, g22 = g21 & ~g14, g23 = a6 | g8, g24 = g23 ^ g13, g25 = a6 ^ g22;
    const auto a2 = box.input(2), g26 = a2 & ~g20, g27 = g25 ^ g26, g28 = g27 ^ g4;
    box.output(1, g28);
    const auto g29 = a1 & ~g28, g30 = a5 & ~g29, g31 = g19 & ~a2, g32 = a2 & ~g6, g33 = g30 & ~a6;
    const auto g34 = g33 ^ g10, g35 = g34 & a2, g36 = g30 ^ g4, g37 = g36 & ~g28, g38 = a6 & ~g37;
    const auto g39 = g14 ^ g38, g40 = g39 ^ g32;
    box.output(2, g40);
    const auto g41 = g39 ^ g1, g42 = g25 & g41, g43 = g24 ^ g35, g44 = g43 ^ g4;
    box.output(3, g44);
    const auto g45 = g24 | g4, g46 = g23 ^ g45, g47 = g42 ^ g46, g48 = g47 ^ g31;
    box.output(4, g48);
  }

  // 43 gates; at most 12 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_7(Box box) noexcept {
    const auto a6 = box.input(6), a4 = box.input(4), g1 = a6 ^ a4, a5 = box.input(5), g2 = a5 | a4;
    const auto a3 = box.input(3), g3 = g1 | a3, a2 = box.input(2), g4 = g3 ^ a2, g5 = g4 & ~g1;
    const auto g6 = a6 ^ g5, g7 = g5 & a6, g8 = g4 & ~a3, g9 = g6 & ~g4, g10 = a3 & ~g6;
    const auto g11 = g6 & ~a3, g12 = g10 & ~a5, g13 = g1 & ~g12, g14 = a5 ^ g11, g15 = g14 ^ g7;
    const auto g16 = g15 & ~g7, g17 = g16 ^ g8, g18 = g15 ^ g3, g19 = g13 ^ g18, g20 = g19 ^ a2;
    const auto g21 = g19 ^ g17, g22 = g21 ^ g10, g23 = g3 & g9, g24 = g9 & g20, g25 = g20 ^ g23;
    const auto a1 = box.input(1), g26 = a1 & ~g24, g27 = g2 ^ g26, g28 = g21 ^ g27;
    box.output(4, g28);
    const auto g29 = g17 & g22, g30 = g29 & g3, g31 = g27 ^ g30, g32 = g31 ^ g8, g33 = g32 & ~a6;
    const auto g34 = g25 & g17, g35 = a1 | g33, g36 = g35 & ~g32, g37 = g25 ^ g36;
    box.output(1, g37);
    const auto g38 = g22 | a1, g39 = g20 ^ g38;
    box.output(2, g39);
    const auto g40 = g39 ^ g34, g41 = g40 | g11, g42 = g41 ^ g22, g43 = g35 ^ g42;
    box.output(3, g43);
  }

  // 36 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_8(Box box) noexcept {
    const auto a2 = box.input(2), a4 = box.input(4), g1 = a2 | a4, a3 = box.input(3), g2 = a3 & g1;
    const auto g3 = a3 | a2, a5 = box.input(5), g4 = a5 ^ g3, g5 = g2 | g4, g6 = a4 ^ g5;
    const auto g7 = a5 | a4, g8 = g7 & ~g6, g9 = g8 ^ a2, a1 = box.input(1), g10 = g2 ^ a1;
    const auto a6 = box.input(6), g11 = a1 & ~a6, g12 = g7 & ~g11, g13 = g9 & ~g12, g14 = g4 ^ g13;
    const auto g15 = a1 & ~g14, g16 = g15 ^ g9, g17 = a5 & ~g14, g18 = g16 & ~g17, g19 = g16 ^ g10;
    const auto g20 = g12 ^ g19, g21 = a4 ^ g18, g22 = g20 & ~a4, g23 = g22 & a6, g24 = g23 ^ g15;
    const auto g25 = g24 & ~g8, g26 = g4 & g23, g27 = g14 | g25, g28 = g20 ^ g27, g29 = g28 ^ g7;
    box.output(3, g29);
    const auto g30 = a6 ^ g20;
    box.output(2, g30);
    const auto g31 = a6 ^ g21, g32 = a6 & g31, g33 = g32 ^ g10, g34 = g33 ^ g14;
    box.output(1, g34);
    const auto g35 = g34 ^ g26, g36 = g35 ^ g31;
    box.output(4, g36);
  }
};

}  // namespace
}  // namespace paes
