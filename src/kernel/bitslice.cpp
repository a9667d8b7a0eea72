// The kernel `bitslice`: AES and GHASH in constant time on any 64-bit processor, the default where
// there are no AES instructions. Sixteen blocks at once; see cipher/aes_bitslice.hpp.
#include <cstring>

#include "cipher/aes_bitslice.hpp"
#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "kernel/block_modes.hpp"
#include "kernel/kernel.hpp"
#include "kernel/run_piece.hpp"

namespace paes {

extern const Kernel kernel_bitslice;

namespace {

using aes_bitslice::lanes;

struct BitsliceKeys {
  aes_bitslice::Keys aes;
  HashSubkey h;
};
static_assert(sizeof(BitsliceKeys) <= sizeof(KernelKeys));

void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  auto& ready = *reinterpret_cast<BitsliceKeys*>(keys.bytes);
  aes_bitslice::prepare(round_keys, ready.aes);
  std::uint8_t blocks[lanes * block_bytes] = {};
  aes_bitslice::encrypt_blocks(ready.aes, blocks, blocks);
  std::memcpy(ready.h.bytes, blocks, block_bytes);
  wipe(blocks, sizeof blocks);
}

const BitsliceKeys& keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const BitsliceKeys*>(keys.bytes);
}

struct Core {
  static constexpr std::size_t block_bytes = 16;
  static constexpr std::size_t lanes = aes_bitslice::lanes;

  static void encrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_bitslice::encrypt_blocks(keys_of(keys).aes, in, out);
  }
  static void decrypt(const KernelKeys& keys, const std::uint8_t* in, std::uint8_t* out) noexcept {
    aes_bitslice::decrypt_blocks(keys_of(keys).aes, in, out);
  }
};
using Modes = BlockModes<Core>;

void ghash(const KernelKeys& keys, const std::uint8_t* in, std::size_t bytes,
           HashValue& hash) noexcept {
  ghash_update(keys_of(keys).h, hash, in, bytes / block_bytes);
}

using Gcm = GcmFromParts<Modes::run<Operation::ctr>, ghash>;

}  // namespace

const Kernel kernel_bitslice = {
    .name = "bitslice",
    .cipher = Cipher::aes,
    .use = Use::automatic,
    .summary = "constant time on any 64-bit processor, 16 blocks at once",
    .warning = nullptr,
    .needs = {},
    .wants_512_bit = false,
    .lanes = lanes,
    .unavailable = nullptr,
    .prepare = prepare_aes<prepare>,
    .release = nullptr,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace paes
