// XTS (IEEE 1619, SP 800-38E): data units, the tweaks that their numbers become, and ciphertext
// stealing at the end of one.
#include <algorithm>
#include <cstring>
#include <vector>

#include "message/raw_key.hpp"
#include "message/raw_pieces.hpp"
#include "mode/xts.hpp"

namespace paes {

void RawKey::crypt_units(Direction direction, RawPosition& position, Bytes in, MutableBytes out,
                         const Executor* executor, std::size_t grain) const {
  const std::size_t unit_bytes = unit_bytes_ == 0 ? in.size() : unit_bytes_;
  const std::size_t units = unit_bytes == 0 ? 0 : (in.size() + unit_bytes - 1) / unit_bytes;
  const std::size_t group = std::max<std::size_t>(unit_bytes == 0 ? 1 : grain / unit_bytes, 1);
  // One long unit is split; many short ones are shared out whole.
  const Executor* const within = units == 1 ? executor : nullptr;
  ModeState state = {};
  // Each unit ends with a fence, which short ones have to wait for.
  constexpr std::size_t least_unit_bytes = 8192;
  state.bypasses_caches =
      in.size() >= bypass_bytes && unit_bytes >= least_unit_bytes && in.data() != out.data();
  for_each(executor, (units + group - 1) / group, [&](std::size_t index) {
    const std::size_t end = std::min((index + 1) * group, units);
    std::size_t count = 0;
    for (std::size_t unit = index * group; unit < end; unit += count) {
      // Enough to fill the lanes when their numbers are encrypted.
      constexpr std::size_t most = 64;
      count = std::min(most, end - unit);
      Block tweaks[most];
      // E(unit number) is as good as a key: with it, a block's neighbours can be forged.
      const WipeOnExit wiped({reinterpret_cast<std::uint8_t*>(tweaks), count * sizeof(Block)});
      tweaks[0] = xts::add_units(position.chain, unit);
      for (std::size_t i = 1; i < count; ++i) {
        tweaks[i] = xts::next_unit(tweaks[i - 1]);
      }
      const std::size_t at = unit * unit_bytes;
      const std::size_t bytes = std::min(count * unit_bytes, in.size() - at);
      crypt_few_units(direction, state, {tweaks, count}, unit_bytes, in.subspan(at, bytes),
                      out.subspan(at, bytes), within, grain);
    }
  });
  position.chain = xts::add_units(position.chain, units);
}

void RawKey::crypt_few_units(Direction direction, ModeState state, std::span<Block> tweaks,
                             std::size_t unit_bytes, Bytes in, MutableBytes out,
                             const Executor* executor, std::size_t grain) const {
  const bool whole_units = kernel_->prepare_xts != nullptr;
  if (!whole_units) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(tweaks.data());
    kernel_->run(Operation::ecb_encrypt)(keys_->tweak, {},
                                         Piece{0, bytes, bytes, tweaks.size_bytes()});
  }
  for (std::size_t unit = 0; unit < tweaks.size(); ++unit) {
    const std::size_t at = unit * unit_bytes;
    const std::size_t bytes = std::min(unit_bytes, in.size() - at);
    if (whole_units) {
      state.iv = tweaks[unit].bytes;
      state.iv_bytes = block_bytes;
      kernel_->xts_unit[static_cast<unsigned>(direction)](
          keys_->kernel, state, Piece{0, in.data() + at, out.data() + at, bytes});
    } else {
      crypt_unit(direction, state, tweaks[unit], in.subspan(at, bytes), out.subspan(at, bytes),
                 executor, grain);
    }
  }
}

void RawKey::crypt_unit(Direction direction, const ModeState& state, const Block& first_tweak,
                        Bytes in, MutableBytes out, const Executor* executor,
                        std::size_t grain) const {
  const RunFunction run = kernel_->run(row().operation(direction));
  const std::size_t rest = in.size() % block_bytes;
  // With a partial block at the end, decryption leaves two blocks to stealing, encryption one.
  const std::size_t kept = direction == Direction::decrypt && rest != 0 ? block_bytes : 0;
  const std::size_t bytes = in.size() - rest - kept;
  const std::size_t piece_bytes = executor == nullptr
                                      ? std::max<std::size_t>(bytes, 1)
                                      : std::max<std::size_t>(grain / block_bytes, 1) * block_bytes;
  const std::size_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
  if (pieces <= 1) {
    run(keys_->kernel, state, Piece{0, in.data(), out.data(), bytes, nullptr, &first_tweak});
  } else {
    std::vector<Block> tweaks(pieces, first_tweak);
    const WipeOnExit wiped(
        {reinterpret_cast<std::uint8_t*>(tweaks.data()), tweaks.size() * sizeof(Block)});
    const Block power = xts::power_of_x(piece_bytes / block_bytes);
    for (std::size_t i = 1; i < pieces; ++i) {
      tweaks[i] = xts::advance(tweaks[i - 1], power);
    }
    for_each(executor, pieces, [&](std::size_t index) {
      const std::size_t first = index * piece_bytes;
      run(keys_->kernel, state,
          Piece{0, in.data() + first, out.data() + first, std::min(piece_bytes, bytes - first),
                nullptr, &tweaks[index]});
    });
  }
  if (rest == 0) {
    return;
  }
  // Ciphertext stealing (IEEE 1619, sections 5.3.2 and 5.4.2). `whole` is the last whole block,
  // whose head becomes the partial block.
  Block tweak[2];
  tweak[0] = xts::advance(first_tweak, xts::power_of_x(bytes / block_bytes));
  tweak[1] = xts::next_tweak(tweak[0]);
  Block whole;
  const std::uint8_t* const tail = in.data() + in.size() - rest;
  std::uint8_t* const at = out.data() + out.size() - rest - block_bytes;
  if (direction == Direction::encrypt) {
    std::memcpy(whole.bytes, at, block_bytes);
  } else {
    run(keys_->kernel, state,
        Piece{0, tail - block_bytes, whole.bytes, block_bytes, nullptr, &tweak[1]});
  }
  Block joined = whole;
  std::memcpy(joined.bytes, tail, rest);
  std::memcpy(at + block_bytes, whole.bytes, rest);
  run(keys_->kernel, state, Piece{0, joined.bytes, at, block_bytes, nullptr, &tweak[0]});
  wipe(tweak, sizeof tweak);
  wipe(whole.bytes);
  wipe(joined.bytes);
}

}  // namespace paes
