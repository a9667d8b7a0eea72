// The S-boxes of DES as circuits of two-input gates, for bit slicing (E. Biham, FSE 1997). Made by
// `sbox emit 2 tools/sbox/two_input.circuits`; tests/cipher/des_sbox_test.cpp checks that it still
// says this, and every box at every input. A change belongs there, not here.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4) or its complement: bit i - 1 of complemented_outputs says which.
// 397 gates in all.
#pragma once

#include <cstdint>

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges

struct DesTwoInputSboxes {
  static constexpr std::uint8_t complemented_outputs[8] = {7, 15, 5, 14, 4, 3, 2, 11};

  // 57 gates; at most 15 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_1(Box box) noexcept {
    const auto a5 = box.input(5);
    const auto a6 = box.input(6);
    const auto g1 = a5 ^ a6;
    const auto a4 = box.input(4);
    const auto g2 = a4 & g1;
    const auto g3 = a6 ^ g2;
    const auto a3 = box.input(3);
    const auto g4 = a3 ^ a6;
    const auto g5 = a4 ^ g4;
    const auto g6 = g4 & ~a5;
    const auto g7 = g6 ^ g5;
    const auto g8 = g5 & ~g3;
    const auto g9 = a5 | g8;
    const auto g10 = a6 ^ g9;
    const auto a1 = box.input(1);
    const auto g11 = a1 & g10;
    const auto g12 = g4 ^ g11;
    const auto g13 = g11 & ~g9;
    const auto g14 = g3 & ~g7;
    const auto g15 = g6 ^ g14;
    const auto g16 = g1 & ~g15;
    const auto g17 = a5 ^ g16;
    const auto g18 = a4 & g17;
    const auto g19 = g1 ^ g18;
    const auto g20 = a1 | g18;
    const auto g21 = g2 | g14;
    const auto g22 = g1 ^ g21;
    const auto g23 = g15 | g22;
    const auto g24 = a1 & ~g22;
    const auto g25 = g24 & ~a3;
    const auto g26 = g8 & ~g25;
    const auto g27 = g26 ^ g20;
    const auto g28 = g23 | g26;
    const auto g29 = g14 | g28;
    const auto g30 = g16 & g29;
    const auto g31 = a1 ^ g29;
    const auto g32 = g24 | g31;
    const auto g33 = g2 & g31;
    const auto g34 = g12 ^ g27;
    const auto g35 = g33 ^ g34;
    const auto g36 = g21 ^ g35;
    const auto g37 = a1 & ~g36;
    const auto g38 = g7 ^ g37;
    const auto g39 = g14 ^ g38;
    const auto g40 = g39 & a1;
    const auto g41 = g40 ^ g30;
    const auto g42 = g40 ^ g13;
    const auto g43 = g23 ^ g42;
    const auto g44 = g19 ^ g43;
    const auto g45 = g21 ^ g12;
    const auto a2 = box.input(2);
    const auto g46 = a2 & ~g41;
    const auto g47 = g38 ^ g46;
    box.output(4, g47);
    const auto g48 = a2 & ~g34;
    const auto g49 = g44 ^ g48;
    box.output(2, g49);
    const auto g50 = g32 & ~a2;
    const auto g51 = g12 ^ g50;
    const auto g52 = g3 ^ g51;
    box.output(3, g52);
    const auto g53 = g50 & ~g35;
    const auto g54 = g45 & g53;
    const auto g55 = g25 ^ g54;
    const auto g56 = a2 ^ g55;
    const auto g57 = g19 ^ g56;
    box.output(1, g57);
  }

  // 51 gates; at most 15 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_2(Box box) noexcept {
    const auto a2 = box.input(2);
    const auto a6 = box.input(6);
    const auto g1 = a2 ^ a6;
    const auto a3 = box.input(3);
    const auto g2 = a3 & g1;
    const auto g3 = a2 & ~g2;
    const auto a4 = box.input(4);
    const auto g4 = a4 & ~a2;
    const auto g5 = g1 & ~g4;
    const auto g6 = a6 & ~g5;
    const auto g7 = a2 & ~a4;
    const auto g8 = g3 | g6;
    const auto g9 = g8 ^ g7;
    const auto g10 = a3 | g5;
    const auto g11 = a3 ^ g9;
    const auto g12 = g1 & g11;
    const auto g13 = a4 & ~g12;
    const auto a1 = box.input(1);
    const auto g14 = a1 ^ g13;
    const auto g15 = a3 ^ g14;
    const auto g16 = g6 | g15;
    const auto g17 = a2 & g16;
    const auto g18 = g11 ^ g17;
    const auto g19 = g16 ^ g10;
    const auto g20 = g5 ^ g18;
    const auto g21 = g4 ^ g18;
    const auto g22 = g9 & ~g21;
    const auto g23 = g9 ^ g15;
    const auto a5 = box.input(5);
    const auto g24 = a5 & ~g22;
    const auto g25 = g10 ^ g24;
    const auto g26 = g21 & g25;
    const auto g27 = g15 ^ g25;
    box.output(2, g27);
    const auto g28 = g27 & ~a2;
    const auto g29 = g15 & ~g2;
    const auto g30 = g28 ^ g29;
    const auto g31 = a1 & g30;
    const auto g32 = g11 ^ g31;
    const auto g33 = g32 & ~a5;
    const auto g34 = g19 ^ g33;
    const auto g35 = g1 ^ g34;
    box.output(4, g35);
    const auto g36 = g35 & ~g28;
    const auto g37 = a1 & ~g36;
    const auto g38 = g15 & g26;
    const auto g39 = a1 | g3;
    const auto g40 = g39 ^ g20;
    const auto g41 = g37 & ~g2;
    const auto g42 = g4 ^ g41;
    const auto g43 = g24 & g37;
    const auto g44 = a5 | g38;
    const auto g45 = a5 & ~g42;
    const auto g46 = g40 ^ g45;
    box.output(1, g46);
    const auto g47 = g45 & g26;
    const auto g48 = g3 & ~g47;
    const auto g49 = g23 ^ g48;
    const auto g50 = g49 ^ g43;
    const auto g51 = g50 ^ g44;
    box.output(3, g51);
  }

  // 52 gates; at most 12 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_3(Box box) noexcept {
    const auto a5 = box.input(5);
    const auto a6 = box.input(6);
    const auto g1 = a5 | a6;
    const auto g2 = a6 ^ g1;
    const auto a3 = box.input(3);
    const auto g3 = a3 ^ g2;
    const auto g4 = a3 & g3;
    const auto g5 = g1 ^ g4;
    const auto a2 = box.input(2);
    const auto g6 = a2 & g4;
    const auto g7 = g3 & ~a5;
    const auto a4 = box.input(4);
    const auto g8 = a4 | g3;
    const auto g9 = g2 ^ g8;
    const auto g10 = a4 ^ g5;
    const auto g11 = g1 & g10;
    const auto g12 = a3 | g10;
    const auto g13 = a5 ^ g10;
    const auto g14 = g3 ^ g11;
    const auto g15 = g3 ^ g13;
    const auto g16 = a2 & ~g14;
    const auto g17 = g12 & ~g13;
    const auto g18 = g17 ^ g16;
    const auto g19 = g6 ^ g15;
    const auto g20 = a5 ^ g15;
    const auto g21 = a5 ^ g11;
    const auto g22 = g21 & ~g11;
    const auto g23 = a6 ^ g21;
    const auto g24 = g5 | g23;
    const auto g25 = g24 & ~a2;
    const auto g26 = a6 & ~g20;
    const auto g27 = g23 | g26;
    const auto g28 = g21 ^ g27;
    const auto g29 = g27 ^ g25;
    const auto g30 = a2 & ~g26;
    const auto g31 = g9 | g30;
    const auto g32 = g30 ^ g7;
    const auto g33 = g20 ^ g22;
    const auto g34 = g33 & g28;
    const auto g35 = g34 ^ g31;
    const auto g36 = g33 | g28;
    const auto a1 = box.input(1);
    const auto g37 = g35 & ~a1;
    const auto g38 = g19 ^ g37;
    box.output(1, g38);
    const auto g39 = a1 & g29;
    const auto g40 = a1 | a2;
    const auto g41 = g33 ^ g40;
    const auto g42 = g41 ^ g39;
    box.output(4, g42);
    const auto g43 = g41 & ~g12;
    const auto g44 = a1 | g43;
    const auto g45 = g32 ^ g44;
    const auto g46 = g34 ^ g45;
    const auto g47 = g22 ^ g46;
    box.output(2, g47);
    const auto g48 = g34 | g46;
    const auto g49 = a2 & g48;
    const auto g50 = g36 ^ g49;
    const auto g51 = a1 | g50;
    const auto g52 = g18 ^ g51;
    box.output(3, g52);
  }

  // 37 gates; at most 10 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_4(Box box) noexcept {
    const auto a3 = box.input(3);
    const auto a5 = box.input(5);
    const auto g1 = a3 & ~a5;
    const auto g2 = a3 ^ a5;
    const auto a1 = box.input(1);
    const auto g3 = a1 ^ a3;
    const auto g4 = g2 & ~g3;
    const auto g5 = a1 | g4;
    const auto g6 = a5 ^ g5;
    const auto g7 = g3 | g6;
    const auto a2 = box.input(2);
    const auto g8 = a2 | a3;
    const auto g9 = g2 & ~a2;
    const auto g10 = g9 ^ g7;
    const auto g11 = g10 & ~g6;
    const auto g12 = g7 & ~g11;
    const auto g13 = a2 & ~g11;
    const auto g14 = g11 ^ g1;
    const auto g15 = g13 & ~g5;
    const auto g16 = g9 ^ g15;
    const auto g17 = g8 ^ g16;
    const auto g18 = g14 | g15;
    const auto a4 = box.input(4);
    const auto g19 = a4 & ~g10;
    const auto g20 = g19 ^ g14;
    const auto g21 = g13 ^ g20;
    const auto g22 = a4 & g17;
    const auto g23 = g6 ^ g22;
    const auto g24 = a4 & g4;
    const auto g25 = a4 & g23;
    const auto g26 = g8 ^ g23;
    const auto g27 = g18 ^ g25;
    const auto g28 = g21 ^ g12;
    const auto g29 = g28 ^ g24;
    const auto a6 = box.input(6);
    const auto g30 = a6 & g21;
    const auto g31 = g26 ^ g30;
    box.output(2, g31);
    const auto g32 = g21 ^ g31;
    const auto g33 = a6 ^ g32;
    box.output(1, g33);
    const auto g34 = a6 & ~g29;
    const auto g35 = g34 ^ g27;
    box.output(3, g35);
    const auto g36 = g29 & ~a6;
    const auto g37 = g27 ^ g36;
    box.output(4, g37);
  }

  // 53 gates; at most 15 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_5(Box box) noexcept {
    const auto a1 = box.input(1);
    const auto a4 = box.input(4);
    const auto g1 = a1 & ~a4;
    const auto a6 = box.input(6);
    const auto g2 = g1 ^ a6;
    const auto g3 = a4 | a6;
    const auto a3 = box.input(3);
    const auto g4 = a3 ^ g3;
    const auto g5 = g2 & ~g4;
    const auto g6 = g4 & ~g2;
    const auto g7 = g3 & ~g5;
    const auto g8 = a1 ^ g7;
    const auto g9 = g8 & ~g6;
    const auto g10 = g6 ^ g8;
    const auto g11 = a4 ^ g8;
    const auto g12 = a3 ^ g10;
    const auto g13 = g7 ^ g12;
    const auto g14 = a1 & ~g12;
    const auto g15 = g3 & ~g14;
    const auto g16 = g14 | g11;
    const auto g17 = g16 ^ a3;
    const auto g18 = g12 & ~g17;
    const auto g19 = g10 | g17;
    const auto g20 = a1 | g19;
    const auto g21 = g5 ^ g19;
    const auto g22 = g2 ^ g20;
    const auto g23 = a3 ^ g22;
    const auto g24 = a4 | g23;
    const auto g25 = g14 ^ g23;
    const auto a2 = box.input(2);
    const auto g26 = a2 & ~g18;
    const auto g27 = g24 & ~a2;
    const auto g28 = g27 & ~g11;
    const auto g29 = g9 ^ g28;
    const auto g30 = g27 ^ g21;
    const auto a5 = box.input(5);
    const auto g31 = a5 | g29;
    const auto g32 = g13 ^ g31;
    const auto g33 = g32 ^ g26;
    box.output(1, g33);
    const auto g34 = g24 | g33;
    const auto g35 = a5 & ~g25;
    const auto g36 = g10 ^ g35;
    const auto g37 = g27 ^ g36;
    box.output(2, g37);
    const auto g38 = a5 ^ g34;
    const auto g39 = g38 & ~g30;
    const auto g40 = a5 & ~g39;
    const auto g41 = g4 | g40;
    const auto g42 = g17 ^ g41;
    const auto g43 = a2 | g39;
    const auto g44 = g43 ^ g42;
    box.output(3, g44);
    const auto g45 = g23 ^ g42;
    const auto g46 = g45 & ~g30;
    const auto g47 = a5 & ~g46;
    const auto g48 = g46 | g15;
    const auto g49 = g22 ^ g47;
    const auto g50 = g47 & ~g10;
    const auto g51 = g48 & ~g50;
    const auto g52 = a2 & g51;
    const auto g53 = g49 ^ g52;
    box.output(4, g53);
  }

  // 52 gates; at most 14 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_6(Box box) noexcept {
    const auto a3 = box.input(3);
    const auto a5 = box.input(5);
    const auto g1 = a3 | a5;
    const auto a4 = box.input(4);
    const auto g2 = a4 & a5;
    const auto g3 = a3 ^ g2;
    const auto g4 = a5 & g3;
    const auto g5 = a4 ^ g1;
    const auto g6 = g5 ^ g3;
    const auto a2 = box.input(2);
    const auto g7 = a2 & ~g3;
    const auto a1 = box.input(1);
    const auto g8 = a1 & g1;
    const auto g9 = g8 & ~g7;
    const auto g10 = g2 | g9;
    const auto g11 = g5 ^ g8;
    const auto g12 = a1 ^ g5;
    const auto g13 = a5 ^ g9;
    const auto g14 = a2 ^ g6;
    const auto g15 = a3 | g14;
    const auto g16 = a5 ^ g15;
    const auto g17 = g15 & ~a4;
    const auto g18 = g11 ^ g16;
    const auto g19 = a3 & g6;
    const auto g20 = g19 | g17;
    const auto g21 = a2 ^ g20;
    const auto g22 = a4 ^ g21;
    const auto g23 = g22 | g4;
    const auto g24 = g12 | g23;
    const auto g25 = a3 & g23;
    const auto g26 = g20 | g16;
    const auto g27 = g14 ^ g24;
    const auto g28 = g6 & g26;
    const auto g29 = g28 & ~a1;
    const auto g30 = g27 ^ g29;
    const auto g31 = g19 ^ g24;
    const auto g32 = a1 | g4;
    const auto g33 = g19 | g32;
    const auto g34 = g16 & ~a1;
    const auto g35 = g30 & ~g18;
    const auto a6 = box.input(6);
    const auto g36 = a6 & g31;
    const auto g37 = g36 ^ g18;
    box.output(1, g37);
    const auto g38 = g10 & ~g37;
    const auto g39 = g37 ^ g34;
    const auto g40 = g13 & ~a6;
    const auto g41 = a6 & ~g38;
    const auto g42 = g41 ^ g39;
    const auto g43 = a6 & ~g42;
    const auto g44 = g41 ^ g30;
    box.output(2, g44);
    const auto g45 = g44 ^ g35;
    const auto g46 = g45 & ~a1;
    const auto g47 = g33 ^ g43;
    const auto g48 = g21 ^ g47;
    box.output(4, g48);
    const auto g49 = g40 & ~g46;
    const auto g50 = g25 ^ g46;
    const auto g51 = g26 ^ g50;
    const auto g52 = g51 ^ g49;
    box.output(3, g52);
  }

  // 50 gates; at most 12 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_7(Box box) noexcept {
    const auto a4 = box.input(4);
    const auto a5 = box.input(5);
    const auto g1 = a4 & a5;
    const auto a2 = box.input(2);
    const auto g2 = a2 ^ g1;
    const auto g3 = a4 ^ g2;
    const auto a3 = box.input(3);
    const auto g4 = a3 & ~g3;
    const auto a6 = box.input(6);
    const auto g5 = a6 ^ g3;
    const auto g6 = g2 & ~g5;
    const auto g7 = a2 ^ g6;
    const auto g8 = a4 & ~g7;
    const auto g9 = g7 & ~a3;
    const auto g10 = a6 & ~g9;
    const auto g11 = g1 & g10;
    const auto g12 = g6 | g11;
    const auto g13 = a2 & g10;
    const auto g14 = g1 | g8;
    const auto g15 = a2 ^ g14;
    const auto g16 = a5 ^ g14;
    const auto g17 = g5 ^ g16;
    const auto g18 = g17 & ~g11;
    const auto g19 = g4 ^ g17;
    const auto g20 = a3 ^ g18;
    const auto g21 = g9 ^ g20;
    const auto g22 = g20 & ~g5;
    const auto g23 = g21 & ~a5;
    const auto g24 = a6 | g23;
    const auto g25 = g24 | g12;
    const auto g26 = a3 ^ g25;
    const auto g27 = a3 & ~g12;
    const auto g28 = g5 | g26;
    const auto g29 = a3 ^ g28;
    const auto g30 = a6 ^ g8;
    const auto g31 = g26 ^ g15;
    const auto g32 = g27 ^ g15;
    const auto g33 = g22 & a6;
    const auto g34 = g30 & g19;
    const auto g35 = g29 & ~g34;
    const auto g36 = a6 ^ g32;
    const auto g37 = g21 ^ g35;
    const auto g38 = g13 ^ g37;
    const auto a1 = box.input(1);
    const auto g39 = a1 & ~g33;
    const auto g40 = g19 ^ g39;
    box.output(4, g40);
    const auto g41 = g36 | a1;
    const auto g42 = g21 ^ g41;
    box.output(2, g42);
    const auto g43 = g38 & ~a1;
    const auto g44 = g35 ^ g43;
    box.output(1, g44);
    const auto g45 = g44 | g42;
    const auto g46 = g45 & ~g32;
    const auto g47 = g38 & ~g46;
    const auto g48 = g45 ^ g47;
    const auto g49 = g48 & ~a1;
    const auto g50 = g31 ^ g49;
    box.output(3, g50);
  }

  // 45 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_8(Box box) noexcept {
    const auto a1 = box.input(1);
    const auto a5 = box.input(5);
    const auto g1 = a1 ^ a5;
    const auto a4 = box.input(4);
    const auto g2 = g1 & ~a4;
    const auto g3 = a1 & ~g2;
    const auto g4 = a5 ^ g3;
    const auto g5 = a4 ^ g4;
    const auto a3 = box.input(3);
    const auto g6 = a3 ^ g5;
    const auto g7 = g6 & ~a5;
    const auto g8 = g7 ^ a4;
    const auto g9 = g2 ^ g6;
    const auto g10 = g4 | g8;
    const auto g11 = g5 ^ g9;
    const auto g12 = g11 & g10;
    const auto g13 = g1 | g11;
    const auto g14 = g13 & ~g5;
    const auto g15 = g3 & ~g13;
    const auto a2 = box.input(2);
    const auto g16 = a2 & ~g12;
    const auto g17 = g14 ^ g16;
    const auto g18 = a1 | a2;
    const auto g19 = a2 & ~g15;
    const auto g20 = g8 ^ g19;
    const auto g21 = g1 ^ g20;
    const auto g22 = g15 ^ g21;
    const auto g23 = g22 & ~g18;
    const auto g24 = g9 & ~g23;
    const auto g25 = a2 | g20;
    const auto g26 = g25 & ~g23;
    const auto g27 = g6 ^ g26;
    const auto g28 = g15 ^ g27;
    const auto g29 = a2 & g28;
    const auto g30 = g20 & g29;
    const auto g31 = g24 ^ g29;
    const auto g32 = g3 ^ g30;
    const auto g33 = g28 ^ g32;
    const auto g34 = a2 | g33;
    const auto g35 = g8 ^ g34;
    const auto a6 = box.input(6);
    const auto g36 = a6 & g32;
    const auto g37 = g22 ^ g36;
    box.output(3, g37);
    const auto g38 = a6 | g31;
    const auto g39 = g27 ^ g38;
    box.output(1, g39);
    const auto g40 = g39 ^ g17;
    const auto g41 = g3 & ~g40;
    const auto g42 = a6 & ~g40;
    const auto g43 = g27 ^ g42;
    box.output(4, g43);
    const auto g44 = a6 | g41;
    const auto g45 = g35 ^ g44;
    box.output(2, g45);
  }
};

}  // namespace
}  // namespace paes
