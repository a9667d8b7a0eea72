// SPDX-License-Identifier: Apache-2.0
#include "message/gcm.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <vector>

#include "cipher/mode/gcm_blocks.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

[[maybe_unused]] bool within_limits(Bytes iv, Bytes in, std::size_t tag_bytes) {
  return !iv.empty() && in.size() <= gcm::max_plaintext_bytes && gcm::is_tag_length(tag_bytes);
}

// Short inputs of the hash are collected here, because a call costs more than a block.
struct alignas(16) FewBlocks {
  std::uint8_t bytes[4 * block_bytes];
};

constexpr std::size_t bytes_of_whole_blocks(std::size_t bytes) noexcept {
  return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

// Whether the claimed tag is right; if not, wipes the decrypted text.
bool accept(const Tag& computed, Bytes claimed, MutableBytes text) noexcept {
  const bool is_authentic = equal_constant_time(Bytes(computed.bytes, claimed.size()), claimed);
  if (!is_authentic) {
    wipe(text);
  }
  return is_authentic;
}

}  // namespace

GcmKey::GcmKey(Bytes key, const Kernel& kernel, DeviceUse use)
    : kernel_(&kernel), when_busy_(use.when_busy) {
  if (key.size() != 16 && key.size() != 24 && key.size() != 32) {
    throw Error(ErrorCode::usage, "key: AES takes 16, 24 or 32 bytes");
  }
  if (use.device != nullptr) {
    device_ = use.device->bind_gcm(key);
  }
  kernel.prepare(key, keys_->kernel);
  // H = E(0^128), section 6.4.
  const CounterBlock zero = {};
  const Block no_text = {};
  kernel.run(Operation::ctr)(
      keys_->kernel, {.text = {no_text.bytes, keys_->h.bytes, block_bytes}, .counter = &zero});
}

GcmKey::GcmKey(GcmKey&& other) noexcept
    : kernel_(std::exchange(other.kernel_, nullptr)),
      device_(std::move(other.device_)),
      when_busy_(other.when_busy_),
      keys_(std::move(other.keys_)) {}

GcmKey::~GcmKey() {
  if (kernel_ != nullptr && kernel_->release != nullptr) {
    kernel_->release(keys_->kernel);
  }
}

void GcmKey::hash_padded(HashValue& hash, Bytes data) const noexcept {
  if (data.size() <=
      sizeof(FewBlocks)) {  // most messages have little AAD, and each call takes time
    if (!data.empty()) {
      FewBlocks padded = {};
      std::memcpy(padded.bytes, data.data(), data.size());
      kernel_->gcm.hash(keys_->kernel, padded.bytes, bytes_of_whole_blocks(data.size()), hash);
    }
    return;
  }
  const std::size_t whole = data.size() / block_bytes * block_bytes;
  kernel_->gcm.hash(keys_->kernel, data.data(), whole, hash);
  if (whole != data.size()) {
    Block last = {};
    std::memcpy(last.bytes, data.data() + whole, data.size() - whole);
    kernel_->gcm.hash(keys_->kernel, last.bytes, block_bytes, hash);
  }
}

void GcmKey::make_pre_counter_block(Bytes iv, CounterBlock& counter) const noexcept {
  if (iv.size() == gcm::standard_iv_bytes) {
    counter = gcm::pre_counter_block(iv.first<gcm::standard_iv_bytes>());
    return;
  }
  // Section 7.1, step 2: GHASH(IV || padding || 0^64 || [len(IV)]64).
  HashValue hash = {};
  const WipeOnExit wiped(hash.bytes);
  const auto lengths = gcm::length_block(0, iv.size());
  const std::size_t padded_bytes = bytes_of_whole_blocks(iv.size());
  if (padded_bytes + block_bytes <= sizeof(FewBlocks)) {
    FewBlocks all = {};
    std::memcpy(all.bytes, iv.data(), iv.size());
    std::memcpy(all.bytes + padded_bytes, lengths.bytes, block_bytes);
    kernel_->gcm.hash(keys_->kernel, all.bytes, padded_bytes + block_bytes, hash);
  } else {
    hash_padded(hash, iv);
    hash_padded(hash, lengths.bytes);
  }
  counter = std::bit_cast<CounterBlock>(hash);
}

void GcmKey::run_whole(WholeMessageFunction run, Bytes iv, Bytes aad, const Text& text,
                       Bytes claimed_tag, Tag& tag) const noexcept {
  const bool is_counter_public = iv.size() == gcm::standard_iv_bytes;
  CounterBlock pre_counter;
  make_pre_counter_block(iv, pre_counter);
  HashValue aad_hash = {};
  hash_padded(aad_hash, aad);
  run(keys_->kernel,
      {.text = text,
       .iv = iv,
       .pre_counter = &pre_counter,
       .is_counter_public = is_counter_public,
       .aad = aad,
       .aad_hash = &aad_hash,
       .claimed_tag = claimed_tag},
      tag);
  if (!is_counter_public) {
    wipe(pre_counter.bytes);
  }
  if (!aad.empty()) {
    wipe(aad_hash.bytes);
  }
}

void GcmKey::seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out,
                  MutableBytes tag) const noexcept {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Tag full_tag;
  run_whole(kernel_->gcm.seal, iv, aad, {in.data(), out.data(), in.size()}, {}, full_tag);
  std::memcpy(tag.data(), full_tag.bytes, tag.size());
}

bool GcmKey::open(Bytes iv, Bytes aad, Bytes in, MutableBytes out, Bytes tag) const noexcept {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Tag full_tag;
  const WipeOnExit wiped(full_tag.bytes);  // the right tag would validate a forgery
  run_whole(kernel_->gcm.open, iv, aad, {in.data(), out.data(), in.size()}, tag, full_tag);
  return accept(full_tag, tag, out);
}

bool GcmKey::verify(Bytes iv, Bytes aad, Bytes in, Bytes tag) const noexcept {
  assert(within_limits(iv, in, tag.size()));
  Tag full_tag;
  const WipeOnExit wiped(full_tag.bytes);
  run_whole(kernel_->gcm.verify, iv, aad, {in.data(), nullptr, in.size()}, tag, full_tag);
  return accept(full_tag, tag, {});
}

void GcmKey::add_mask_and_keystream(Bytes iv, std::uint64_t first_block,
                                    MutableBytes blocks) const noexcept {
  assert(!iv.empty() && blocks.size() % block_bytes == 0);
  const bool is_counter_public = iv.size() == gcm::standard_iv_bytes;
  CounterBlock counter;
  make_pre_counter_block(iv, counter);
  counter = gcm::add_counter(counter, first_block);
  kernel_->run(Operation::ctr)(keys_->kernel,
                               {.text = {blocks.data(), blocks.data(), blocks.size()},
                                .counter = &counter,
                                .is_counter_public = is_counter_public});
  if (!is_counter_public) {
    wipe(counter.bytes);
  }
}

void GcmKey::make_tag(Bytes aad, Bytes ciphertext, Bytes mask, Tag& tag) const noexcept {
  HashValue hash = {};
  const WipeOnExit wiped(hash.bytes);
  hash_padded(hash, aad);
  hash_padded(hash, ciphertext);
  hash_padded(hash, gcm::length_block(aad.size(), ciphertext.size()).bytes);
  for (std::size_t i = 0; i < block_bytes; ++i) {
    tag.bytes[i] = static_cast<std::uint8_t>(hash.bytes[i] ^ mask[i]);
  }
}

void GcmKey::seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag,
                  const Executor& executor, std::size_t piece_bytes) const {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Tag full_tag;
  crypt_pieces(true, iv, aad, in, out, full_tag, executor, piece_bytes);
  std::memcpy(tag.data(), full_tag.bytes, tag.size());
}

bool GcmKey::open(Bytes iv, Bytes aad, Bytes in, MutableBytes out, Bytes tag,
                  const Executor& executor, std::size_t piece_bytes) const {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Tag full_tag;
  const WipeOnExit wiped(full_tag.bytes);
  try {
    crypt_pieces(false, iv, aad, in, out, full_tag, executor, piece_bytes);
  } catch (...) {  // a device failed, and nobody has checked what the other threads have written
    wipe(out);
    throw;
  }
  return accept(full_tag, tag, out);
}

}  // namespace paes
