// SPDX-License-Identifier: Apache-2.0
// The kernel `compute`: every step of FIPS 197 and SP 800-38D as the standards write it (the
// studies call it AES-CI), to be read, and to test and measure other kernels against.
#include <bit>
#include <cstring>

#include "cipher/aes_compute.hpp"
#include "core/secret.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/gcm_from_parts.hpp"
#include "kernel/kernel.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

struct ComputeKeys {
  RoundKeys round_keys;
  HashSubkey h;
};
void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  auto& ready = keys.as<ComputeKeys>();
  ready.round_keys = round_keys;
  Block h = {};
  const WipeOnExit wiped(h.bytes);
  aes_compute::encrypt_block(round_keys, h);
  std::memcpy(ready.h.bytes, h.bytes, block_bytes);
}

struct Core {
  static constexpr std::size_t block_bytes = 16;
  static constexpr std::size_t lanes = 1;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    Block block;
    std::memcpy(block.bytes, in, block_bytes);
    aes_compute::encrypt_block(keys.as<ComputeKeys>().round_keys, block);
    std::memcpy(out, block.bytes, block_bytes);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    Block block;
    std::memcpy(block.bytes, in, block_bytes);
    aes_compute::decrypt_block(keys.as<ComputeKeys>().round_keys, block);
    std::memcpy(out, block.bytes, block_bytes);
  }
};
using Modes = BlockModes<Core>;

void ghash(const KernelKeys& keys, const std::uint8_t* in, std::size_t bytes,
           HashValue& hash) noexcept {
  auto h = std::bit_cast<Block>(keys.as<ComputeKeys>().h);
  const WipeOnExit wiped(h.bytes);
  for (std::size_t at = 0; at < bytes; at += block_bytes) {
    Block sum;
    for (std::size_t i = 0; i < block_bytes; ++i) {
      sum.bytes[i] = static_cast<std::uint8_t>(hash.bytes[i] ^ in[at + i]);
    }
    hash = std::bit_cast<HashValue>(aes_compute::ghash_multiply(sum, h));
  }
}

using Gcm = GcmFromParts<Modes::run<Operation::ctr>, ghash>;

constexpr Kernel row = {
    .name = "compute",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "each step of FIPS 197 as the standard writes it; the reference",
    .warning = "insecure: cache timing: its table look-ups leak the key to others on the machine",
    .lanes = 1,
    .prepare = prepare_aes<prepare>,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace

extern const Kernel kernel_compute =
    wiping<row, StackUse{.prepare = 1024, .pieces = 1024, .chains = 1024, .gcm = 1920}>();

}  // namespace paes
