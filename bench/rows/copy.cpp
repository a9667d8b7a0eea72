// SPDX-License-Identifier: Apache-2.0
// memcpy in place of the cipher: every operation that has an output copies its input to it, and
// none hashes. It measures everything except cryptography. It exists only for measurements and must
// never protect anything.
#include <cstring>

#include "kernel/kernel.hpp"
#include "kernel/mode_runs.hpp"

namespace paes {

extern const Kernel kernel_copy;

namespace {

void prepare(Bytes, KernelKeys&) {}

void copy(const Text& text) noexcept {
  // In place there is nothing to move, and memcpy must not get overlapping memory.
  if (text.out != text.in) {
    std::memcpy(text.out, text.in, text.bytes);
  }
}

struct Copies {
  static constexpr std::size_t block_size = block_bytes;

  template <Operation>
  static void run(const KernelKeys&, const Piece& piece) noexcept {
    copy(piece.text);
  }

  template <Operation>
  static void run_chains(const KernelKeys&, std::span<Chain> messages) noexcept {
    for (const Chain& chain : messages) {
      copy(chain.text);
    }
  }
};

void no_hash(const KernelKeys&, const std::uint8_t*, std::size_t, HashValue&) noexcept {}

void copy_piece(const KernelKeys&, const GcmPiece& piece, HashValue&) noexcept { copy(piece.text); }
void copy_message(const KernelKeys&, const WholeMessage& message, Tag& tag) noexcept {
  copy(message.text);
  tag = {};
}
void copy_unit(const KernelKeys&, const DataUnit& unit) noexcept { copy(unit.text); }

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
    .gcm = {.hash = no_hash,
            .encrypt = copy_piece,
            .decrypt = copy_piece,
            .seal = copy_message,
            .open = copy_message},
    .units = {.prepare = prepare, .encrypt = copy_unit, .decrypt = copy_unit},
};

}  // namespace paes
