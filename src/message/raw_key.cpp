// SPDX-License-Identifier: Apache-2.0
#include "message/raw_key.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "cipher/mode/counter.hpp"
#include "cipher/mode/xts.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

// Outputs of this size or more bypass the caches. The caches would have evicted them before anybody
// reads them, and a store through a cache first reads the line that it overwrites.
constexpr std::size_t bypass_bytes = std::size_t{32} << 20;

// A single piece runs here: handing it to the executor would slow short messages.
template <typename Fn>
void for_each(const Executor& executor, std::size_t count, Fn&& fn) {
  if (count > 1) {
    executor.for_each(count, fn);
  } else if (count == 1) {
    fn(0);
  }
}

// The whole blocks of `in`, cut into pieces of about `about_bytes`.
struct Pieces {
  std::size_t whole_bytes;
  std::size_t piece_bytes;
  std::size_t count;

  Pieces(std::size_t in_bytes, std::size_t about_bytes, std::size_t block) noexcept
      : whole_bytes(in_bytes / block * block),
        piece_bytes(std::max<std::size_t>(about_bytes / block, 1) * block),
        // No division for a single piece: it would slow short messages.
        count(whole_bytes <= piece_bytes ? std::size_t{whole_bytes != 0}
                                         : (whole_bytes + piece_bytes - 1) / piece_bytes) {}

  [[nodiscard]] Text text(std::size_t index, Bytes in, MutableBytes out) const noexcept {
    const std::size_t at = index * piece_bytes;
    return {in.data() + at, out.data() + at, std::min(piece_bytes, whole_bytes - at)};
  }
};

// Handles the partial block at the end, if there is one: run(text) transforms a whole block in
// place, and its beginning is kept.
template <typename Run>
void crypt_rest(std::size_t block, Bytes in, MutableBytes out, Run&& run) {
  const std::size_t rest = in.size() % block;
  if (rest == 0) {
    return;
  }
  Block last = {};
  const WipeOnExit wiped(last.bytes);
  std::memcpy(last.bytes, in.data() + in.size() - rest, rest);
  run(Text{last.bytes, last.bytes, block});
  std::memcpy(out.data() + in.size() - rest, last.bytes, rest);
}

template <typename AnyBlock, std::size_t Count>
MutableBytes bytes_of(AnyBlock (&blocks)[Count], std::size_t count) noexcept {
  return {blocks[0].bytes, count * sizeof(AnyBlock)};
}
template <typename AnyBlock>
MutableBytes bytes_of(std::vector<AnyBlock>& blocks) noexcept {
  return {reinterpret_cast<std::uint8_t*>(blocks.data()), blocks.size() * sizeof(AnyBlock)};
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

template <typename AnyBlock>
AnyBlock block_of(Bytes bytes) noexcept {
  AnyBlock block = {};
  std::memcpy(block.bytes, bytes.data(), bytes.size());
  return block;
}

}  // namespace

RawKey::RawKey(Cipher cipher, Mode mode, Bytes key, const Kernel& kernel, std::size_t unit_bytes,
               DeviceUse use)
    : kernel_(&kernel), mode_(mode), unit_bytes_(unit_bytes), when_busy_(use.when_busy) {
  assert(kernel.cipher == cipher);
  check_key(cipher, mode, key.size());
  const bool has_units = row().has_units;
  const bool whole_units = has_units && kernel.takes_whole_units();
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
    kernel.units.prepare(key, keys_->kernel);
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
      device_{std::move(other.device_[0]), std::move(other.device_[1])},
      when_busy_(other.when_busy_),
      keys_(std::move(other.keys_)) {}

RawKey::~RawKey() {
  if (kernel_ != nullptr && kernel_->release != nullptr) {
    kernel_->release(keys_->kernel);
    if (row().has_units && !kernel_->takes_whole_units()) {
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
  // The block is copied straight to its place. If it were passed on, compilers would store it in
  // two parts, and the kernel's load of the whole block would wait for the cache.
  const auto from_iv = [&]<typename AnyBlock>(AnyBlock block) {
    RawPosition position{block};
    std::memcpy(std::get_if<AnyBlock>(&position.next)->bytes, iv.data(), iv.size());
    return position;
  };
  if (row().has_units) {
    return from_iv(UnitNumber{});
  }
  if (formula_of(row().decrypt).has_counter()) {
    return from_iv(CounterBlock{});
  }
  return row().has_iv ? from_iv(ChainBlock{}) : RawPosition{};
}

RawPosition RawKey::at(Bytes iv, std::uint64_t offset, Bytes before) const noexcept {
  assert(offset % step_bytes() == 0);
  RawPosition position = start(iv);
  if (auto* const number = std::get_if<UnitNumber>(&position.next); number != nullptr) {
    assert(unit_bytes_ != 0 || offset == 0);
    *number = xts::add_units(*number, offset / step_bytes());
  } else if (auto* const counter = std::get_if<CounterBlock>(&position.next); counter != nullptr) {
    *counter = add_full_counter(*counter, offset / block_size(), block_size());
  } else if (auto* const last = std::get_if<ChainBlock>(&position.next);
             last != nullptr && offset != 0) {
    *last = block_of<ChainBlock>(before.first(block_size()));
  }
  return position;
}

void RawKey::crypt(Direction direction, RawPosition& position, Bytes in, MutableBytes out,
                   const Executor& executor, std::size_t piece_bytes) const {
  const std::size_t done = crypt_on_device(direction, position, in, out);
  if (done == 0 || done != in.size()) {
    crypt_on_kernel(direction, position, in.subspan(done), out.subspan(done), executor,
                    piece_bytes);
  }
}

void RawKey::crypt_on_kernel(Direction direction, RawPosition& position, Bytes in, MutableBytes out,
                             const Executor& executor, std::size_t piece_bytes) const {
  assert(takes(in.size()) && in.size() == out.size());
  const Operation operation = row().operation(direction);
  const Spread spread = {executor, piece_bytes,
                         in.size() >= bypass_bytes && in.data() != out.data()};
  if (row().has_units) {
    crypt_units(direction, std::get<UnitNumber>(position.next), in, out, spread);
  } else if (formula_of(operation).has_counter()) {
    crypt_counter(std::get<CounterBlock>(position.next), in, out, spread);
  } else if (formula_of(operation).is_chained()) {
    const RawMessage message{{}, in, out};
    crypt_chains(operation, {&message, 1}, {&std::get<ChainBlock>(position.next), 1});
  } else {
    ChainBlock* const last = row().has_iv ? &std::get<ChainBlock>(position.next) : nullptr;
    crypt_pieces(operation, last, in, out, spread);
  }
}

void RawKey::crypt_counter(CounterBlock& counter, Bytes in, MutableBytes out,
                           const Spread& spread) const {
  const PieceFunction run = kernel_->run(Operation::ctr);
  const std::size_t size = block_size();
  const std::size_t whole = in.size() / size * size;
  for (std::size_t at = 0; at < whole;) {
    const std::uint64_t blocks =
        std::min<std::uint64_t>(blocks_before_wrap(counter, size), (whole - at) / size);
    const Pieces pieces(static_cast<std::size_t>(blocks) * size, spread.piece_bytes, size);
    for_each(spread.executor, pieces.count, [&](std::size_t index) {
      const CounterBlock first =
          add_low_counter(counter, index * (pieces.piece_bytes / size), size);
      run(keys_->kernel, {.text = pieces.text(index, in.subspan(at), out.subspan(at)),
                          .counter = &first,
                          .is_counter_public = true,  // the IV and a count
                          .bypasses_caches = spread.bypasses_caches});
    });
    counter = add_full_counter(counter, blocks, size);
    at += pieces.whole_bytes;
  }
  crypt_rest(size, in, out, [&](const Text& text) {
    run(keys_->kernel, {.text = text, .counter = &counter, .is_counter_public = true});
  });
}

void RawKey::crypt_pieces(Operation operation, ChainBlock* last, Bytes in, MutableBytes out,
                          const Spread& spread) const {
  const PieceFunction run = kernel_->run(operation);
  const std::size_t size = block_size();
  const Pieces pieces(in.size(), spread.piece_bytes, size);
  // Copied before anything runs: in place, a neighbour overwrites what a piece still needs. The
  // copies are ciphertext, so they need no wiping. ECB copies nothing.
  ChainBlock only;
  std::vector<ChainBlock> many;
  ChainBlock* before = nullptr;
  if (last != nullptr) {
    if (pieces.count > 1) {
      many.resize(pieces.count);
    }
    before = pieces.count > 1 ? many.data() : &only;
    before[0] = *last;
    for (std::size_t i = 1; i < pieces.count; ++i) {
      before[i] = block_of<ChainBlock>(in.subspan(i * pieces.piece_bytes - size, size));
    }
    if (pieces.count != 0) {
      *last = block_of<ChainBlock>(in.subspan(pieces.whole_bytes - size, size));
    }
  }
  for_each(spread.executor, pieces.count, [&](std::size_t index) {
    run(keys_->kernel, {.text = pieces.text(index, in, out),
                        .before = before == nullptr ? nullptr : before + index,
                        .bypasses_caches = spread.bypasses_caches});
  });
  crypt_rest(size, in, out, [&](const Text& text) {  // CFB
    run(keys_->kernel, {.text = text, .before = last});
  });
}

void RawKey::crypt_chains(Operation operation, std::span<const RawMessage> messages,
                          std::span<ChainBlock> feedback) const {
  const ChainFunction run = kernel_->run_chains(operation);
  const std::size_t size = block_size();
  std::vector<Chain> chains(messages.size());
  // In OFB, the feedback is keystream.
  const WipeOnExit wiped_chains(
      {reinterpret_cast<std::uint8_t*>(chains.data()), chains.size() * sizeof(Chain)});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& [iv, in, out] = messages[i];
    chains[i] = {{in.data(), out.data(), in.size() / size * size}, feedback[i]};
  }
  run(keys_->kernel, chains);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    feedback[i] = chains[i].feedback;
    crypt_rest(size, messages[i].in, messages[i].out, [&](const Text& text) {  // CFB and OFB
      Chain last = {text, feedback[i]};
      const WipeOnExit wiped_last(last.feedback.bytes);
      run(keys_->kernel, {&last, 1});
    });
  }
}

void RawKey::crypt_batch(Direction direction, std::span<const RawMessage> messages,
                         const Executor& executor) const {
  const Operation operation = row().operation(direction);
  const bool is_chained = formula_of(operation).is_chained();
  // Chained messages go in groups that fill the lanes, with several groups per thread. Too few
  // messages are shared out among the threads: half-filled lanes on every thread beat full lanes on
  // one.
  const std::size_t most_groups = std::size_t{4} * executor.threads();
  const std::size_t share = (messages.size() + executor.threads() - 1) / executor.threads();
  const std::size_t least =
      is_chained ? std::min(share, std::size_t{2} * kernel_->lanes) : std::size_t{1};
  const std::size_t group =
      std::max({least, (messages.size() + most_groups - 1) / most_groups, std::size_t{1}});
  const std::size_t groups = (messages.size() + group - 1) / group;
  for_each(executor, groups, [&](std::size_t index) {
    const auto part =
        messages.subspan(index * group, std::min(group, messages.size() - index * group));
    if (is_chained) {
      std::vector<ChainBlock> feedback(part.size());
      const WipeOnExit wiped(bytes_of(feedback));
      for (std::size_t i = 0; i < part.size(); ++i) {
        feedback[i] = block_of<ChainBlock>(part[i].iv);
      }
      crypt_chains(operation, part, feedback);
      return;
    }
    for (const RawMessage& message : part) {
      RawPosition position = start(message.iv);
      crypt_on_kernel(direction, position, message.in, message.out, serial_executor(),
                      message.in.size());
    }
  });
}

// A device gets the parallel directions, and whole data units of XTS. The kernel does ciphertext
// stealing, a partial last unit, and messages that are one unit (at most 16 MiB).
void RawKey::bind(DeviceUse use, Bytes key) {
  if (use.device == nullptr || (row().has_units && unit_bytes_ == 0)) {
    return;
  }
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    if (is_parallel(direction)) {
      device_[static_cast<unsigned>(direction)] =
          use.device->bind_raw(kernel_->cipher, mode_, direction, key, unit_bytes_);
    }
  }
}

// Returns how many bytes the device has done. `position` has moved past them.
std::size_t RawKey::crypt_on_device(Direction direction, RawPosition& position, Bytes in,
                                    MutableBytes out) const {
  const DeviceRaw* const device = device_[static_cast<unsigned>(direction)].get();
  const std::size_t step = row().has_units ? unit_bytes_ : 1;
  if (device == nullptr || in.size() < step) {
    return 0;
  }
  assert(takes(in.size()) && in.size() == out.size());
  const std::size_t bytes = in.size() / step * step;
  // Copied first: in place, the text replaces it. A partial block ends the message, so it needs
  // none.
  const std::size_t size = block_size();
  ChainBlock last = {};
  if (needs_before(direction) && bytes >= size) {
    last = block_of<ChainBlock>(in.subspan(bytes / size * size - size, size));
  }
  if (!device->crypt(position.next, in.first(bytes), out.first(bytes), when_busy_)) {
    return 0;
  }
  if (auto* const counter = std::get_if<CounterBlock>(&position.next); counter != nullptr) {
    *counter = add_full_counter(*counter, bytes / size, size);
  } else if (auto* const number = std::get_if<UnitNumber>(&position.next); number != nullptr) {
    *number = xts::add_units(*number, bytes / unit_bytes_);
  } else if (needs_before(direction)) {
    position.next = last;
  }
  return bytes;
}

// XTS (IEEE 1619, SP 800-38E): data units, the tweaks made from their numbers, and ciphertext
// stealing at the end of a unit.

namespace {

// How many units' numbers are encrypted at once: enough to fill the lanes.
constexpr std::size_t most_units = 64;

}  // namespace

void RawKey::crypt_units(Direction direction, UnitNumber& number, Bytes in, MutableBytes out,
                         const Spread& spread) const {
  const std::size_t unit_bytes = unit_bytes_ == 0 ? in.size() : unit_bytes_;
  const std::size_t units = unit_bytes == 0 ? 0 : (in.size() + unit_bytes - 1) / unit_bytes;
  const std::size_t group =
      std::max<std::size_t>(unit_bytes == 0 ? 1 : spread.piece_bytes / unit_bytes, 1);
  // Each unit ends with a fence, for which short units would wait too often.
  constexpr std::size_t least_unit_bytes = 8192;
  const bool bypasses_caches = spread.bypasses_caches && unit_bytes >= least_unit_bytes;
  // A single long unit is split; many short ones are shared out whole.
  const Spread within = {units == 1 ? spread.executor : serial_executor(),
                         units == 1 ? spread.piece_bytes : unit_bytes, bypasses_caches};
  for_each(spread.executor, (units + group - 1) / group, [&](std::size_t index) {
    const std::size_t end = std::min((index + 1) * group, units);
    for (std::size_t unit = index * group; unit < end; unit += most_units) {
      const std::size_t at = unit * unit_bytes;
      const std::size_t bytes =
          std::min(std::min(most_units, end - unit) * unit_bytes, in.size() - at);
      crypt_few_units(direction, xts::add_units(number, unit), in.subspan(at, bytes),
                      out.subspan(at, bytes), unit_bytes, within);
    }
  });
  number = xts::add_units(number, units);
}

void RawKey::crypt_few_units(Direction direction, const UnitNumber& first, Bytes in,
                             MutableBytes out, std::size_t unit_bytes, const Spread& spread) const {
  const auto each_unit = [&](auto&& run) {
    std::size_t index = 0;
    for (std::size_t at = 0; at < in.size(); at += unit_bytes) {
      const std::size_t bytes = std::min(unit_bytes, in.size() - at);
      run(index++, in.subspan(at, bytes), out.subspan(at, bytes));
    }
    return index;
  };
  if (kernel_->takes_whole_units()) {
    const DataUnitFunction run =
        direction == Direction::encrypt ? kernel_->units.encrypt : kernel_->units.decrypt;
    each_unit([&](std::size_t index, Bytes unit, MutableBytes result) {
      const UnitNumber number = xts::add_units(first, index);
      run(keys_->kernel, {{unit.data(), result.data(), unit.size()}, &number});
    });
    return;
  }
  // At first these are numbers; they become tweaks in place.
  Tweak tweaks[most_units];
  const std::size_t count = each_unit([&](std::size_t index, Bytes, MutableBytes) {
    tweaks[index] = std::bit_cast<Tweak>(xts::add_units(first, index));
  });
  const MutableBytes bytes = bytes_of(tweaks, count);
  const WipeOnExit wiped(bytes);
  kernel_->run(Operation::ecb_encrypt)(keys_->tweak,
                                       {.text = {bytes.data(), bytes.data(), bytes.size()}});
  const Operation operation = row().operation(direction);
  // Units of whole blocks go to the kernel together.
  const std::size_t together =
      count > 1 && unit_bytes % block_bytes == 0 ? in.size() / unit_bytes : 0;
  if (together != 0) {
    kernel_->run(operation)(keys_->kernel, {.text = {in.data(), out.data(), together * unit_bytes},
                                            .tweak = tweaks,
                                            .unit_bytes = unit_bytes,
                                            .bypasses_caches = spread.bypasses_caches});
  }
  each_unit([&](std::size_t index, Bytes unit, MutableBytes result) {
    if (index >= together) {
      crypt_unit(operation, tweaks[index], unit, result, spread);
    }
  });
}

void RawKey::crypt_unit(Operation operation, const Tweak& first, Bytes in, MutableBytes out,
                        const Spread& spread) const {
  const PieceFunction run = kernel_->run(operation);
  const std::size_t rest = in.size() % block_bytes;
  // With a partial block at the end, decryption leaves two blocks to stealing, encryption one.
  const std::size_t kept = operation == Operation::xts_decrypt && rest != 0 ? block_bytes : 0;
  const Pieces pieces(in.size() - rest - kept, spread.piece_bytes, block_bytes);
  if (pieces.count <= 1) {
    run(keys_->kernel, {.text = {in.data(), out.data(), pieces.whole_bytes},
                        .tweak = &first,
                        .bypasses_caches = spread.bypasses_caches});
  } else {
    std::vector<Tweak> tweaks(pieces.count, first);
    const WipeOnExit wiped(bytes_of(tweaks));
    const Block power = xts::power_of_x(pieces.piece_bytes / block_bytes);
    for (std::size_t i = 1; i < pieces.count; ++i) {
      tweaks[i] = xts::times(tweaks[i - 1], power);
    }
    for_each(spread.executor, pieces.count, [&](std::size_t index) {
      run(keys_->kernel, {.text = pieces.text(index, in, out),
                          .tweak = &tweaks[index],
                          .bypasses_caches = spread.bypasses_caches});
    });
  }
  if (rest != 0) {
    Tweak next = xts::advance(first, pieces.whole_bytes / block_bytes);
    const WipeOnExit wiped(next.bytes);
    steal(operation, next, in.last(kept + rest), out.last(block_bytes + rest));
  }
}

// Ciphertext stealing (IEEE 1619, sections 5.3.2 and 5.4.2). `out` is the last whole block and the
// partial block. Encryption has already written the whole block, and the partial one gets its head.
// `in` is what has not been read: the partial block, and for decryption both. `tweak` is that of
// the first block not read.
void RawKey::steal(Operation operation, const Tweak& tweak, Bytes in, MutableBytes out) const {
  const PieceFunction run = kernel_->run(operation);
  const std::size_t rest = in.size() % block_bytes;
  Block whole;
  Tweak next = xts::next_tweak(tweak);
  const WipeOnExit wiped_whole(whole.bytes);
  const WipeOnExit wiped_next(next.bytes);
  if (operation == Operation::xts_encrypt) {
    std::memcpy(whole.bytes, out.data(), block_bytes);
  } else {
    run(keys_->kernel, {.text = {in.data(), whole.bytes, block_bytes}, .tweak = &next});
  }
  Block joined = whole;
  const WipeOnExit wiped_joined(joined.bytes);
  std::memcpy(joined.bytes, in.data() + in.size() - rest, rest);
  std::memcpy(out.data() + block_bytes, whole.bytes, rest);
  run(keys_->kernel, {.text = {joined.bytes, out.data(), block_bytes}, .tweak = &tweak});
}

}  // namespace paes
