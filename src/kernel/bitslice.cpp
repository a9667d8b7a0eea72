// SPDX-License-Identifier: Apache-2.0
// The kernel `bitslice`: AES and GHASH in constant time on any 64-bit processor, sixteen blocks at
// once (cipher/aes_bitslice.hpp). It is the default where there are no AES instructions.
#include <cstring>

#include "cipher/aes_bitslice.hpp"
#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/gcm_from_parts.hpp"
#include "kernel/kernel.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

using aes_bitslice::lanes;

struct BitsliceKeys {
  aes_bitslice::Keys aes;
  HashSubkey h;
};
void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  auto& ready = keys.as<BitsliceKeys>();
  aes_bitslice::prepare(round_keys, ready.aes);
  std::uint8_t blocks[lanes * block_bytes] = {};
  aes_bitslice::encrypt_blocks(ready.aes, blocks, blocks);
  std::memcpy(ready.h.bytes, blocks, block_bytes);
  wipe(blocks, sizeof blocks);
}

struct Core {
  static constexpr std::size_t block_bytes = 16;
  static constexpr std::size_t lanes = aes_bitslice::lanes;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_bitslice::encrypt_blocks(keys.as<BitsliceKeys>().aes, in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_bitslice::decrypt_blocks(keys.as<BitsliceKeys>().aes, in, out);
  }
};
using Modes = BlockModes<Core>;

using Gcm = GcmFromParts<Modes::run<Operation::ctr>, portable_ghash<BitsliceKeys>>;

constexpr Kernel row = {
    .name = "bitslice",
    .cipher = Cipher::aes,
    .use = Use::automatic,
    .summary = "constant time on any 64-bit processor, 16 blocks at once",
    .lanes = lanes,
    .prepare = prepare_aes<prepare>,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace

extern const Kernel kernel_bitslice =
    wiping<row, StackUse{.prepare = 1536, .pieces = 1792, .chains = 1792, .gcm = 2304}>();

}  // namespace paes
