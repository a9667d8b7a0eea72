#include "message/raw_key.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <vector>

#include "mode/counter.hpp"
#include "mode/xts.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

// Outputs from here on are stored past the caches: by the time they are read they would have left
// them, and a store through the caches reads what it overwrites first.
constexpr std::size_t bypass_bytes = std::size_t{32} << 20;

// fn(0) .. fn(count - 1), over threads if there is an executor.
template <typename Fn>
void for_each(const Executor* executor, std::size_t count, Fn&& fn) {
  if (executor != nullptr && count > 1) {
    executor->for_each(count, fn);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      fn(i);
    }
  }
}

void check_key(Cipher cipher, Mode mode, std::size_t bytes) {
  if (cipher == Cipher::des_ede3) {
    if (row_of(mode).has_units) {
      throw Error(ErrorCode::usage, "mode: XTS is made for blocks of 128 bits, 3DES has 64");
    }
    if (bytes != 24) {
      throw Error(ErrorCode::usage, "key: 3DES takes 24 bytes");
    }
  } else if (row_of(mode).has_units) {
    if (bytes != 32 && bytes != 64) {
      throw Error(ErrorCode::usage, "key: XTS takes two AES keys, 32 or 64 bytes in all");
    }
  } else if (bytes != 16 && bytes != 24 && bytes != 32) {
    throw Error(ErrorCode::usage, "key: AES takes 16, 24 or 32 bytes");
  }
}

Block block_at(const std::uint8_t* from, std::size_t bytes) noexcept {
  Block block = {};
  if (bytes != 0) {  // ECB has no IV, and memcpy takes no null
    std::memcpy(block.bytes, from, bytes);
  }
  return block;
}

}  // namespace

RawKey::RawKey(Cipher cipher, Mode mode, Bytes key, const Kernel& kernel, std::size_t unit_bytes,
               EngineUse use)
    : kernel_(&kernel), mode_(mode), unit_bytes_(unit_bytes), when_busy_(use.when_busy) {
  assert(kernel.cipher == cipher);
  check_key(cipher, mode, key.size());
  const bool has_units = row().has_units;
  const bool whole_units = has_units && kernel.prepare_xts != nullptr;
  if (!whole_units && (!kernel.has(row().encrypt) || !kernel.has(row().decrypt))) {
    throw Error(ErrorCode::usage, std::string("kernel: '") + kernel.name + "' lacks " + row().name);
  }
  if (!has_units && unit_bytes != 0) {
    throw Error(ErrorCode::usage, "unit: only XTS has data units");
  }
  if (unit_bytes != 0 && (unit_bytes < block_bytes || unit_bytes > xts::max_unit_bytes)) {
    throw Error(ErrorCode::usage, "unit: a data unit of XTS has 16 bytes to 16 MiB");
  }
  bind(use, key);
  if (whole_units) {
    kernel.prepare_xts(key, keys_->kernel);
    return;
  }
  const std::size_t half = has_units ? key.size() / 2 : key.size();
  kernel.prepare(key.first(half), keys_->kernel);
  if (has_units) {
    try {
      kernel.prepare(key.subspan(half), keys_->tweak);
    } catch (...) {
      if (kernel.release != nullptr) {
        kernel.release(keys_->kernel);
      }
      throw;
    }
  }
}

RawKey::RawKey(RawKey&& other) noexcept
    : kernel_(std::exchange(other.kernel_, nullptr)),
      mode_(other.mode_),
      unit_bytes_(other.unit_bytes_),
      engine_{std::move(other.engine_[0]), std::move(other.engine_[1])},
      when_busy_(other.when_busy_),
      keys_(std::move(other.keys_)) {}

RawKey::~RawKey() {
  if (kernel_ != nullptr && kernel_->release != nullptr) {
    kernel_->release(keys_->kernel);
    if (row().has_units && kernel_->prepare_xts == nullptr) {
      kernel_->release(keys_->tweak);
    }
  }
}

bool RawKey::takes(std::uint64_t bytes) const noexcept {
  if (row().has_units) {
    const std::uint64_t last = unit_bytes_ == 0 ? bytes : bytes % unit_bytes_;
    return (last == 0 || last >= block_bytes) && last <= xts::max_unit_bytes;
  }
  return row().tail == Tail::any || bytes % block_size() == 0;
}

RawPosition RawKey::start(Bytes iv) const noexcept {
  assert(iv.size() == iv_bytes());
  return {block_at(iv.data(), iv.size())};
}

RawPosition RawKey::at(Bytes iv, std::uint64_t offset, Bytes before) const noexcept {
  assert(offset % step_bytes() == 0);
  const RawPosition first = start(iv);
  if (row().has_units) {
    assert(unit_bytes_ != 0 || offset == 0);
    return {xts::add_units(first.chain, offset / step_bytes())};
  }
  if (formula_of(row().decrypt).has_counter()) {
    return {add_full_counter(first.chain, offset / block_size(), block_size())};
  }
  return offset == 0 || !row().has_iv ? first : RawPosition{block_at(before.data(), block_size())};
}

void RawKey::crypt(Direction direction, RawPosition& position, Bytes in, MutableBytes out,
                   const Executor& executor, std::size_t grain) const {
  const std::size_t done = crypt_on_engine(direction, position, in, out);
  if (done == 0 || done != in.size()) {
    crypt_part(direction, position, in.subspan(done), out.subspan(done), &executor, grain);
  }
}

void RawKey::crypt_part(Direction direction, RawPosition& position, Bytes in, MutableBytes out,
                        const Executor* executor, std::size_t grain) const {
  assert(takes(in.size()) && in.size() == out.size());
  const Operation operation = row().operation(direction);
  if (row().has_units) {
    crypt_units(direction, position, in, out, executor, grain);
  } else if (formula_of(operation).has_counter()) {
    crypt_counter(operation, position, in, out, executor, grain);
  } else if (formula_of(operation).is_chained()) {
    const RawMessage message{{}, in, out};
    crypt_chains(operation, {&message, 1}, {&position.chain, 1});
  } else {
    crypt_pieces(operation, position, in, out, executor, grain);
  }
}

void RawKey::crypt_counter(Operation operation, RawPosition& position, Bytes in, MutableBytes out,
                           const Executor* executor, std::size_t grain) const {
  const RunFunction run = kernel_->run(operation);
  const std::size_t size = block_size();
  ModeState state = {};
  state.is_counter_public = true;  // the IV and a count
  state.bypasses_caches = in.size() >= bypass_bytes && in.data() != out.data();
  const std::size_t piece_bytes = std::max<std::size_t>(grain / size, 1) * size;
  const std::size_t whole = in.size() / size * size;
  for (std::size_t at = 0; at < whole;) {
    state.counter = position.chain;
    const std::uint64_t blocks =
        std::min<std::uint64_t>(blocks_before_wrap(state.counter, size), (whole - at) / size);
    const std::size_t bytes = static_cast<std::size_t>(blocks) * size;
    for_each(executor, (bytes + piece_bytes - 1) / piece_bytes, [&](std::size_t index) {
      const std::size_t first = index * piece_bytes;
      run(keys_->kernel, state,
          Piece{first / size, in.data() + at + first, out.data() + at + first,
                std::min(piece_bytes, bytes - first)});
    });
    position.chain = add_full_counter(position.chain, blocks, size);
    at += bytes;
  }
  if (const std::size_t rest = in.size() - whole; rest != 0) {
    Block block = block_at(in.data() + whole, rest);
    const WipeOnExit wiped(block.bytes);
    state.counter = position.chain;
    run(keys_->kernel, state, Piece{0, block.bytes, block.bytes, size});
    std::memcpy(out.data() + whole, block.bytes, rest);
  }
}

void RawKey::crypt_pieces(Operation operation, RawPosition& position, Bytes in, MutableBytes out,
                          const Executor* executor, std::size_t grain) const {
  const RunFunction run = kernel_->run(operation);
  const std::size_t size = block_size();
  ModeState state = {};
  state.bypasses_caches = in.size() >= bypass_bytes && in.data() != out.data();
  const std::size_t piece_bytes = std::max<std::size_t>(grain / size, 1) * size;
  const std::size_t whole = in.size() / size * size;
  const std::size_t pieces = (whole + piece_bytes - 1) / piece_bytes;
  // Copied before anything runs: in place, a neighbour overwrites what a piece still needs. All of
  // it is ciphertext; ECB needs none, and its blocks may be text.
  const bool has_before = formula_of(operation).has_before();
  Block only = position.chain;
  std::vector<Block> many;
  Block* before = &only;
  if (has_before && pieces > 1) {
    many.resize(pieces);
    before = many.data();
    before[0] = position.chain;
    for (std::size_t i = 1; i < pieces; ++i) {
      before[i] = block_at(in.data() + i * piece_bytes - size, size);
    }
  }
  if (has_before && whole != 0) {
    position.chain = block_at(in.data() + whole - size, size);
  }
  for_each(executor, pieces, [&](std::size_t index) {
    const std::size_t first = index * piece_bytes;
    run(keys_->kernel, state,
        Piece{0, in.data() + first, out.data() + first, std::min(piece_bytes, whole - first),
              nullptr, has_before ? before + index : nullptr});
  });
  if (const std::size_t rest = in.size() - whole; rest != 0) {  // CFB
    Block block = block_at(in.data() + whole, rest);
    const WipeOnExit wiped(block.bytes);
    run(keys_->kernel, state, Piece{0, block.bytes, block.bytes, size, nullptr, &position.chain});
    std::memcpy(out.data() + whole, block.bytes, rest);
  }
}

void RawKey::crypt_chains(Operation operation, std::span<const RawMessage> messages,
                          std::span<Block> feedback) const {
  const ChainFunction run = kernel_->run_chains(operation);
  const std::size_t size = block_size();
  std::vector<Chain> chains(messages.size());
  // In OFB the feedback is keystream.
  const WipeOnExit wiped_chains(
      {reinterpret_cast<std::uint8_t*>(chains.data()), chains.size() * sizeof(Chain)});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const RawMessage& message = messages[i];
    chains[i] = {message.in.data(), message.out.data(), message.in.size() / size * size,
                 feedback[i]};
  }
  run(keys_->kernel, chains);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const RawMessage& message = messages[i];
    const std::size_t whole = chains[i].bytes;
    feedback[i] = chains[i].feedback;
    if (const std::size_t rest = message.in.size() - whole; rest != 0) {  // CFB and OFB
      Block block = block_at(message.in.data() + whole, rest);
      const WipeOnExit wiped(block.bytes);
      Chain last = {block.bytes, block.bytes, size, feedback[i]};
      const WipeOnExit wiped_last(last.feedback.bytes);
      run(keys_->kernel, {&last, 1});
      std::memcpy(message.out.data() + whole, block.bytes, rest);
    }
  }
}

void RawKey::crypt_batch(Direction direction, std::span<const RawMessage> messages,
                         const Executor& executor) const {
  const Operation operation = row().operation(direction);
  const bool is_chained = formula_of(operation).is_chained();
  // Chained messages go in groups that fill the lanes, several to a thread; too few for that are
  // shared out, for half-filled lanes on every thread beat full ones on one.
  const std::size_t most_groups = std::size_t{4} * executor.threads();
  const std::size_t share = (messages.size() + executor.threads() - 1) / executor.threads();
  const std::size_t least =
      is_chained ? std::min(share, std::size_t{2} * kernel_->lanes) : std::size_t{1};
  const std::size_t group =
      std::max({least, (messages.size() + most_groups - 1) / most_groups, std::size_t{1}});
  const std::size_t groups = (messages.size() + group - 1) / group;
  for_each(&executor, groups, [&](std::size_t index) {
    const auto part =
        messages.subspan(index * group, std::min(group, messages.size() - index * group));
    if (is_chained) {
      std::vector<Block> feedback(part.size());
      const WipeOnExit wiped(
          {reinterpret_cast<std::uint8_t*>(feedback.data()), feedback.size() * sizeof(Block)});
      for (std::size_t i = 0; i < part.size(); ++i) {
        feedback[i] = start(part[i].iv).chain;
      }
      crypt_chains(operation, part, feedback);
      return;
    }
    for (const RawMessage& message : part) {
      RawPosition position = start(message.iv);
      crypt_part(direction, position, message.in, message.out, nullptr, message.in.size());
    }
  });
}

// What of a raw message goes to an engine: the directions that are parallel, and of XTS whole data
// units. The rest stays with the kernel: ciphertext stealing, a partial last unit, and messages
// that are one unit each, which are too short to be worth a copy.
void RawKey::bind(EngineUse use, Bytes key) {
  if (use.engine == nullptr || (row().has_units && unit_bytes_ == 0)) {
    return;
  }
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    if (is_parallel(direction)) {
      engine_[static_cast<unsigned>(direction)] =
          use.engine->bind_raw(kernel_->cipher, mode_, direction, key, unit_bytes_);
    }
  }
}

// The bytes that are done; `position` then stands behind them.
std::size_t RawKey::crypt_on_engine(Direction direction, RawPosition& position, Bytes in,
                                    MutableBytes out) const {
  const EngineRaw* const engine = engine_[static_cast<unsigned>(direction)].get();
  const std::size_t step = row().has_units ? unit_bytes_ : 1;
  if (engine == nullptr || in.size() < step) {
    return 0;
  }
  assert(takes(in.size()) && in.size() == out.size());
  const std::size_t bytes = in.size() / step * step;
  // Kept ahead: in place, the text replaces it. A partial block ends the message, and so no block
  // is behind it that would need one.
  const std::size_t size = block_size();
  Block last = {};
  if (needs_before(direction) && bytes >= size) {
    std::memcpy(last.bytes, in.data() + bytes / size * size - size, size);
  }
  if (!engine->crypt(position.chain, in.first(bytes), out.first(bytes), when_busy_)) {
    return 0;
  }
  if (mode_ == Mode::ctr) {
    position.chain = add_full_counter(position.chain, bytes / size, size);
  } else if (row().has_units) {
    position.chain = xts::add_units(position.chain, bytes / unit_bytes_);
  } else if (needs_before(direction)) {
    position.chain = last;
  }
  return bytes;
}

// XTS (IEEE 1619, SP 800-38E): data units, the tweaks that their numbers become, and ciphertext
// stealing at the end of one.

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
