// The S-boxes of DES as circuits of two-input gates, for bit slicing (E. Biham, FSE 1997). Made by
// `sbox emit 2 bench/sbox/two_input.circuits`, so that a change belongs there: tests/sbox/sbox.sh
// checks that it still says this, tests/cipher/des_sbox_test.cpp every box at every input.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4) or its complement: bit i - 1 of complemented_outputs says which.
// 384 gates in all.
#pragma once

#include <cstdint>

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges

struct DesTwoInputSboxes {
  static constexpr std::uint8_t complemented_outputs[8] = {7, 15, 5, 14, 4, 3, 2, 11};

  // 53 gates; at most 13 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_1(Box box) noexcept {
    const auto a1 = box.input(1), a5 = box.input(5), g1 = a1 & ~a5, a4 = box.input(4), g2 = a1 ^ a4;
    const auto g3 = a4 ^ g1, g4 = a1 & g3, a6 = box.input(6), g5 = g1 & ~a6, g6 = a1 & a6;
    const auto g7 = a5 & ~g4, g8 = a6 | g4, g9 = g7 & g8, g10 = a6 | g2, g11 = a5 ^ g10;
    const auto g12 = a5 ^ g8, g13 = a6 & ~g3, a3 = box.input(3), g14 = a3 | g5, g15 = g8 & ~a3;
    const auto g16 = g6 | g3, g17 = g16 ^ g11, g18 = a3 & ~g17, g19 = g9 | g18, g20 = g2 | g19;
    const auto g21 = g12 & g20, g22 = g21 ^ g14, g23 = g18 | g22, g24 = g2 | g3, g25 = g2 ^ g23;
    const auto g26 = g25 & ~g3, g27 = g24 & ~g21, g28 = g11 | g25, g29 = g24 & ~g19;
    const auto g30 = g11 | g29, g31 = g24 ^ g19, g32 = a3 | g27, g33 = g6 ^ g32, g34 = g6 & g30;
    const auto g35 = g33 ^ g30, g36 = g33 | g13, g37 = g23 | g36, g38 = g27 ^ g15, g39 = g35 ^ g15;
    const auto g40 = a3 | g39, g41 = g28 & ~g38, g42 = g34 ^ g41, g43 = g42 ^ g37;
    const auto a2 = box.input(2), g44 = a2 & ~g26, g45 = g35 ^ g44;
    box.output(1, g45);
    const auto g46 = a2 | g38, g47 = g31 ^ g46;
    box.output(2, g47);
    const auto g48 = g47 | g13, g49 = g40 ^ g48, g50 = g28 & ~a2, g51 = g22 ^ g50;
    box.output(3, g51);
    const auto g52 = a2 | g49, g53 = g43 ^ g52;
    box.output(4, g53);
  }

  // 49 gates; at most 13 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_2(Box box) noexcept {
    const auto a2 = box.input(2), a6 = box.input(6), g1 = a2 ^ a6, g2 = a6 & g1, a5 = box.input(5);
    const auto g3 = a5 & a6, g4 = a5 ^ g2, g5 = g4 & ~a2, a1 = box.input(1), g6 = a1 ^ g4;
    const auto g7 = g2 | g6, g8 = g7 & ~g3, g9 = a5 & ~g8, g10 = a6 | g9, g11 = a1 ^ g9;
    const auto g12 = g4 | g11, g13 = g10 ^ g5, g14 = g8 ^ g13, g15 = a5 ^ g14, g16 = g14 & ~g1;
    const auto g17 = g7 & ~g16, g18 = g12 & ~g15, a4 = box.input(4), g19 = a4 | g18;
    const auto g20 = g17 ^ g19, g21 = g11 ^ g17, g22 = g5 | g21, g23 = a4 & ~g13, g24 = g23 ^ g21;
    const auto a3 = box.input(3), g25 = a3 | g15, g26 = g20 ^ g25;
    box.output(4, g26);
    const auto g27 = g1 & g20, g28 = g8 ^ g27, g29 = g8 & ~a4, g30 = g22 ^ g29, g31 = a4 | g28;
    const auto g32 = g1 & ~g10, g33 = a4 | g32, g34 = g3 | g32, g35 = g33 ^ g24, g36 = g34 & ~g11;
    const auto g37 = g36 ^ g30, g38 = g6 ^ g33, g39 = g1 ^ g38, g40 = g34 & g33, g41 = g2 ^ g40;
    const auto g42 = g41 & ~a3, g43 = g42 ^ g39;
    box.output(2, g43);
    const auto g44 = g10 & ~g43, g45 = g31 ^ g44, g46 = g45 & ~a3, g47 = g37 ^ g46;
    box.output(3, g47);
    const auto g48 = a3 | g36, g49 = g48 ^ g35;
    box.output(1, g49);
  }

  // 52 gates; at most 12 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_3(Box box) noexcept {
    const auto a5 = box.input(5), a6 = box.input(6), g1 = a5 | a6, g2 = a6 ^ g1, a3 = box.input(3);
    const auto g3 = a3 ^ g2, g4 = a3 & g3, g5 = g1 ^ g4, a2 = box.input(2), g6 = a2 & g4;
    const auto g7 = g3 & ~a5, a4 = box.input(4), g8 = a4 | g3, g9 = g2 ^ g8, g10 = a4 ^ g5;
    const auto g11 = g1 & g10, g12 = a3 | g10, g13 = a5 ^ g10, g14 = g3 ^ g11, g15 = g3 ^ g13;
    const auto g16 = a2 & ~g14, g17 = g12 & ~g13, g18 = g17 ^ g16, g19 = g6 ^ g15, g20 = a5 ^ g15;
    const auto g21 = a5 ^ g11, g22 = g21 & ~g11, g23 = a6 ^ g21, g24 = g5 | g23, g25 = g24 & ~a2;
    const auto g26 = a6 & ~g20, g27 = g23 | g26, g28 = g21 ^ g27, g29 = g27 ^ g25, g30 = a2 & ~g26;
    const auto g31 = g9 | g30, g32 = g30 ^ g7, g33 = g20 ^ g22, g34 = g33 & g28, g35 = g34 ^ g31;
    const auto g36 = g33 | g28, a1 = box.input(1), g37 = g35 & ~a1, g38 = g19 ^ g37;
    box.output(1, g38);
    const auto g39 = a1 & g29, g40 = a1 | a2, g41 = g33 ^ g40, g42 = g41 ^ g39;
    box.output(4, g42);
    const auto g43 = g41 & ~g12, g44 = a1 | g43, g45 = g32 ^ g44, g46 = g34 ^ g45, g47 = g22 ^ g46;
    box.output(2, g47);
    const auto g48 = g34 | g46, g49 = a2 & g48, g50 = g36 ^ g49, g51 = a1 | g50, g52 = g18 ^ g51;
    box.output(3, g52);
  }

  // 34 gates; at most 9 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_4(Box box) noexcept {
    const auto a2 = box.input(2), a4 = box.input(4), g1 = a2 ^ a4, a5 = box.input(5), g2 = g1 & ~a5;
    const auto a3 = box.input(3), g3 = g2 ^ a3, g4 = a2 | g3, g5 = g4 & ~a3, g6 = a4 ^ g4;
    const auto g7 = a5 ^ g6, g8 = g7 & ~g5, g9 = a2 ^ g8, g10 = a5 | g5, g11 = g10 & ~g6;
    const auto g12 = g3 ^ g11, g13 = g10 ^ g12, a1 = box.input(1), g14 = a1 & g11, g15 = a4 ^ g14;
    const auto g16 = g1 | g14, g17 = a1 & g16, g18 = g13 & g16, g19 = g11 ^ g18, g20 = g19 | a1;
    const auto g21 = g7 ^ g20, g22 = g13 | g20, g23 = a5 ^ g22, g24 = g9 & ~g18, g25 = g17 ^ g24;
    const auto a6 = box.input(6), g26 = a6 ^ g9, g27 = g26 ^ g23, g28 = g15 ^ g26, g29 = a6 & ~g28;
    const auto g30 = g29 ^ g21;
    box.output(2, g30);
    const auto g31 = g28 ^ g30;
    box.output(1, g31);
    const auto g32 = a6 & g27, g33 = g32 ^ g25;
    box.output(3, g33);
    const auto g34 = g27 ^ g33;
    box.output(4, g34);
  }

  // 53 gates; at most 15 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_5(Box box) noexcept {
    const auto a1 = box.input(1), a4 = box.input(4), g1 = a1 & ~a4, a6 = box.input(6), g2 = g1 ^ a6;
    const auto g3 = a4 | a6, a3 = box.input(3), g4 = a3 ^ g3, g5 = g2 & ~g4, g6 = g4 & ~g2;
    const auto g7 = g3 & ~g5, g8 = a1 ^ g7, g9 = g8 & ~g6, g10 = g6 ^ g8, g11 = a4 ^ g8;
    const auto g12 = a3 ^ g10, g13 = g7 ^ g12, g14 = a1 & ~g12, g15 = g3 & ~g14, g16 = g14 | g11;
    const auto g17 = g16 ^ a3, g18 = g12 & ~g17, g19 = g10 | g17, g20 = a1 | g19, g21 = g5 ^ g19;
    const auto g22 = g2 ^ g20, g23 = a3 ^ g22, g24 = a4 | g23, g25 = g14 ^ g23, a2 = box.input(2);
    const auto g26 = a2 & ~g18, g27 = g24 & ~a2, g28 = g27 & ~g11, g29 = g9 ^ g28, g30 = g27 ^ g21;
    const auto a5 = box.input(5), g31 = a5 | g29, g32 = g13 ^ g31, g33 = g32 ^ g26;
    box.output(1, g33);
    const auto g34 = g24 | g33, g35 = a5 & ~g25, g36 = g10 ^ g35, g37 = g27 ^ g36;
    box.output(2, g37);
    const auto g38 = a5 ^ g34, g39 = g38 & ~g30, g40 = a5 & ~g39, g41 = g4 | g40, g42 = g17 ^ g41;
    const auto g43 = a2 | g39, g44 = g43 ^ g42;
    box.output(3, g44);
    const auto g45 = g23 ^ g42, g46 = g45 & ~g30, g47 = a5 & ~g46, g48 = g46 | g15, g49 = g22 ^ g47;
    const auto g50 = g47 & ~g10, g51 = g48 & ~g50, g52 = a2 & g51, g53 = g49 ^ g52;
    box.output(4, g53);
  }

  // 51 gates; at most 15 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_6(Box box) noexcept {
    const auto a4 = box.input(4), a5 = box.input(5), g1 = a5 & ~a4, a3 = box.input(3), g2 = a3 | a5;
    const auto a1 = box.input(1), g3 = a1 ^ g1, g4 = g2 & g3, g5 = a4 ^ g4, g6 = g5 & ~g1;
    const auto g7 = a5 ^ g6, g8 = g5 ^ g7, g9 = g2 & g7, g10 = a4 ^ g9, g11 = a1 ^ g2;
    const auto g12 = a3 & ~g8, g13 = g3 | g12, g14 = g9 & g13, g15 = g13 ^ g11, g16 = a3 ^ g11;
    const auto g17 = g12 ^ g16, g18 = g4 ^ g16, g19 = a1 & g18, a6 = box.input(6), g20 = a6 | g19;
    const auto g21 = a5 & ~g20, g22 = g13 ^ g21, g23 = g8 | g20, g24 = g18 ^ g23, g25 = g6 ^ g24;
    const auto g26 = g4 | g25, g27 = g23 ^ g26, g28 = g1 ^ g25, g29 = g20 & ~g28, g30 = g28 & ~g17;
    const auto g31 = a6 & ~g30, g32 = g14 ^ g31, g33 = a1 & g32, g34 = a3 | g33, g35 = g34 & ~g29;
    const auto a2 = box.input(2), g36 = a2 & g22, g37 = g25 ^ g36;
    box.output(3, g37);
    const auto g38 = a2 | g6, g39 = g34 ^ g38, g40 = g35 | g39, g41 = g40 & ~a2, g42 = a2 & ~g35;
    const auto g43 = g32 ^ g42;
    box.output(1, g43);
    const auto g44 = g15 & ~g43, g45 = a6 & ~g44, g46 = g17 ^ g45, g47 = g38 ^ g46;
    box.output(2, g47);
    const auto g48 = g46 ^ g10, g49 = g31 & g48, g50 = g49 ^ g27, g51 = g50 ^ g41;
    box.output(4, g51);
  }

  // 48 gates; at most 14 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_7(Box box) noexcept {
    const auto a4 = box.input(4), a6 = box.input(6), g1 = a4 ^ a6, g2 = a4 & ~g1, a2 = box.input(2);
    const auto g3 = a2 | g1, g4 = a2 | g2, g5 = g1 ^ g4, a3 = box.input(3), g6 = a2 | a3;
    const auto g7 = g1 ^ g6, g8 = a6 ^ g3, g9 = a3 ^ g8, g10 = g9 ^ g2, g11 = a4 & g9;
    const auto g12 = a3 & g8, g13 = g12 ^ g7, g14 = a3 | g10, g15 = g14 ^ g5, g16 = g10 ^ g15;
    const auto g17 = a6 & ~g16, a5 = box.input(5), g18 = a5 | g11, g19 = a4 & ~g18;
    const auto g20 = g19 & ~g10, g21 = g18 ^ g7, g22 = a5 ^ g20, g23 = g22 ^ g15, g24 = g23 ^ g17;
    const auto g25 = g24 & ~g11, g26 = g3 & g25, g27 = g18 & g26, g28 = a6 & ~g25, g29 = g19 ^ g13;
    const auto a1 = box.input(1), g30 = a1 | g29, g31 = g23 ^ g30;
    box.output(2, g31);
    const auto g32 = g14 & ~g31, g33 = g29 ^ g32, g34 = g28 & ~g31, g35 = a1 & ~g34;
    const auto g36 = g21 ^ g35;
    box.output(4, g36);
    const auto g37 = g33 | g28, g38 = g5 ^ g37, g39 = a5 & g38, g40 = g33 ^ g27, g41 = g22 | g33;
    const auto g42 = g41 & ~g39, g43 = g13 ^ g42, g44 = a6 | g43, g45 = a1 & g42, g46 = g24 ^ g45;
    box.output(1, g46);
    const auto g47 = g44 & ~a1, g48 = g40 ^ g47;
    box.output(3, g48);
  }

  // 44 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_8(Box box) noexcept {
    const auto a2 = box.input(2), a3 = box.input(3), g1 = a3 & ~a2, a5 = box.input(5), g2 = a3 ^ a5;
    const auto a4 = box.input(4), g3 = a4 ^ g2, g4 = a5 & ~g3, g5 = g1 | g4, g6 = a4 ^ g4;
    const auto g7 = a4 | a5, g8 = g3 ^ g6, g9 = a2 & g7, g10 = g6 | g9, g11 = g7 & g5;
    const auto g12 = g11 ^ g9, g13 = a5 | g12, g14 = g13 ^ g5, g15 = a5 ^ g10, g16 = a2 & ~g8;
    const auto g17 = a2 ^ g8, a1 = box.input(1), g18 = a1 | g14, g19 = g16 ^ g18, g20 = g3 ^ g19;
    const auto g21 = g12 | g19, g22 = g11 ^ g18, g23 = a1 & ~g11, g24 = g12 ^ g23, g25 = g7 & g23;
    const auto g26 = g24 ^ g8, g27 = g22 ^ g21, g28 = a1 & ~g15, g29 = g17 ^ g28, g30 = a1 & ~g22;
    const auto g31 = g22 ^ g15, g32 = g31 ^ g29, a6 = box.input(6), g33 = a6 & ~g25;
    const auto g34 = g33 & ~g27, g35 = g32 ^ g33;
    box.output(2, g35);
    const auto g36 = g10 | g35, g37 = g36 & ~g30, g38 = a6 ^ g34, g39 = g29 ^ g38;
    box.output(3, g39);
    const auto g40 = a6 & g37, g41 = g20 ^ g40, g42 = a6 & ~g20, g43 = g26 ^ g42;
    box.output(1, g43);
    const auto g44 = g43 ^ g41;
    box.output(4, g44);
  }
};

}  // namespace
}  // namespace paes
