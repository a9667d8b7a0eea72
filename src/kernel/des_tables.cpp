// The 3DES kernel `tables`: S-boxes and P in one look-up, the fast form of processors without wide
// registers, which the studies compare others with.
#include "cipher/des_tables.hpp"

#include "kernel/block_modes.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_des.hpp"

namespace paes {

extern const Kernel kernel_des_tables;

namespace {

static_assert(sizeof(des_tables::Keys) <= sizeof(KernelKeys));

void prepare(const DesRoundKeys& round_keys, KernelKeys& keys) {
  des_tables::prepare(round_keys, *reinterpret_cast<des_tables::Keys*>(keys.bytes));
}

const des_tables::Keys& keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const des_tables::Keys*>(keys.bytes);
}

struct Core {
  static constexpr std::size_t block_bytes = des_block_bytes;
  static constexpr std::size_t lanes = 1;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_tables::crypt<1>(keys_of(keys), in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    des_tables::crypt<-1>(keys_of(keys), in, out);
  }
};

}  // namespace

const Kernel kernel_des_tables = {
    .name = "tables",
    .cipher = Cipher::des_ede3,
    .use = Use::by_name,
    .summary = "S-boxes and permutation in one look-up",
    .warning = "insecure: cache timing: its table look-ups leak the key to others on the machine",
    .needs = {},
    .wants_512_bit = false,
    .lanes = Core::lanes,
    .unavailable = nullptr,
    .prepare = prepare_des<prepare>,
    .release = nullptr,
    .modes = BlockModes<Core>::runs(),
};

}  // namespace paes
