// The S-boxes of DES as circuits of three-input gates, for processors that have every one of them
// as an instruction. Made by `sbox emit 3 bench/sbox/three_input.circuits`, so that a change
// belongs there: tests/sbox/sbox.sh checks that it still says this, tests/cipher/des_sbox_test.cpp
// every box at every input.
//
// `box.input(i)` gives input bit i (1 to 6, first bit first, as in SP 800-67), `box.output(i, g)`
// takes output bit i (1 to 4). `box.lut3<t>(a, b, c)` is bit (a << 2 | b << 1 | c) of t.
// 185 gates in all.
#pragma once

#include <cstdint>

namespace paes {
namespace {  // NOLINT: kernel objects may hold no symbol that the linker merges

struct DesThreeInputSboxes {
  static constexpr std::uint8_t complemented_outputs[8] = {0, 0, 0, 0, 0, 0, 0, 0};

  // 26 gates; at most 12 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_1(Box box) noexcept {
    const auto a2 = box.input(2), a4 = box.input(4), a6 = box.input(6);
    const auto g1 = Box::template lut3<0x79>(a2, a4, a6), a3 = box.input(3);
    const auto g2 = Box::template lut3<0x96>(a2, a3, g1), a5 = box.input(5);
    const auto g3 = Box::template lut3<0x44>(a5, a6, g2), g4 = Box::template lut3<0x9c>(a2, a4, g3);
    const auto g5 = Box::template lut3<0x69>(a3, g1, g4), g6 = Box::template lut3<0x93>(a5, g4, g5);
    const auto g7 = Box::template lut3<0x46>(a6, g5, g6), g8 = Box::template lut3<0x8b>(g1, g2, g7);
    const auto g9 = Box::template lut3<0xb6>(a5, g4, g7);
    const auto g10 = Box::template lut3<0x6a>(a6, g2, g9);
    const auto g11 = Box::template lut3<0x43>(a6, g4, g8);
    const auto g12 = Box::template lut3<0x96>(a5, a6, g8);
    const auto g13 = Box::template lut3<0xd4>(g1, g3, g12);
    const auto g14 = Box::template lut3<0xed>(a2, a5, a6);
    const auto g15 = Box::template lut3<0xb5>(a2, g14, g13);
    const auto g16 = Box::template lut3<0x78>(g14, g10, g15);
    const auto g17 = Box::template lut3<0xdc>(g5, g13, g15);
    const auto g18 = Box::template lut3<0xc8>(a6, g6, g15), a1 = box.input(1);
    const auto g19 = Box::template lut3<0x6c>(a1, g10, g17);
    box.output(2, g19);
    const auto g20 = Box::template lut3<0x60>(a1, g8, g16);
    const auto g21 = Box::template lut3<0x96>(g5, g18, g20);
    box.output(3, g21);
    const auto g22 = Box::template lut3<0x39>(a5, g11, g16);
    const auto g23 = Box::template lut3<0xac>(a1, g12, g22);
    box.output(1, g23);
    const auto g24 = Box::template lut3<0x9a>(g3, g11, g21);
    const auto g25 = Box::template lut3<0xc3>(g24, g12, g3);
    const auto g26 = Box::template lut3<0x93>(a1, g6, g25);
    box.output(4, g26);
  }

  // 24 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_2(Box box) noexcept {
    const auto a1 = box.input(1), a4 = box.input(4), a5 = box.input(5);
    const auto g1 = Box::template lut3<0x69>(a1, a4, a5), a6 = box.input(6);
    const auto g2 = Box::template lut3<0xe4>(a1, a5, a6), g3 = Box::template lut3<0x89>(a5, g2, g1);
    const auto a2 = box.input(2), g4 = Box::template lut3<0x8f>(a2, a5, a6);
    const auto g5 = Box::template lut3<0xbc>(a1, g4, g2), g6 = Box::template lut3<0x96>(a6, g4, g5);
    const auto g7 = Box::template lut3<0x4a>(a5, g4, g6), g8 = Box::template lut3<0x6c>(g2, g6, g3);
    const auto g9 = Box::template lut3<0x72>(g4, g2, g8);
    const auto g10 = Box::template lut3<0x49>(a2, g1, g3);
    const auto g11 = Box::template lut3<0x93>(a2, g3, g8);
    const auto g12 = Box::template lut3<0xd9>(a4, g10, g8);
    const auto g13 = Box::template lut3<0x76>(a1, a4, g8);
    const auto g14 = Box::template lut3<0x61>(g5, g10, g13);
    const auto g15 = Box::template lut3<0x2e>(g5, g8, g11);
    const auto g16 = Box::template lut3<0x3a>(g4, g1, g14);
    const auto g17 = Box::template lut3<0xbe>(a1, g4, g7);
    const auto g18 = Box::template lut3<0x96>(a1, g14, g9);
    const auto g19 = Box::template lut3<0xe6>(g12, g13, g14), a3 = box.input(3);
    const auto g20 = Box::template lut3<0x9a>(a3, g7, g11);
    box.output(4, g20);
    const auto g21 = Box::template lut3<0x3a>(a3, g16, g18);
    box.output(2, g21);
    const auto g22 = Box::template lut3<0x69>(g12, g16, g15);
    const auto g23 = Box::template lut3<0x59>(a3, g17, g12);
    box.output(1, g23);
    const auto g24 = Box::template lut3<0xc6>(a3, g22, g19);
    box.output(3, g24);
  }

  // 24 gates; at most 13 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_3(Box box) noexcept {
    const auto a3 = box.input(3), a4 = box.input(4), a5 = box.input(5);
    const auto g1 = Box::template lut3<0x96>(a3, a4, a5), a2 = box.input(2), a6 = box.input(6);
    const auto g2 = Box::template lut3<0x69>(a2, a6, g1), g3 = Box::template lut3<0xa3>(a4, g1, g2);
    const auto g4 = Box::template lut3<0x86>(a4, a5, g2), g5 = Box::template lut3<0x59>(a5, g1, g2);
    const auto g6 = Box::template lut3<0x25>(a4, a6, g5), g7 = Box::template lut3<0xad>(a4, g1, g4);
    const auto g8 = Box::template lut3<0x35>(a2, g7, g3), g9 = Box::template lut3<0x06>(a6, g7, g8);
    const auto g10 = Box::template lut3<0x5a>(g1, g8, g6);
    const auto g11 = Box::template lut3<0x96>(a3, g1, g5), a1 = box.input(1);
    const auto g12 = Box::template lut3<0x3a>(a1, g8, g11);
    box.output(4, g12);
    const auto g13 = Box::template lut3<0xc7>(g3, g9, g10);
    const auto g14 = Box::template lut3<0xf4>(a2, g2, g5);
    const auto g15 = Box::template lut3<0x0b>(a2, a3, g9);
    const auto g16 = Box::template lut3<0x39>(g15, g14, g13);
    const auto g17 = Box::template lut3<0xe9>(g4, g6, g13);
    const auto g18 = Box::template lut3<0x69>(a5, g4, g13);
    const auto g19 = Box::template lut3<0x63>(a1, g16, g18);
    box.output(3, g19);
    const auto g20 = Box::template lut3<0x63>(a3, g4, g19);
    const auto g21 = Box::template lut3<0x01>(a3, g4, g17);
    const auto g22 = Box::template lut3<0xc9>(a1, g10, g21);
    box.output(2, g22);
    const auto g23 = Box::template lut3<0xf2>(a1, g20, g17);
    const auto g24 = Box::template lut3<0x96>(g2, g15, g23);
    box.output(1, g24);
  }

  // 17 gates; at most 8 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_4(Box box) noexcept {
    const auto a2 = box.input(2), a3 = box.input(3), a4 = box.input(4);
    const auto g1 = Box::template lut3<0x5e>(a2, a3, a4), a5 = box.input(5);
    const auto g2 = Box::template lut3<0xe6>(a3, a5, g1), g3 = Box::template lut3<0x6d>(a4, a5, g2);
    const auto g4 = Box::template lut3<0xa7>(a3, g1, g3), g5 = Box::template lut3<0x71>(a3, a4, a5);
    const auto a1 = box.input(1), g6 = Box::template lut3<0xb5>(a1, g2, g5);
    const auto g7 = Box::template lut3<0x86>(a5, g1, g6), g8 = Box::template lut3<0x98>(a1, g1, g2);
    const auto g9 = Box::template lut3<0xbe>(a2, a4, g6);
    const auto g10 = Box::template lut3<0x59>(a1, g9, g4);
    const auto g11 = Box::template lut3<0x6d>(a2, g7, g4);
    const auto g12 = Box::template lut3<0x79>(g8, g9, g11);
    const auto g13 = Box::template lut3<0x79>(a4, g2, g11), a6 = box.input(6);
    const auto g14 = Box::template lut3<0x56>(a6, g13, g10);
    box.output(4, g14);
    const auto g15 = Box::template lut3<0x95>(a6, g13, g10);
    box.output(3, g15);
    const auto g16 = Box::template lut3<0xa3>(a6, g7, g12);
    box.output(2, g16);
    const auto g17 = Box::template lut3<0x35>(a6, g7, g12);
    box.output(1, g17);
  }

  // 26 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_5(Box box) noexcept {
    const auto a1 = box.input(1), a3 = box.input(3), a5 = box.input(5);
    const auto g1 = Box::template lut3<0x49>(a1, a3, a5), a2 = box.input(2);
    const auto g2 = Box::template lut3<0xb9>(a1, a2, a3), g3 = Box::template lut3<0xd8>(a2, a3, g1);
    const auto a6 = box.input(6), g4 = Box::template lut3<0x96>(a2, a6, g1);
    const auto g5 = Box::template lut3<0x6d>(a1, a3, a6), g6 = Box::template lut3<0x81>(a3, a6, g4);
    const auto g7 = Box::template lut3<0xa4>(a1, a2, g6), g8 = Box::template lut3<0xce>(g5, g6, g3);
    const auto g9 = Box::template lut3<0x86>(a5, g4, g5);
    const auto g10 = Box::template lut3<0x93>(a6, g1, g9);
    const auto g11 = Box::template lut3<0xa6>(g9, g8, g7);
    const auto g12 = Box::template lut3<0xc9>(a5, g4, g3);
    const auto g13 = Box::template lut3<0xa7>(g5, g10, g12);
    const auto g14 = Box::template lut3<0xcb>(a6, g13, g11);
    const auto g15 = Box::template lut3<0x7c>(g13, g11, g2);
    const auto g16 = Box::template lut3<0xd3>(g5, g7, g15);
    const auto g17 = Box::template lut3<0x95>(a5, g3, g16);
    const auto g18 = Box::template lut3<0x59>(a5, g8, g7);
    const auto g19 = Box::template lut3<0x71>(g10, g8, g18), a4 = box.input(4);
    const auto g20 = Box::template lut3<0xc6>(a4, g19, g15);
    box.output(1, g20);
    const auto g21 = Box::template lut3<0xd9>(g4, g19, g16);
    const auto g22 = Box::template lut3<0xc6>(a4, g4, g18);
    box.output(2, g22);
    const auto g23 = Box::template lut3<0xe8>(g8, g2, g21);
    const auto g24 = Box::template lut3<0xa6>(a4, g23, g17);
    box.output(4, g24);
    const auto g25 = Box::template lut3<0x79>(g2, g23, g14);
    const auto g26 = Box::template lut3<0xca>(a4, g13, g25);
    box.output(3, g26);
  }

  // 24 gates; at most 9 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_6(Box box) noexcept {
    const auto a1 = box.input(1), a2 = box.input(2), a4 = box.input(4);
    const auto g1 = Box::template lut3<0x24>(a1, a2, a4), a3 = box.input(3);
    const auto g2 = Box::template lut3<0x0b>(a1, a2, a3), g3 = Box::template lut3<0x5a>(a3, g2, g1);
    const auto g4 = Box::template lut3<0x96>(a2, a4, g2), a5 = box.input(5);
    const auto g5 = Box::template lut3<0x5c>(a5, g4, g3), g6 = Box::template lut3<0xcd>(a2, g2, g5);
    const auto g7 = Box::template lut3<0x60>(a5, g4, g6), g8 = Box::template lut3<0x65>(a1, a3, g7);
    const auto g9 = Box::template lut3<0x53>(a5, g1, g8);
    const auto g10 = Box::template lut3<0x96>(a3, g6, g9);
    const auto g11 = Box::template lut3<0x9b>(a1, g6, g10);
    const auto g12 = Box::template lut3<0x96>(a5, g5, g11);
    const auto g13 = Box::template lut3<0x6a>(g6, g8, g12);
    const auto g14 = Box::template lut3<0x2b>(a1, a4, g13);
    const auto g15 = Box::template lut3<0x1c>(g5, g12, g13), a6 = box.input(6);
    const auto g16 = Box::template lut3<0xc6>(a6, g5, g8);
    box.output(3, g16);
    const auto g17 = Box::template lut3<0xc9>(a6, g10, g14);
    box.output(4, g17);
    const auto g18 = Box::template lut3<0x74>(a2, a4, g10);
    const auto g19 = Box::template lut3<0xb4>(a2, g12, g17);
    const auto g20 = Box::template lut3<0xa5>(g15, g16, g19);
    const auto g21 = Box::template lut3<0xbf>(a4, g12, g17);
    const auto g22 = Box::template lut3<0xc7>(a6, g20, g21);
    box.output(2, g22);
    const auto g23 = Box::template lut3<0x7b>(g18, g19, g20);
    const auto g24 = Box::template lut3<0xc6>(a6, g12, g23);
    box.output(1, g24);
  }

  // 23 gates; at most 11 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_7(Box box) noexcept {
    const auto a2 = box.input(2), a4 = box.input(4), a5 = box.input(5);
    const auto g1 = Box::template lut3<0xb4>(a2, a4, a5), a6 = box.input(6);
    const auto g2 = Box::template lut3<0x58>(a4, a6, g1), g3 = Box::template lut3<0xda>(a2, a6, g2);
    const auto g4 = Box::template lut3<0x5c>(a4, a5, g3), g5 = Box::template lut3<0x69>(a4, a6, g3);
    const auto a3 = box.input(3), g6 = Box::template lut3<0x85>(a3, a6, g3);
    const auto g7 = Box::template lut3<0xba>(a2, a4, g6), g8 = Box::template lut3<0xa5>(a6, g1, g4);
    const auto g9 = Box::template lut3<0x67>(g7, g4, g8);
    const auto g10 = Box::template lut3<0x0d>(a5, g6, g4);
    const auto g11 = Box::template lut3<0x69>(g1, g6, g8);
    const auto g12 = Box::template lut3<0x5e>(g10, g9, g11);
    const auto g13 = Box::template lut3<0xa9>(a3, g1, g8), a1 = box.input(1);
    const auto g14 = Box::template lut3<0x6c>(a1, g5, g12);
    const auto g15 = Box::template lut3<0x56>(a3, g2, g14);
    const auto g16 = Box::template lut3<0x9d>(g2, g9, g13);
    const auto g17 = Box::template lut3<0x96>(a5, g16, g15);
    box.output(3, g17);
    const auto g18 = Box::template lut3<0x65>(a2, g9, g15);
    const auto g19 = Box::template lut3<0x9c>(a1, g11, g18);
    const auto g20 = Box::template lut3<0x95>(a1, g9, g19);
    box.output(1, g20);
    const auto g21 = Box::template lut3<0x99>(g9, g15, g19);
    box.output(2, g21);
    const auto g22 = Box::template lut3<0xdf>(g1, g9, g21);
    const auto g23 = Box::template lut3<0x6c>(a1, g13, g22);
    box.output(4, g23);
  }

  // 21 gates; at most 10 values are alive at a time.
  template <class Box>
  [[gnu::always_inline]] static constexpr void sbox_8(Box box) noexcept {
    const auto a1 = box.input(1), a4 = box.input(4), a5 = box.input(5);
    const auto g1 = Box::template lut3<0x86>(a1, a4, a5), a3 = box.input(3), a6 = box.input(6);
    const auto g2 = Box::template lut3<0x5a>(a3, a6, g1), g3 = Box::template lut3<0x2d>(a4, a5, g2);
    const auto g4 = Box::template lut3<0xab>(a1, a5, g3), a2 = box.input(2);
    const auto g5 = Box::template lut3<0x9c>(g4, g2, a2), g6 = Box::template lut3<0xa4>(a1, a6, g5);
    const auto g7 = Box::template lut3<0xcb>(a2, a5, g6), g8 = Box::template lut3<0x36>(a1, g3, g6);
    const auto g9 = Box::template lut3<0xd6>(a2, g6, g8);
    const auto g10 = Box::template lut3<0x2d>(g2, g7, g9);
    const auto g11 = Box::template lut3<0x96>(a1, a5, g9);
    const auto g12 = Box::template lut3<0x96>(g7, g8, g11);
    const auto g13 = Box::template lut3<0x36>(a6, g11, g12);
    box.output(3, g13);
    const auto g14 = Box::template lut3<0x0b>(a6, g10, g12);
    const auto g15 = Box::template lut3<0x23>(a1, a6, g10);
    const auto g16 = Box::template lut3<0xcd>(a1, a2, g5);
    const auto g17 = Box::template lut3<0x69>(g3, g16, g14);
    box.output(2, g17);
    const auto g18 = Box::template lut3<0xd8>(g7, g16, g11);
    const auto g19 = Box::template lut3<0x96>(a2, g3, g18);
    const auto g20 = Box::template lut3<0x9c>(a6, g5, g19);
    box.output(4, g20);
    const auto g21 = Box::template lut3<0x96>(g15, g19, g20);
    box.output(1, g21);
  }
};

}  // namespace
}  // namespace paes
