// SPDX-License-Identifier: Apache-2.0
// What instructions compute that C++ has no operator for, by the examples and the borders of
// NVIDIA's "PTX ISA".
#include <gtest/gtest.h>

#include "emulate/ptx/lane.hpp"
#include "emulate/ptx/machine.hpp"

namespace paes::ptx {
namespace {

TEST(PtxInstructions, ShiftsEndAtTheWidth) {
  EXPECT_EQ(shift_left(b32{1}, 31), 0x80000000U);
  EXPECT_EQ(shift_left(b32{1}, 32), 0U);
  EXPECT_EQ(shift_left(b64{1}, 200), 0U);
  EXPECT_EQ(shift_left(b16{0x8001}, 1), 2U);
  EXPECT_EQ(shift_right(b32{0x80000000}, 31), 1U);
  EXPECT_EQ(shift_right(b32{0x80000000}, 32), 0U);
  EXPECT_EQ(shift_right(s32{-8}, 1), -4);
  EXPECT_EQ(shift_right(s32{-8}, 77), -1);
  EXPECT_EQ(shift_right(s16{-8}, 16), -1);
}

TEST(PtxInstructions, FunnelsWrap) {
  EXPECT_EQ(funnel_left(0x89abcdef, 0x01234567, 4), 0x12345678U);
  EXPECT_EQ(funnel_left(0x89abcdef, 0x01234567, 36), 0x12345678U);
  EXPECT_EQ(funnel_left(0x89abcdef, 0x01234567, 0), 0x01234567U);
  EXPECT_EQ(funnel_right(0x89abcdef, 0x01234567, 4), 0x789abcdeU);
  EXPECT_EQ(funnel_right(0x89abcdef, 0x01234567, 32), 0x89abcdefU);
}

TEST(PtxInstructions, BytesArePermuted) {
  EXPECT_EQ(permute_bytes(0x33221100, 0x77665544, 0x7531), 0x77553311U);
  EXPECT_EQ(permute_bytes(0x33221100, 0x77665544, 0x0123), 0x00112233U);
  // The highest bit of a digit repeats the byte's.
  EXPECT_EQ(permute_bytes(0x00008001, 0, 0x9898), 0xff00ff00U);
}

TEST(PtxInstructions, ProductsOfBytesAreAdded) {
  EXPECT_EQ(dot_bytes(0x04030201, 0x40302010, 5), 5U + 0x10 + 2 * 0x20 + 3 * 0x30 + 4 * 0x40);
  EXPECT_EQ(dot_bytes(0xffffffff, 0xffffffff, 0), 4U * 255 * 255);
  EXPECT_EQ(dot_bytes(0x00ff0000, 0x00800000, 0xfffffffc), 0xffU * 0x80 - 4);
}

TEST(PtxInstructions, TablesOfThreeInputs) {
  for (b32 i = 0; i < 8; ++i) {
    const b32 a = (i & 4) != 0 ? ~0U : 0;
    const b32 b = (i & 2) != 0 ? ~0U : 0;
    const b32 c = (i & 1) != 0 ? ~0U : 0;
    EXPECT_EQ(lut3<0x96>(a, b, c), a ^ b ^ c);
    EXPECT_EQ(lut3<0xca>(a, b, c), (a & b) | (~a & c));
    EXPECT_EQ(lut3<0x1e>(a, b, c), a ^ (b | c));
  }
}

TEST(PtxInstructions, BitFields) {
  EXPECT_EQ(insert_bits(b32{0xabc}, b32{0xffffffff}, 8, 8), 0xffffbcffU);
  EXPECT_EQ(insert_bits(b32{0xabc}, b32{5}, 8, 0), 5U);
  EXPECT_EQ(insert_bits(b32{0xabc}, b32{5}, 32, 8), 5U);
  EXPECT_EQ(insert_bits(b64{1}, b64{0}, 63, 64), b64{1} << 63);
  EXPECT_EQ(insert_bits(b64{0xff}, b64{0}, 32, 32), b64{0xff} << 32);
  EXPECT_EQ(extract_bits(b32{0x12345678}, 8, 8), 0x56U);
  EXPECT_EQ(extract_bits(b32{0x12345678}, 28, 32), 1U);
  EXPECT_EQ(extract_bits(b32{0x12345678}, 40, 8), 0U);
}

TEST(PtxInstructions, ProductsAndQuotients) {
  EXPECT_EQ(low_product(b16{0xffff}, b16{0xffff}), 1U);
  EXPECT_EQ(low_product(~b64{0}, b64{2}), ~b64{1});
  EXPECT_EQ(wide_product(~b32{0}, ~b32{0}), 0xfffffffe00000001U);
  EXPECT_EQ(wide_product(s32{-2}, s32{3}), -6);
  EXPECT_EQ(wide_product(b16{0xffff}, b16{0xffff}), 0xfffe0001U);
  EXPECT_EQ(quotient(b32{7}, b32{0}), ~b32{0});
  EXPECT_EQ(remainder(b32{7}, b32{0}), 7U);
}

TEST(PtxNames, AreTheSameInEveryRunOfTheCompiler) {
  EXPECT_EQ(plain_name("_ZN4paes4cuda45_GLOBAL__N__df85cf56_12_one_file_cu_1e0150998run_gridE"),
            plain_name("_ZN4paes4cuda45_GLOBAL__N__00000000_12_one_file_cu_ffffffff8run_gridE"));
  EXPECT_NE(plain_name("_ZN4paes4cuda45_GLOBAL__N__df85cf56_12_one_file_cu_1e0150998run_gridE"),
            plain_name("_ZN4paes4cuda45_GLOBAL__N__df85cf56_12_two_file_cu_1e0150998run_gridE"));
  EXPECT_EQ(plain_name("_ZN45_INTERNAL_df85cf56_14_a_cu_1e0150994paes1xE"), "_ZN4paes1xE");
}

}  // namespace
}  // namespace paes::ptx
