// Keys, positions and the modes that are not XTS; its data units are in raw_units.cpp.
#include "message/raw_key.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <vector>

#include "message/raw_pieces.hpp"
#include "mode/counter.hpp"
#include "mode/xts.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

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

}  // namespace paes
