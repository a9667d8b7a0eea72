// The kernel `tables`: AES by table look-ups, as programs computed it before processors had
// instructions for it (the studies call it AES-AIM). It is there to be measured against; GHASH is
// the portable one. See cipher/aes_tables.hpp.
#include <cstring>

#include "cipher/aes_tables.hpp"
#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/kernel.hpp"
#include "kernel/run_piece.hpp"

namespace paes {

extern const Kernel kernel_tables;

namespace {

struct TablesKeys {
  aes_tables::Keys aes;
  HashSubkey h;
};
static_assert(sizeof(TablesKeys) <= sizeof(KernelKeys));

void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  auto& ready = *reinterpret_cast<TablesKeys*>(keys.bytes);
  aes_tables::prepare(round_keys, ready.aes);
  ready.h = {};
  aes_tables::encrypt_blocks<1>(ready.aes, ready.h.bytes, ready.h.bytes);
}

const TablesKeys& keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const TablesKeys*>(keys.bytes);
}

struct Core {
  static constexpr std::size_t block_bytes = 16;
  static constexpr std::size_t lanes = 2;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_tables::encrypt_blocks<lanes>(keys_of(keys).aes, in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_tables::decrypt_blocks<lanes>(keys_of(keys).aes, in, out);
  }
};
using Modes = BlockModes<Core>;

void ghash(const KernelKeys& keys, const std::uint8_t* in, std::size_t bytes,
           HashValue& hash) noexcept {
  ghash_update(keys_of(keys).h, hash, in, bytes / block_bytes);
}

using Gcm = GcmFromParts<Modes::run<Operation::ctr>, ghash>;

}  // namespace

const Kernel kernel_tables = {
    .name = "tables",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "four look-ups a column and round, as before AES instructions",
    .warning = "insecure: cache timing: its table look-ups leak the key to others on the machine",
    .needs = {},
    .wants_512_bit = false,
    .lanes = Core::lanes,
    .unavailable = nullptr,
    .prepare = prepare_aes<prepare>,
    .release = nullptr,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace paes
