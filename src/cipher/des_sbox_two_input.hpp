// The S-boxes of DES as circuits of two-input gates, for bit slicing (E. Biham, FSE 1997). Made by
// `sbox emit 2 tools/sbox/two_input.circuits`; tests/cipher/des_sbox_test.cpp checks that it still
// says this, and every box at every input. A change belongs there, not here.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4) or its complement: bit i - 1 of complemented_outputs says which.
// 392 gates in all.
#pragma once

#include <cstdint>

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges

struct DesTwoInputSboxes {
  static constexpr std::uint8_t complemented_outputs[8] = {7, 15, 5, 14, 4, 3, 2, 11};

  // 55 gates; at most 14 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_1(Box box) noexcept {
    const auto a5 = box.input(5);
    const auto a6 = box.input(6);
    const auto g1 = a5 & a6;
    const auto a3 = box.input(3);
    const auto g2 = a3 ^ a5;
    const auto g3 = a3 | g1;
    const auto g4 = a3 & ~g2;
    const auto a4 = box.input(4);
    const auto g5 = a4 ^ g4;
    const auto g6 = g4 | g5;
    const auto g7 = a6 ^ g6;
    const auto g8 = g5 ^ g3;
    const auto g9 = g1 ^ g5;
    const auto g10 = a6 & ~g8;
    const auto g11 = g3 ^ g10;
    const auto g12 = g9 & g7;
    const auto g13 = g9 & g11;
    const auto g14 = g2 ^ g13;
    const auto g15 = a4 ^ g14;
    const auto g16 = g2 | g12;
    const auto g17 = g10 ^ g15;
    const auto g18 = g1 ^ g15;
    const auto a2 = box.input(2);
    const auto g19 = a2 | g12;
    const auto g20 = g14 & ~g19;
    const auto g21 = a6 | g7;
    const auto g22 = g20 ^ g21;
    const auto g23 = g1 & g22;
    const auto g24 = a6 | g14;
    const auto g25 = g14 & g7;
    const auto g26 = g23 ^ g24;
    const auto g27 = g26 & ~g8;
    const auto g28 = g11 ^ g24;
    const auto g29 = a2 | g26;
    const auto g30 = g29 & ~g25;
    const auto g31 = a2 & ~g27;
    const auto g32 = g9 ^ g31;
    const auto g33 = a2 & g17;
    const auto g34 = g11 ^ g33;
    const auto g35 = g10 | g34;
    const auto g36 = g16 ^ g34;
    const auto g37 = g35 ^ g17;
    const auto g38 = g32 ^ g37;
    const auto g39 = g17 & ~g36;
    const auto g40 = a2 & g16;
    const auto g41 = g28 ^ g40;
    const auto g42 = g18 & ~a2;
    const auto g43 = g42 ^ g39;
    const auto a1 = box.input(1);
    const auto g44 = a1 & ~g38;
    const auto g45 = g36 ^ g44;
    box.output(3, g45);
    const auto g46 = g30 & ~a1;
    const auto g47 = g46 ^ g41;
    box.output(2, g47);
    const auto g48 = a1 & ~g43;
    const auto g49 = a1 & g22;
    const auto g50 = g32 ^ g49;
    box.output(4, g50);
    const auto g51 = g45 & g50;
    const auto g52 = a2 & ~g51;
    const auto g53 = g7 ^ g52;
    const auto g54 = g18 ^ g53;
    const auto g55 = g54 ^ g48;
    box.output(1, g55);
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

  // 36 gates; at most 9 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_4(Box box) noexcept {
    const auto a1 = box.input(1);
    const auto a3 = box.input(3);
    const auto g1 = a1 ^ a3;
    const auto a5 = box.input(5);
    const auto g2 = a5 ^ g1;
    const auto g3 = a1 ^ g2;
    const auto g4 = g1 | g3;
    const auto a4 = box.input(4);
    const auto g5 = g4 ^ a4;
    const auto g6 = g2 ^ g5;
    const auto g7 = a5 | g6;
    const auto g8 = g6 & ~g3;
    const auto g9 = a3 ^ g8;
    const auto g10 = g9 & ~g5;
    const auto g11 = g5 ^ g7;
    const auto g12 = a3 ^ g10;
    const auto a2 = box.input(2);
    const auto g13 = a2 & ~g12;
    const auto g14 = g11 ^ g13;
    const auto g15 = g7 & ~a2;
    const auto g16 = g9 ^ g14;
    const auto g17 = a2 & ~g16;
    const auto g18 = g2 ^ g17;
    const auto g19 = g3 & g18;
    const auto g20 = a2 & ~g19;
    const auto g21 = a4 | g9;
    const auto g22 = g21 | g19;
    const auto g23 = g22 & ~g10;
    const auto g24 = g23 ^ g20;
    const auto g25 = a4 | g14;
    const auto g26 = g9 ^ g25;
    const auto g27 = g18 ^ g26;
    const auto g28 = g15 ^ g26;
    const auto a6 = box.input(6);
    const auto g29 = a6 ^ g28;
    const auto g30 = a6 ^ g24;
    const auto g31 = a6 | g30;
    const auto g32 = g14 ^ g31;
    box.output(1, g32);
    const auto g33 = g30 ^ g32;
    box.output(2, g33);
    const auto g34 = g29 & ~a6;
    const auto g35 = g27 ^ g34;
    box.output(4, g35);
    const auto g36 = g29 ^ g35;
    box.output(3, g36);
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

  // 51 gates; at most 15 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_6(Box box) noexcept {
    const auto a4 = box.input(4);
    const auto a5 = box.input(5);
    const auto g1 = a5 & ~a4;
    const auto a3 = box.input(3);
    const auto g2 = a3 | a5;
    const auto a1 = box.input(1);
    const auto g3 = a1 ^ g1;
    const auto g4 = g2 & g3;
    const auto g5 = a4 ^ g4;
    const auto g6 = g5 & ~g1;
    const auto g7 = a5 ^ g6;
    const auto g8 = g5 ^ g7;
    const auto g9 = g2 & g7;
    const auto g10 = a4 ^ g9;
    const auto g11 = a1 ^ g2;
    const auto g12 = a3 & ~g8;
    const auto g13 = g3 | g12;
    const auto g14 = g9 & g13;
    const auto g15 = g13 ^ g11;
    const auto g16 = a3 ^ g11;
    const auto g17 = g12 ^ g16;
    const auto g18 = g4 ^ g16;
    const auto g19 = a1 & g18;
    const auto a6 = box.input(6);
    const auto g20 = a6 | g19;
    const auto g21 = a5 & ~g20;
    const auto g22 = g13 ^ g21;
    const auto g23 = g8 | g20;
    const auto g24 = g18 ^ g23;
    const auto g25 = g6 ^ g24;
    const auto g26 = g4 | g25;
    const auto g27 = g23 ^ g26;
    const auto g28 = g1 ^ g25;
    const auto g29 = g20 & ~g28;
    const auto g30 = g28 & ~g17;
    const auto g31 = a6 & ~g30;
    const auto g32 = g14 ^ g31;
    const auto g33 = a1 & g32;
    const auto g34 = a3 | g33;
    const auto g35 = g34 & ~g29;
    const auto a2 = box.input(2);
    const auto g36 = a2 & g22;
    const auto g37 = g25 ^ g36;
    box.output(3, g37);
    const auto g38 = a2 | g6;
    const auto g39 = g34 ^ g38;
    const auto g40 = g35 | g39;
    const auto g41 = g40 & ~a2;
    const auto g42 = a2 & ~g35;
    const auto g43 = g32 ^ g42;
    box.output(1, g43);
    const auto g44 = g15 & ~g43;
    const auto g45 = a6 & ~g44;
    const auto g46 = g17 ^ g45;
    const auto g47 = g38 ^ g46;
    box.output(2, g47);
    const auto g48 = g46 ^ g10;
    const auto g49 = g31 & g48;
    const auto g50 = g49 ^ g27;
    const auto g51 = g50 ^ g41;
    box.output(4, g51);
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

  // 44 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static void sbox_8(Box box) noexcept {
    const auto a2 = box.input(2);
    const auto a3 = box.input(3);
    const auto g1 = a3 & ~a2;
    const auto a5 = box.input(5);
    const auto g2 = a3 ^ a5;
    const auto a4 = box.input(4);
    const auto g3 = a4 ^ g2;
    const auto g4 = a5 & ~g3;
    const auto g5 = g1 | g4;
    const auto g6 = a4 ^ g4;
    const auto g7 = a4 | a5;
    const auto g8 = g3 ^ g6;
    const auto g9 = a2 & g7;
    const auto g10 = g6 | g9;
    const auto g11 = g7 & g5;
    const auto g12 = g11 ^ g9;
    const auto g13 = a5 | g12;
    const auto g14 = g13 ^ g5;
    const auto g15 = a5 ^ g10;
    const auto g16 = a2 & ~g8;
    const auto g17 = a2 ^ g8;
    const auto a1 = box.input(1);
    const auto g18 = a1 | g14;
    const auto g19 = g16 ^ g18;
    const auto g20 = g3 ^ g19;
    const auto g21 = g12 | g19;
    const auto g22 = g11 ^ g18;
    const auto g23 = a1 & ~g11;
    const auto g24 = g12 ^ g23;
    const auto g25 = g7 & g23;
    const auto g26 = g24 ^ g8;
    const auto g27 = g22 ^ g21;
    const auto g28 = a1 & ~g15;
    const auto g29 = g17 ^ g28;
    const auto g30 = a1 & ~g22;
    const auto g31 = g22 ^ g15;
    const auto g32 = g31 ^ g29;
    const auto a6 = box.input(6);
    const auto g33 = a6 & ~g25;
    const auto g34 = g33 & ~g27;
    const auto g35 = g32 ^ g33;
    box.output(2, g35);
    const auto g36 = g10 | g35;
    const auto g37 = g36 & ~g30;
    const auto g38 = a6 ^ g34;
    const auto g39 = g29 ^ g38;
    box.output(3, g39);
    const auto g40 = a6 & g37;
    const auto g41 = g20 ^ g40;
    const auto g42 = a6 & ~g20;
    const auto g43 = g26 ^ g42;
    box.output(1, g43);
    const auto g44 = g43 ^ g41;
    box.output(4, g44);
  }
};

}  // namespace
}  // namespace paes
