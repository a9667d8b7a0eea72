// SPDX-License-Identifier: Apache-2.0
// The kernel `tables`: AES by table look-ups (cipher/aes_tables.hpp), which programs used before
// processors had instructions for it (the studies call it AES-AIM). Measurements compare other
// kernels with it. Its GHASH is the portable one.
#include <cstring>

#include "cipher/aes_tables.hpp"
#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/gcm_from_parts.hpp"
#include "kernel/kernel.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

struct TablesKeys {
  aes_tables::Keys aes;
  HashSubkey h;
};
void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  auto& ready = keys.as<TablesKeys>();
  aes_tables::prepare(round_keys, ready.aes);
  ready.h = {};
  aes_tables::encrypt_blocks<1>(ready.aes, ready.h.bytes, ready.h.bytes);
}

struct Core {
  static constexpr std::size_t block_bytes = 16;
  static constexpr std::size_t lanes = 2;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_tables::encrypt_blocks<lanes>(keys.as<TablesKeys>().aes, in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_tables::decrypt_blocks<lanes>(keys.as<TablesKeys>().aes, in, out);
  }
};
using Modes = BlockModes<Core>;

using Gcm = GcmFromParts<Modes::run<Operation::ctr>, portable_ghash<TablesKeys>>;

constexpr Kernel row = {
    .name = "tables",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "four look-ups a column and round, as before AES instructions",
    .warning = "insecure: cache timing: its table look-ups leak the key to others on the machine",
    .lanes = Core::lanes,
    .prepare = prepare_aes<prepare>,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace

extern const Kernel kernel_tables =
    wiping<row, StackUse{.prepare = 768, .pieces = 768, .chains = 768, .gcm = 1472}>();

}  // namespace paes
