// SPDX-License-Identifier: Apache-2.0
// The 3DES kernel `bitslice`: 64 blocks at once in the integer registers of any 64-bit processor,
// in constant time. It is the default where there are no wider registers.
//
// The pragma stops g++ from moving and regrouping the gates, whose order was chosen to keep few
// values alive.
#if !defined(__clang__)
#pragma GCC optimize("no-tree-ter", "no-tree-reassoc")
#endif

#include "cipher/des_sbox_two_input.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/des_bitslice_core.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_des.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

using Core = DesBitsliceCore<des_bitslice::PlainWord<std::uint64_t, DesTwoInputSboxes>>;

constexpr Kernel row = {
    .name = "bitslice",
    .cipher = Cipher::des_ede3,
    .use = Use::automatic,
    .summary = "constant time on any 64-bit processor, 64 blocks at once",
    .lanes = Core::lanes,
    .prepare = prepare_des<Core::prepare>,
    .modes = BlockModes<Core>::runs(),
};

}  // namespace

extern const Kernel kernel_des_bitslice =
    wiping<row, StackUse{.prepare = 1024, .pieces = 2688, .chains = 2688}>();

}  // namespace paes
