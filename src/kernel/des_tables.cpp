// SPDX-License-Identifier: Apache-2.0
// The 3DES kernel `tables`: one look-up does an S-box and P. This is the fast form for processors
// without wide registers; the studies compare others with it.
#include "cipher/des_tables.hpp"

#include "kernel/block_modes.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_des.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

void prepare(const DesRoundKeys& round_keys, KernelKeys& keys) {
  des_tables::prepare(round_keys, keys.as<des_tables::Keys>());
}

struct Core {
  static constexpr std::size_t block_bytes = des_block_bytes;
  static constexpr std::size_t lanes = 1;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_tables::crypt<1>(keys.as<des_tables::Keys>(), in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_tables::crypt<-1>(keys.as<des_tables::Keys>(), in, out);
  }
};

constexpr Kernel row = {
    .name = "tables",
    .cipher = Cipher::des_ede3,
    .use = Use::by_name,
    .summary = "S-boxes and permutation in one look-up",
    .warning = "insecure: cache timing: its table look-ups leak the key to others on the machine",
    .lanes = Core::lanes,
    .prepare = prepare_des<prepare>,
    .modes = BlockModes<Core>::runs(),
};

}  // namespace

extern const Kernel kernel_des_tables =
    wiping<row, StackUse{.prepare = 640, .pieces = 640, .chains = 640}>();

}  // namespace paes
