// SPDX-License-Identifier: Apache-2.0
// The 3DES kernel `bitslice_avx512`: 512 blocks at once, in constant time, with the S-boxes as
// circuits of VPTERNLOG, which computes any function of three inputs.
//
// The pragma stops g++ from moving and regrouping the gates, whose order was chosen to keep few
// values alive.
#if !defined(__clang__)
#pragma GCC optimize("no-tree-ter", "no-tree-reassoc")
#endif

#include <immintrin.h>

#include "cipher/des_sbox_three_input.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/des_bitslice_core.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_des.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

struct Word : des_bitslice::PlainWord<des_bitslice::VectorOf<64>::Words, DesThreeInputSboxes> {
  [[gnu::always_inline]] static Slice broadcast(const std::uint32_t& mask) noexcept {
    return (Slice)_mm512_set1_epi32(static_cast<int>(mask));
  }
  template <unsigned Table>
  [[gnu::always_inline]] static Slice lut3(Slice a, Slice b, Slice c) noexcept {
    return (Slice)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, Table);
  }
  // Two shifts and two selections (the table 0xca: a where the mask has a bit, else b).
  template <unsigned Shift, std::uint64_t Mask>
  [[gnu::always_inline]] static void exchange(Slice& a, Slice& b) noexcept {
    const Slice mask = (Slice)_mm512_set1_epi64(static_cast<long long>(Mask));
    const Slice high = a >> Shift;
    a = lut3<0xca>(mask, a, b << Shift);
    b = lut3<0xca>(mask, high, b);
  }
};
using Core = DesBitsliceCore<Word>;

constexpr Kernel row = {
    .name = "bitslice_avx512",
    .cipher = Cipher::des_ede3,
    .use = Use::automatic,
    .summary = "constant time, three-input logic, 512 blocks at once",
    .needs = Feature::avx | Feature::avx2 | Feature::avx512,
    .wants_512_bit = true,
    .lanes = Core::lanes,
    .prepare = prepare_des<Core::prepare>,
    .modes = BlockModes<Core>::runs(),
};

}  // namespace

extern const Kernel kernel_des_bitslice_avx512 =
    wiping<row, StackUse{.prepare = 704, .pieces = 17408, .chains = 17408}>();

}  // namespace paes
