// memcpy in the place of the cipher: every operation that has an output copies its input to it, and
// none hashes. It measures everything that is not cryptography. It exists only for measurements
// and must never protect anything.
#include <cstring>

#include "kernel/kernel.hpp"
#include "kernel/mode_runs.hpp"

namespace paes {

extern const Kernel kernel_copy;

namespace {

void prepare(Bytes, KernelKeys&) {}

void copy(const KernelKeys&, const ModeState&, const Piece& piece) noexcept {
  // In place there is nothing to move, and memcpy may not be asked to.
  if (piece.out != piece.in) {
    std::memcpy(piece.out, piece.in, piece.bytes);
  }
}

struct Copies {
  static constexpr std::size_t block_size = block_bytes;

  template <Operation>
  static void run(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
    copy(keys, state, piece);
  }

  template <Operation>
  static void run_chains(const KernelKeys& keys, std::span<Chain> messages) noexcept {
    for (const Chain& chain : messages) {
      copy(keys, {}, Piece{0, chain.in, chain.out, chain.bytes});
    }
  }
};

void no_hash(const KernelKeys&, const ModeState&, const Piece&) noexcept {}

}  // namespace

const Kernel kernel_copy = {
    .name = "copy",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "memcpy in the place of the cipher: all costs but cryptography",
    .warning = nullptr,
    .needs = {},
    .wants_512_bit = false,
    .lanes = 1,
    .unavailable = nullptr,
    .prepare = prepare,
    .release = nullptr,
    .modes = mode_runs<Copies>(),
    .gcm = GcmRuns{}
               .with(GcmOperation::hash, no_hash)
               .with(GcmOperation::encrypt, copy)
               .with(GcmOperation::decrypt, copy)
               .with(GcmOperation::seal, copy)
               .with(GcmOperation::open, copy),
    .prepare_xts = prepare,
    .xts_unit = {copy, copy},
};

}  // namespace paes
