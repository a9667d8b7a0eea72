// SPDX-License-Identifier: Apache-2.0
// The 3DES kernel `bitslice_avx2`: 256 blocks at once, in constant time.
//
// The pragma stops g++ from moving and regrouping the gates, whose order was chosen to keep few
// values alive.
#if !defined(__clang__)
#pragma GCC optimize("no-tree-ter", "no-tree-reassoc")
#endif

#include <immintrin.h>

#include "cipher/des_sbox_two_input.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/des_bitslice_core.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_des.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

struct Word : des_bitslice::PlainWord<des_bitslice::VectorOf<32>::Words, DesTwoInputSboxes> {
  [[gnu::always_inline]] static Slice broadcast(const std::uint32_t& mask) noexcept {
    return (Slice)_mm256_set1_epi32(static_cast<int>(mask));
  }
};
using Core = DesBitsliceCore<Word>;

constexpr Kernel row = {
    .name = "bitslice_avx2",
    .cipher = Cipher::des_ede3,
    .use = Use::automatic,
    .summary = "constant time, 256 blocks at once",
    .needs = Feature::avx | Feature::avx2,
    .lanes = Core::lanes,
    .prepare = prepare_des<Core::prepare>,
    .modes = BlockModes<Core>::runs(),
};

}  // namespace

extern const Kernel kernel_des_bitslice_avx2 =
    wiping<row, StackUse{.prepare = 832, .pieces = 9216, .chains = 9216}>();

}  // namespace paes
