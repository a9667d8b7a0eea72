// SPDX-License-Identifier: Apache-2.0
#include "keystream/ctr.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cipher/mode/counter.hpp"
#include "keystream/xor.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

std::uint64_t limit_of(const ContextOptions& options) noexcept {
  return options.limit_bytes != 0 ? options.limit_bytes : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

CtrKey::CtrKey(const CipherName& name, Bytes key, const Kernel& kernel,
               std::shared_ptr<Costs> costs, std::shared_ptr<Budget> budget,
               std::shared_ptr<Device> device)
    : BoundKey(kernel, std::move(costs), std::move(budget)),
      key_(name.cipher, *name.mode, key, kernel),
      device_(std::move(device)),
      on_device_(device_ == nullptr
                     ? nullptr
                     : device_->bind_raw(name.cipher, *name.mode, Direction::encrypt, key, 0)) {}

CounterBlock CtrKey::counter_at(const CounterBlock& first_counter,
                                std::uint64_t offset) const noexcept {
  return add_full_counter(first_counter, offset / block_size(), block_size());
}

void CtrKey::compute_directly(MutableBytes chunk) const noexcept { crypt({}, 0, chunk, chunk); }

void CtrKey::crypt(const CounterBlock& first_counter, std::uint64_t offset, Bytes in,
                   MutableBytes out) const noexcept {
  const std::size_t size = block_size();
  const std::size_t within = offset % size;
  RawPosition position = key_.at(Bytes(first_counter.bytes, size), offset - within, {});
  if (within != 0) {
    // The request begins inside a block.
    Block block = {};
    const WipeOnExit wiped(block.bytes);
    const std::size_t bytes = std::min(in.size(), size - within);
    std::memcpy(block.bytes + within, in.data(), bytes);
    const MutableBytes whole(block.bytes, size);
    key_.crypt(Direction::encrypt, position, whole, whole, serial_executor(), size);
    std::memcpy(out.data(), block.bytes + within, bytes);
    in = in.subspan(bytes);
    out = out.subspan(bytes);
  }
  if (!in.empty()) {
    key_.crypt(Direction::encrypt, position, in, out, serial_executor(), in.size());
  }
}

// A block that two requests share counts for both.
std::uint64_t CtrKey::blocks_of(std::uint64_t first, std::uint64_t end) const noexcept {
  return kernel().cipher != Cipher::des_ede3 || first == end
             ? 0
             : (end - 1) / block_size() - first / block_size() + 1;
}

void CtrKey::count_encrypted(std::uint64_t first, std::uint64_t end) {
  const std::uint64_t blocks = blocks_of(first, end);
  if (blocks != 0 && !des_blocks_.reserve(blocks)) {
    throw Error(ErrorCode::usage,
                "key: 3DES must not encrypt more than 2^20 blocks under one key (SP 800-67)",
                "use another key, or better AES");
  }
}

void CtrKey::uncount(std::uint64_t first, std::uint64_t end) noexcept {
  des_blocks_.release(blocks_of(first, end));
}

CtrContext::CtrContext(Precomputer& precomputer, Reservation memory,
                       const std::shared_ptr<CtrKey>& key, const CounterBlock& first_counter,
                       const ContextOptions& options)
    : Context(precomputer, std::move(memory), key,
              {options.window_chunks, options.first_chunk, options.stride,
               (limit_of(options) - 1) / precomputer.shared().chunk_bytes},
              options.priority),
      key_(*key),
      first_counter_(first_counter),
      limit_bytes_(limit_of(options)) {}

void CtrContext::check(std::uint64_t offset, std::uint64_t in_bytes,
                       std::uint64_t out_bytes) const {
  refuse_in_child();
  if (in_bytes != out_bytes) {
    throw Error(ErrorCode::usage, "output: not as long as the input");
  }
  if (offset > limit_bytes_ || in_bytes > limit_bytes_ - offset) {
    throw Error(ErrorCode::usage, "keystream: bytes beyond the context's limit");
  }
}

void CtrContext::crypt(Direction direction, std::uint64_t offset, Bytes in, MutableBytes out) {
  check(offset, in.size(), out.size());
  if (in.empty()) {
    return;
  }
  const auto watch = begin_timing();
  Lock lock = enter();
  if (direction == Direction::encrypt) {
    key_.count_encrypted(offset, offset + in.size());
    try {
      claim(lock, offset, offset + in.size(),
            "keystream: these bytes of the context have been encrypted before");
    } catch (...) {
      key_.uncount(offset, offset + in.size());
      throw;
    }
  }
  for (std::size_t done = 0, bytes = 0; done < in.size(); done += bytes) {
    if (done != 0) {
      lock.lock();
    }
    const std::uint64_t at = offset + done;
    const auto within = static_cast<std::uint32_t>(at % shared().chunk_bytes);
    bytes = std::min(in.size() - done, shared().chunk_bytes - within);
    const Part part = take(at / shared().chunk_bytes, within, bytes, Beginning::is_used);
    lock.unlock();
    crypt_part(part, at, in.subspan(done, bytes), out.subspan(done, bytes));
    if (bytes == in.size()) {
      end_timing(watch, part, bytes);
    }
  }
  if (!shared().mark.is_intact()) {
    // A signal handler has forked during this call: the keystream may have been zeros, and what was
    // written may be the text itself.
    wipe(out);
    refuse_in_child();
  }
}

void CtrContext::crypt_part(const Part& part, std::uint64_t offset, Bytes in,
                            MutableBytes out) noexcept {
  const std::uint64_t chunk = offset / shared().chunk_bytes;
  if (!part.has_keystream()) {
    key_.crypt(first_counter_, offset, in, out);
    discard(part, chunk);
    return;
  }
  Entry& entry = *part.entry;
  const std::size_t there = std::min<std::size_t>(in.size(), entry.fresh_end - entry.fresh_from);
  xor_and_wipe(MutableBytes(entry.slot + entry.fresh_from, there), in.data(), out.data());
  entry.fresh_from += static_cast<std::uint32_t>(there);
  give_back(entry, chunk);
  if (there != in.size()) {
    key_.crypt(first_counter_, offset + there, in.subspan(there), out.subspan(there));
  }
}

void CtrContext::make_keystream(std::uint64_t chunk, std::uint8_t* slot, std::size_t from,
                                std::size_t bytes) const noexcept {
  const MutableBytes part(slot + from, bytes);
  key_.crypt(first_counter_, chunk * shared().chunk_bytes + from, part, part);
}

Candidate::Run CtrContext::run_from(std::uint64_t chunk) const noexcept {
  return {key_.on_device(), key_.counter_at(first_counter_, chunk * shared().chunk_bytes)};
}

void CtrContext::prefetch(std::uint64_t offset) {
  check(offset, 1, 1);
  move_window(offset / shared().chunk_bytes);
}

void CtrContext::mark_used(std::uint64_t offset, std::uint64_t bytes) {
  check(offset, bytes, bytes);
  key_.count_encrypted(offset, offset + bytes);
  add_used(offset, offset + bytes);
}

}  // namespace paes::keystream
