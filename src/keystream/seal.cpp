// SPDX-License-Identifier: Apache-2.0
#include "keystream/seal.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <vector>

#include "keystream/xor.hpp"
#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// A slot holds the IV, the mask right before the text's keystream, and that keystream, which begins
// on a cache line, where the XOR is fastest. One call of the kernel makes mask and keystream.
constexpr std::size_t text_at = Slots::line_bytes;
constexpr std::size_t mask_at = text_at - block_bytes;
constexpr std::size_t iv_at = mask_at - MessageIvs::max_bytes;

// An IV that is made on the spot.
struct MessageIv {
  MessageIv(const MessageIvs& ivs, std::uint64_t message) noexcept : size(ivs.bytes()) {
    ivs.make(message, bytes);
  }
  operator Bytes() const noexcept { return {bytes, size}; }  // NOLINT: a view

  std::uint8_t bytes[MessageIvs::max_bytes];
  std::size_t size;
};

// At most as many messages as an entry can tell apart.
std::uint64_t limit_of(const SealedOptions& options) noexcept {
  return options.limit_messages != 0 ? std::min(options.limit_messages, Entry::no_chunk)
                                     : Entry::no_chunk;
}

}  // namespace

SealKey::SealKey(Bytes key, const Kernel& kernel, std::shared_ptr<Costs> costs,
                 std::shared_ptr<Budget> budget)
    : BoundKey(kernel, std::move(costs), std::move(budget)), key_(key, kernel) {}

void SealKey::compute_directly(MutableBytes chunk) const noexcept {
  Tag tag;
  const WipeOnExit wiped(tag.bytes);
  key_.seal(MessageNonce().bytes, {}, chunk, chunk, tag.bytes);
}

SealContext::SealContext(Precomputer& precomputer, Reservation memory,
                         const std::shared_ptr<SealKey>& key, std::unique_ptr<const MessageIvs> ivs,
                         const SealedOptions& options)
    : Context(
          precomputer, std::move(memory), key,
          {options.window_messages, options.first_message, options.stride, limit_of(options) - 1},
          options.priority),
      key_(key->gcm()),
      ivs_(std::move(ivs)),
      limit_messages_(limit_of(options)) {}

void SealContext::check(std::uint64_t message, std::uint64_t messages) const {
  refuse_in_child();
  if (message >= limit_messages_ || messages > limit_messages_ - message) {
    throw Error(ErrorCode::usage, "keystream: a message beyond the context's limit");
  }
}

void SealContext::check_lengths(Bytes in, Bytes out, Bytes tag) const {
  if (in.size() != out.size()) {
    throw Error(ErrorCode::usage, "output: not as long as the input");
  }
  if (in.size() > shared().chunk_bytes) {
    throw Error(ErrorCode::usage, "message: longer than the engine's chunks");
  }
  if (!gcm::is_tag_length(tag.size())) {
    throw Error(ErrorCode::usage, "tag: " + std::to_string(tag.size()) + " bytes",
                "GCM has tags of 16, 15, 14, 13, 12, 8 or 4 bytes");
  }
}

// The call that makes the beginning of the text's keystream also makes IV and mask.
void SealContext::make_keystream(std::uint64_t message, std::uint8_t* slot, std::size_t from,
                                 std::size_t bytes) const noexcept {
  if (from == 0) {
    ivs_->make(message, slot + iv_at);
  }
  const std::size_t first = from == 0 ? mask_at : text_at + from;
  key_.add_mask_and_keystream(Bytes(slot + iv_at, ivs_->bytes()), (first - mask_at) / block_bytes,
                              MutableBytes(slot + first, text_at + from + bytes - first));
}

namespace {

bool overlap(Bytes a, Bytes b) noexcept {
  const std::less<const std::uint8_t*> is_before;  // std::less also compares places in two objects
  return !a.empty() && !b.empty() && is_before(a.data(), b.data() + b.size()) &&
         is_before(b.data(), a.data() + a.size());
}

}  // namespace

void SealContext::seal(std::uint64_t message, Bytes aad, Bytes in, MutableBytes out,
                       MutableBytes tag, MutableBytes iv) {
  assert(iv.empty() || iv.size() == ivs_->bytes());
  check(message, 1);
  check_lengths(in, out, tag);
  // With ready keystream, the ciphertext is written before the tag is computed.
  const std::vector<std::uint8_t> own_aad =
      overlap(aad, out) ? std::vector(aad.begin(), aad.end()) : std::vector<std::uint8_t>();
  if (!own_aad.empty()) {
    aad = own_aad;
  }
  const auto watch = begin_timing();
  Lock lock = enter();
  claim(lock, message, message + 1,
        "keystream: this message of the context has been sealed before");
  const Part part = take(message, 0, in.size(), Beginning::is_bypassed);
  lock.unlock();
  if (part.has_keystream()) {
    std::uint8_t* const slot = part.entry->slot;
    Tag full;
    if (!iv.empty()) {
      std::memcpy(iv.data(), slot + iv_at, iv.size());
    }
    xor_and_wipe(MutableBytes(slot + text_at, in.size()), in.data(), out.data());
    key_.make_tag(aad, out, Bytes(slot + mask_at, block_bytes), full);
    std::memcpy(tag.data(), full.bytes, tag.size());
    give_back_used(*part.entry, message, in.size());
  } else {
    const MessageIv own(*ivs_, message);
    if (!iv.empty()) {
      std::memcpy(iv.data(), own.bytes, iv.size());
    }
    key_.seal(own, aad, in, out, tag);
    discard(part, message);
  }
  end_timing(watch, part, in.size());
  if (!shared().mark.is_intact()) {
    // A signal handler has forked during this call: what was written may be the text.
    wipe(out);
    wipe(tag);
    refuse_in_child();
  }
}

bool SealContext::open(std::uint64_t message, Bytes aad, Bytes in, MutableBytes out, Bytes tag) {
  check(message, 1);
  check_lengths(in, out, tag);
  const auto watch = begin_timing();
  Lock lock = enter();
  const Part part = take(message, 0, in.size(), Beginning::is_bypassed);
  lock.unlock();
  bool is_authentic = false;
  if (part.has_keystream()) {
    is_authentic = open_with(*part.entry, message, aad, in, out, tag);
    refuse_in_child();  // in a child, the mask may have been zero
  } else {
    is_authentic = key_.open(MessageIv(*ivs_, message), aad, in, out, tag);
    discard(part, message);
  }
  end_timing(watch, part, in.size());
  return is_authentic;
}

// Decrypts nothing before the tag is checked. The keystream survives a forgery.
bool SealContext::open_with(Entry& entry, std::uint64_t message, Bytes aad, Bytes in,
                            MutableBytes out, Bytes tag) const noexcept {
  Tag full;
  const WipeOnExit wiped(full.bytes);  // it would validate a forgery
  key_.make_tag(aad, in, Bytes(entry.slot + mask_at, block_bytes), full);
  if (!equal_constant_time(Bytes(full.bytes, tag.size()), tag)) {
    wipe(out);
    give_back(entry, message);
    return false;
  }
  xor_and_wipe(MutableBytes(entry.slot + text_at, in.size()), in.data(), out.data());
  give_back_used(entry, message, in.size());
  return true;
}

// The text's keystream is wiped already. IV, mask and the rest of the chunk are wiped here.
void SealContext::give_back_used(Entry& entry, std::uint64_t message,
                                 std::size_t text_bytes) const noexcept {
  wipe(entry.slot + iv_at, text_at - iv_at);
  wipe(entry.slot + text_at + text_bytes, shared().chunk_bytes - text_bytes);
  entry.publish(message, EntryState::empty);
}

void SealContext::prefetch(std::uint64_t message) {
  check(message, 1);
  move_window(message);
}

void SealContext::mark_used(std::uint64_t first, std::uint64_t messages) {
  if (messages != 0) {
    check(first, messages);
    add_used(first, first + messages);
  }
}

}  // namespace paes::keystream
