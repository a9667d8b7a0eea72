// SPDX-License-Identifier: Apache-2.0
// The S-boxes of DES as circuits of three-input gates, for processors that have every one of them
// as an instruction. Made by `sbox emit 3 bench/sbox/three_input.circuits`, so that a change
// belongs there: tests/campaign/sbox/sbox.sh checks that it still says this,
// tests/unit/cipher/des_sbox_test.cpp every box at every input.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4). `box.lut3<t>(a, b, c)` is bit (a << 2 | b << 1 | c) of t.
// 174 gates in all.
#pragma once

#include <cstdint>

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges

struct DesThreeInputSboxes {
  static constexpr std::uint8_t complemented_outputs[8] = {0, 0, 0, 0, 0, 0, 0, 0};

  // 24 gates; at most 12 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_1(Box box) noexcept {
    const auto a6 = box.input(6), a4 = box.input(4), a3 = box.input(3);
    const auto g1 = Box::template lut3<0x90>(a6, a4, a3), a2 = box.input(2);
    const auto g2 = Box::template lut3<0x12>(a3, a4, a2), g3 = Box::template lut3<0x4b>(a4, a2, g1);
    const auto g4 = Box::template lut3<0x94>(a6, g3, a2), g5 = Box::template lut3<0x69>(a4, g4, a3);
    const auto a5 = box.input(5), g6 = Box::template lut3<0x87>(g3, a5, g5);
    const auto g7 = Box::template lut3<0x47>(g6, g1, a2), g8 = Box::template lut3<0xb4>(a5, g7, g2);
    const auto g9 = Box::template lut3<0x69>(a6, g8, a4);
    const auto g10 = Box::template lut3<0x17>(g5, g9, a2);
    const auto g11 = Box::template lut3<0x5b>(g5, g8, g6);
    const auto g12 = Box::template lut3<0xd5>(g4, g11, g10);
    const auto g13 = Box::template lut3<0x39>(a5, g1, g11), a1 = box.input(1);
    const auto g14 = Box::template lut3<0x87>(g3, g12, a1);
    const auto g15 = Box::template lut3<0x96>(a6, g13, g14);
    box.output(2, g15);
    const auto g16 = Box::template lut3<0x35>(g6, g13, g15);
    const auto g17 = Box::template lut3<0x9d>(a2, g8, g16);
    const auto g18 = Box::template lut3<0xa4>(g8, g11, g17);
    const auto g19 = Box::template lut3<0x87>(g9, a1, g17);
    box.output(1, g19);
    const auto g20 = Box::template lut3<0x12>(g18, g14, g2);
    const auto g21 = Box::template lut3<0xe1>(g9, g1, g20);
    const auto g22 = Box::template lut3<0x94>(g6, a1, g20);
    box.output(4, g22);
    const auto g23 = Box::template lut3<0x27>(g11, g21, a1);
    const auto g24 = Box::template lut3<0x3e>(g23, a1, g2);
    box.output(3, g24);
  }

  // 22 gates; at most 12 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_2(Box box) noexcept {
    const auto a6 = box.input(6), a2 = box.input(2), a5 = box.input(5);
    const auto g1 = Box::template lut3<0xbc>(a6, a2, a5), a1 = box.input(1);
    const auto g2 = Box::template lut3<0xbc>(a6, a1, g1), g3 = Box::template lut3<0xd1>(g1, a5, g2);
    const auto g4 = Box::template lut3<0x7c>(a6, a1, g3), a4 = box.input(4);
    const auto g5 = Box::template lut3<0x69>(a5, a4, a1), g6 = Box::template lut3<0xd3>(a6, a4, g2);
    const auto g7 = Box::template lut3<0xea>(a5, a4, g4), g8 = Box::template lut3<0x43>(g6, g4, g3);
    const auto g9 = Box::template lut3<0x61>(g5, a2, g8), a3 = box.input(3);
    const auto g10 = Box::template lut3<0x78>(g8, a3, g3);
    const auto g11 = Box::template lut3<0x87>(g10, g7, a2);
    box.output(4, g11);
    const auto g12 = Box::template lut3<0x1f>(g8, a5, g11);
    const auto g13 = Box::template lut3<0x0b>(a6, g10, g4);
    const auto g14 = Box::template lut3<0xf4>(a3, g1, g4);
    const auto g15 = Box::template lut3<0x69>(g7, g9, g14);
    box.output(1, g15);
    const auto g16 = Box::template lut3<0x71>(g3, a6, g15);
    const auto g17 = Box::template lut3<0x5e>(g13, a3, g16);
    const auto g18 = Box::template lut3<0x9e>(a3, g15, g7);
    const auto g19 = Box::template lut3<0xdd>(g15, g18, g1);
    const auto g20 = Box::template lut3<0xa6>(g17, g1, g5);
    box.output(2, g20);
    const auto g21 = Box::template lut3<0x96>(g20, g13, g12);
    const auto g22 = Box::template lut3<0x6d>(g17, g21, g19);
    box.output(3, g22);
  }

  // 23 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_3(Box box) noexcept {
    const auto a5 = box.input(5), a4 = box.input(4), a3 = box.input(3);
    const auto g1 = Box::template lut3<0x69>(a5, a4, a3), a6 = box.input(6), a2 = box.input(2);
    const auto g2 = Box::template lut3<0x69>(a6, g1, a2), g3 = Box::template lut3<0x1e>(g2, g1, a5);
    const auto g4 = Box::template lut3<0x69>(g3, a5, a4), g5 = Box::template lut3<0x70>(a3, a5, g4);
    const auto g6 = Box::template lut3<0x36>(g3, a3, a4), g7 = Box::template lut3<0x1e>(g2, a2, g5);
    const auto g8 = Box::template lut3<0x1c>(a6, a4, a2), g9 = Box::template lut3<0xcb>(g3, a4, g8);
    const auto a1 = box.input(1), g10 = Box::template lut3<0xf1>(a6, a1, g3);
    const auto g11 = Box::template lut3<0x5b>(g2, g10, g8);
    const auto g12 = Box::template lut3<0x38>(g9, g7, g2);
    const auto g13 = Box::template lut3<0xc5>(a5, g11, g12);
    const auto g14 = Box::template lut3<0xe3>(g4, a1, g12);
    const auto g15 = Box::template lut3<0x96>(g9, g14, g6);
    box.output(2, g15);
    const auto g16 = Box::template lut3<0xdc>(g7, a2, g8);
    const auto g17 = Box::template lut3<0x6d>(a2, g6, g13);
    const auto g18 = Box::template lut3<0x9f>(a1, g4, g13);
    const auto g19 = Box::template lut3<0x68>(g18, g11, g16);
    box.output(3, g19);
    const auto g20 = Box::template lut3<0x6a>(a1, g17, g4);
    box.output(4, g20);
    const auto g21 = Box::template lut3<0x86>(g4, g17, g7);
    const auto g22 = Box::template lut3<0x6f>(g21, g19, g6);
    const auto g23 = Box::template lut3<0x2d>(g7, a1, g22);
    box.output(1, g23);
  }

  // 17 gates; at most 9 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_4(Box box) noexcept {
    const auto a5 = box.input(5), a3 = box.input(3), a4 = box.input(4);
    const auto g1 = Box::template lut3<0x29>(a5, a3, a4), a2 = box.input(2);
    const auto g2 = Box::template lut3<0x6d>(g1, a3, a2), g3 = Box::template lut3<0xa9>(g1, a5, g2);
    const auto g4 = Box::template lut3<0x8e>(a4, g1, g3), g5 = Box::template lut3<0x19>(a4, a3, g4);
    const auto a1 = box.input(1), g6 = Box::template lut3<0x09>(a1, a4, a2);
    const auto g7 = Box::template lut3<0x42>(g2, g6, g5), g8 = Box::template lut3<0x93>(g3, a1, g7);
    const auto g9 = Box::template lut3<0x6d>(g2, g5, g8);
    const auto g10 = Box::template lut3<0x86>(g9, g4, a2);
    const auto g11 = Box::template lut3<0x29>(a4, g10, g2);
    const auto g12 = Box::template lut3<0x19>(g9, g7, g10), a6 = box.input(6);
    const auto g13 = Box::template lut3<0x65>(a6, g11, g4);
    const auto g14 = Box::template lut3<0x69>(g13, g8, g6);
    box.output(3, g14);
    const auto g15 = Box::template lut3<0x96>(g11, a6, g14);
    box.output(4, g15);
    const auto g16 = Box::template lut3<0x47>(g9, a6, g12);
    box.output(2, g16);
    const auto g17 = Box::template lut3<0x3a>(a6, g9, g12);
    box.output(1, g17);
  }

  // 25 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_5(Box box) noexcept {
    const auto a5 = box.input(5), a3 = box.input(3), a1 = box.input(1);
    const auto g1 = Box::template lut3<0x49>(a5, a3, a1), a2 = box.input(2);
    const auto g2 = Box::template lut3<0x36>(g1, a5, a2), g3 = Box::template lut3<0xd8>(a5, a1, g2);
    const auto a6 = box.input(6), g4 = Box::template lut3<0x96>(a6, g1, a2);
    const auto g5 = Box::template lut3<0x7e>(g4, a6, a3), g6 = Box::template lut3<0x92>(a6, a3, a1);
    const auto g7 = Box::template lut3<0x62>(a2, g5, a1), g8 = Box::template lut3<0x8d>(g5, g6, g3);
    const auto g9 = Box::template lut3<0xc6>(a3, g6, g2);
    const auto g10 = Box::template lut3<0x59>(a5, g8, g7);
    const auto g11 = Box::template lut3<0xe8>(g1, g9, g10);
    const auto g12 = Box::template lut3<0xd2>(g4, g3, g10);
    const auto g13 = Box::template lut3<0x2e>(g2, g3, g12);
    const auto g14 = Box::template lut3<0x71>(g13, a6, a2);
    const auto g15 = Box::template lut3<0x1e>(g12, g10, a3), a4 = box.input(4);
    const auto g16 = Box::template lut3<0xd2>(g4, a4, g10);
    box.output(2, g16);
    const auto g17 = Box::template lut3<0x64>(g16, g15, g7);
    const auto g18 = Box::template lut3<0x56>(g17, a4, g11);
    box.output(1, g18);
    const auto g19 = Box::template lut3<0xa3>(g18, g8, a2);
    const auto g20 = Box::template lut3<0x7b>(g12, g19, g7);
    const auto g21 = Box::template lut3<0xf8>(a4, g20, g14);
    const auto g22 = Box::template lut3<0x69>(g12, g8, g21);
    box.output(3, g22);
    const auto g23 = Box::template lut3<0xc8>(a4, g15, g20);
    const auto g24 = Box::template lut3<0x64>(g19, g23, g13);
    const auto g25 = Box::template lut3<0x7c>(g24, a4, a4);
    box.output(4, g25);
  }

  // 23 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_6(Box box) noexcept {
    const auto a2 = box.input(2), a4 = box.input(4), a1 = box.input(1);
    const auto g1 = Box::template lut3<0xe7>(a2, a4, a1), a3 = box.input(3);
    const auto g2 = Box::template lut3<0x96>(a4, a3, g1), g3 = Box::template lut3<0x94>(g2, a1, a2);
    const auto a5 = box.input(5), g4 = Box::template lut3<0x4b>(a4, a5, g3);
    const auto g5 = Box::template lut3<0x69>(g2, g4, g3), g6 = Box::template lut3<0x1c>(g4, a2, g5);
    const auto g7 = Box::template lut3<0x9f>(a5, g3, g6), g8 = Box::template lut3<0x4b>(g7, a1, a3);
    const auto g9 = Box::template lut3<0x6d>(g8, g3, g1);
    const auto g10 = Box::template lut3<0x13>(a2, g9, a3);
    const auto g11 = Box::template lut3<0xbe>(g10, g4, a1), a6 = box.input(6);
    const auto g12 = Box::template lut3<0x36>(a6, g5, g8);
    box.output(3, g12);
    const auto g13 = Box::template lut3<0x96>(a6, a2, g5);
    const auto g14 = Box::template lut3<0x2e>(g5, g3, g10);
    const auto g15 = Box::template lut3<0x06>(a6, g14, g1);
    const auto g16 = Box::template lut3<0x87>(a5, g5, g6);
    const auto g17 = Box::template lut3<0x14>(g16, g5, g10);
    const auto g18 = Box::template lut3<0xe1>(g3, g16, g9);
    const auto g19 = Box::template lut3<0xa9>(g17, a6, g18);
    box.output(1, g19);
    const auto g20 = Box::template lut3<0x96>(a5, g15, g18);
    const auto g21 = Box::template lut3<0x7c>(g20, g6, g9);
    box.output(4, g21);
    const auto g22 = Box::template lut3<0x19>(g18, g21, g11);
    const auto g23 = Box::template lut3<0x6b>(g13, g21, g22);
    box.output(2, g23);
  }

  // 21 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_7(Box box) noexcept {
    const auto a5 = box.input(5), a4 = box.input(4), a2 = box.input(2);
    const auto g1 = Box::template lut3<0x48>(a5, a4, a2), a3 = box.input(3);
    const auto g2 = Box::template lut3<0x68>(a4, a2, a3), a6 = box.input(6);
    const auto g3 = Box::template lut3<0x1e>(a6, a3, g1), g4 = Box::template lut3<0x9e>(g3, g1, a2);
    const auto g5 = Box::template lut3<0x58>(a6, g4, a3), g6 = Box::template lut3<0x4b>(g5, g2, a3);
    const auto g7 = Box::template lut3<0x96>(g4, a5, g2), g8 = Box::template lut3<0x6c>(a6, a5, g7);
    const auto a1 = box.input(1), g9 = Box::template lut3<0x4b>(g4, a1, g8);
    const auto g10 = Box::template lut3<0x6c>(g9, a4, g6);
    const auto g11 = Box::template lut3<0x12>(g6, g7, g10);
    const auto g12 = Box::template lut3<0x40>(a6, a1, g11);
    const auto g13 = Box::template lut3<0x9c>(g10, g5, a1);
    const auto g14 = Box::template lut3<0x48>(g12, a2, a4);
    const auto g15 = Box::template lut3<0x96>(a5, g13, g14);
    box.output(2, g15);
    const auto g16 = Box::template lut3<0x96>(g10, g15, g12);
    box.output(1, g16);
    const auto g17 = Box::template lut3<0x36>(g16, g15, a2);
    const auto g18 = Box::template lut3<0x9c>(g12, g7, g17);
    const auto g19 = Box::template lut3<0x96>(g1, a1, g18);
    box.output(4, g19);
    const auto g20 = Box::template lut3<0xc9>(g18, g10, g1);
    const auto g21 = Box::template lut3<0x96>(g8, g20, g19);
    box.output(3, g21);
  }

  // 19 gates; at most 8 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_8(Box box) noexcept {
    const auto a4 = box.input(4), a5 = box.input(5), a3 = box.input(3);
    const auto g1 = Box::template lut3<0x9a>(a4, a5, a3), a2 = box.input(2);
    const auto g2 = Box::template lut3<0xd2>(a4, a2, g1), g3 = Box::template lut3<0x7c>(a5, g2, a2);
    const auto a1 = box.input(1), g4 = Box::template lut3<0x68>(a5, g3, a1);
    const auto g5 = Box::template lut3<0x8e>(g4, g3, a4), g6 = Box::template lut3<0x96>(g4, g1, a2);
    const auto g7 = Box::template lut3<0x96>(g6, g5, a1), a6 = box.input(6);
    const auto g8 = Box::template lut3<0xe5>(g7, a6, g5), g9 = Box::template lut3<0x96>(g8, g2, a1);
    const auto g10 = Box::template lut3<0xe1>(a5, g8, a2);
    const auto g11 = Box::template lut3<0x6a>(g6, g10, g9);
    const auto g12 = Box::template lut3<0x95>(g10, g11, a2);
    const auto g13 = Box::template lut3<0x39>(a6, g11, a1);
    box.output(3, g13);
    const auto g14 = Box::template lut3<0xc9>(a6, g8, g12);
    const auto g15 = Box::template lut3<0x96>(g10, g14, g13);
    const auto g16 = Box::template lut3<0x69>(g14, g12, a1);
    box.output(4, g16);
    const auto g17 = Box::template lut3<0x2d>(g12, g15, a1);
    const auto g18 = Box::template lut3<0xc9>(a6, g6, g17);
    box.output(1, g18);
    const auto g19 = Box::template lut3<0x69>(g18, g15, a1);
    box.output(2, g19);
  }
};

}  // namespace
}  // namespace paes
