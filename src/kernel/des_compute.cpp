// The 3DES kernel `compute`: every step of SP 800-67 as the standard writes it. It is there to be
// read, and to test and measure the others against.
#include "cipher/des_compute.hpp"

#include "kernel/block_modes.hpp"
#include "kernel/kernel.hpp"
#include "kernel/prepare_des.hpp"

namespace paes {

extern const Kernel kernel_des_compute;

namespace {

static_assert(sizeof(DesRoundKeys) <= sizeof(KernelKeys));

void prepare(const DesRoundKeys& round_keys, KernelKeys& keys) {
  std::memcpy(keys.bytes, &round_keys, sizeof round_keys);
}

const DesRoundKeys& keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const DesRoundKeys*>(keys.bytes);
}

struct Core {
  static constexpr std::size_t block_bytes = des_block_bytes;
  static constexpr std::size_t lanes = 1;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    store_be64(out, des_compute::encrypt(keys_of(keys), load_be64(in)));
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    store_be64(out, des_compute::decrypt(keys_of(keys), load_be64(in)));
  }
};

}  // namespace

const Kernel kernel_des_compute = {
    .name = "compute",
    .cipher = Cipher::des_ede3,
    .use = Use::by_name,
    .summary = "each step of SP 800-67 as the standard writes it; the reference",
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
