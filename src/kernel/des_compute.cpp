// SPDX-License-Identifier: Apache-2.0
// The 3DES kernel `compute`: every step of SP 800-67 as the standard writes it, to be read, and to
// test and measure other kernels against.
#include "cipher/des_compute.hpp"

#include "kernel/block_modes.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_des.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

void prepare(const DesRoundKeys& round_keys, KernelKeys& keys) {
  std::memcpy(keys.bytes, &round_keys, sizeof round_keys);
}

struct Core {
  static constexpr std::size_t block_bytes = des_block_bytes;
  static constexpr std::size_t lanes = 1;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    store_be64(out, des_compute::encrypt(keys.as<DesRoundKeys>(), load_be64(in)));
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    store_be64(out, des_compute::decrypt(keys.as<DesRoundKeys>(), load_be64(in)));
  }
};

constexpr Kernel row = {
    .name = "compute",
    .cipher = Cipher::des_ede3,
    .use = Use::by_name,
    .summary = "each step of SP 800-67 as the standard writes it; the reference",
    .warning = "insecure: cache timing: its table look-ups leak the key to others on the machine",
    .lanes = Core::lanes,
    .prepare = prepare_des<prepare>,
    .modes = BlockModes<Core>::runs(),
};

}  // namespace

extern const Kernel kernel_des_compute =
    wiping<row, StackUse{.prepare = 640, .pieces = 640, .chains = 640}>();

}  // namespace paes
