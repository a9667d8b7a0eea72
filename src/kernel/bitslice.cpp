// The kernel `bitslice`: AES and GHASH in constant time on any 64-bit processor, the default where
// there are no AES instructions. Sixteen blocks at once; see cipher/aes_bitslice.hpp.
#include <cstring>

#include "cipher/aes_bitslice.hpp"
#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "kernel/kernel.hpp"
#include "kernel/run_piece.hpp"
#include "mode/gcm.hpp"

namespace paes {

extern const Kernel kernel_bitslice;

namespace {

using aes_bitslice::lanes;

struct BitsliceKeys {
  aes_bitslice::Keys aes;
  Block h;
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

void gctr(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  const aes_bitslice::Keys& aes = keys_of(keys).aes;
  std::uint8_t keystream[lanes * block_bytes];
  for (std::size_t at = 0; at < piece.bytes; at += sizeof keystream) {
    const std::uint64_t first = piece.first_block + at / block_bytes;
    for (std::size_t i = 0; i < lanes; ++i) {
      const Block counter = gcm::add_counter(state.counter, first + i);
      std::memcpy(keystream + i * block_bytes, counter.bytes, block_bytes);
    }
    aes_bitslice::encrypt_blocks(aes, keystream, keystream);
    const std::size_t rest = piece.bytes - at;
    const std::size_t bytes = rest < sizeof keystream ? rest : sizeof keystream;
    for (std::size_t i = 0; i < bytes; ++i) {
      piece.out[at + i] = static_cast<std::uint8_t>(piece.in[at + i] ^ keystream[i]);
    }
  }
  wipe(keystream, sizeof keystream);
}

void ghash(const KernelKeys& keys, const ModeState&, const Piece& piece) noexcept {
  ghash_update(keys_of(keys).h, *piece.hash, piece.in, piece.bytes / block_bytes);
}

using Gcm = GcmFromParts<gctr, ghash>;

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
    .run = Gcm::runs,
};

}  // namespace paes
