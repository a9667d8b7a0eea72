// SPDX-License-Identifier: Apache-2.0
#include "message/gcm_message.hpp"

#include <bit>
#include <cassert>
#include <cstring>

#include "cipher/mode/gcm_blocks.hpp"

namespace paes {

GhashPart combine(const HashSubkey& h, const GhashPart& first, const GhashPart& second) noexcept {
  auto power = std::bit_cast<Block>(h);
  const WipeOnExit wiped(power.bytes);
  power = ghash_power(power, second.blocks);
  GhashPart joined{
      std::bit_cast<HashValue>(ghash_multiply(std::bit_cast<Block>(first.value), power)),
      first.blocks + second.blocks};
  for (std::size_t i = 0; i < block_bytes; ++i) {
    joined.value.bytes[i] ^= second.value.bytes[i];
  }
  return joined;
}

GcmMessage::GcmMessage(const GcmKey& key, Bytes iv, Bytes aad) noexcept
    : key_(key), is_counter_public_(iv.size() == gcm::standard_iv_bytes), aad_bytes_(aad.size()) {
  key.make_pre_counter_block(iv, pre_counter_);
  key.hash_padded(aad_hash_, aad);
}

GcmMessage::~GcmMessage() {
  wipe(aad_hash_.bytes);
  wipe(pre_counter_.bytes);
}

bool GcmMessage::run_on_device(GcmOperation operation, const CounterBlock& counter, Bytes in,
                               MutableBytes out, HashValue& hash) const {
  return key_.device_ != nullptr &&
         key_.device_->run(operation, counter, in, out, hash, key_.when_busy_);
}

GhashPart GcmMessage::crypt(bool encrypt, std::uint64_t offset, Bytes in, MutableBytes out) const {
  assert(offset % block_bytes == 0 && in.size() == out.size());
  const Kernel& kernel = key_.kernel();
  const KernelKeys& keys = key_.keys_->kernel;
  const std::size_t whole = in.size() / block_bytes * block_bytes;
  GhashPart part{{}, whole / block_bytes};
  CounterBlock counter = gcm::add_counter(pre_counter_, 1 + offset / block_bytes);
  const WipeOnExit wiped_counter(counter.bytes);
  if (whole != 0 && !run_on_device(encrypt ? GcmOperation::encrypt : GcmOperation::decrypt, counter,
                                   in.first(whole), out.first(whole), part.value)) {
    const GcmPieceFunction run = encrypt ? kernel.gcm.encrypt : kernel.gcm.decrypt;
    run(keys, {{in.data(), out.data(), whole}, &counter, is_counter_public_}, part.value);
  }
  if (const std::size_t rest = in.size() - whole; rest != 0) {
    Block before = {};
    Block after = {};
    const WipeOnExit wiped_before(before.bytes);
    const WipeOnExit wiped_after(after.bytes);
    std::memcpy(before.bytes, in.data() + whole, rest);
    counter = gcm::add_counter(counter, part.blocks);
    kernel.run(Operation::ctr)(keys, {.text = {before.bytes, after.bytes, block_bytes},
                                      .counter = &counter,
                                      .is_counter_public = is_counter_public_});
    std::memcpy(out.data() + whole, after.bytes, rest);
    key_.hash_padded(part.value, Bytes((encrypt ? after : before).bytes, rest));
    ++part.blocks;
  }
  return part;
}

GhashPart GcmMessage::encrypt(std::uint64_t offset, Bytes in, MutableBytes out) const {
  return crypt(true, offset, in, out);
}

GhashPart GcmMessage::decrypt(std::uint64_t offset, Bytes in, MutableBytes out) const {
  return crypt(false, offset, in, out);
}

GhashPart GcmMessage::hash(Bytes ciphertext) const {
  const std::size_t whole = ciphertext.size() / block_bytes * block_bytes;
  GhashPart part{{}, (ciphertext.size() + block_bytes - 1) / block_bytes};
  if (whole == 0 ||
      !run_on_device(GcmOperation::hash, {}, ciphertext.first(whole), {}, part.value)) {
    part.value = {};
    key_.hash_padded(part.value, ciphertext);
  } else {
    key_.hash_padded(part.value, ciphertext.subspan(whole));
  }
  return part;
}

GhashPart GcmMessage::join(const GhashPart& first, const GhashPart& second) const noexcept {
  return combine(key_.keys_->h, first, second);
}

void GcmMessage::tag(const GhashPart& text, std::uint64_t text_bytes, Tag& tag) const noexcept {
  assert(text.blocks == (text_bytes + block_bytes - 1) / block_bytes);
  GhashPart sum = join({aad_hash_, 0}, text);
  key_.hash_padded(sum.value, gcm::length_block(aad_bytes_, text_bytes).bytes);
  key_.kernel().run(Operation::ctr)(key_.keys_->kernel,
                                    {.text = {sum.value.bytes, tag.bytes, block_bytes},
                                     .counter = &pre_counter_,
                                     .is_counter_public = is_counter_public_});
}

void GcmParts::add(std::uint64_t number, GhashPart part) {
  const std::lock_guard lock(mutex_);
  const auto next = runs_.lower_bound(number);
  const auto before = next == runs_.begin() ? runs_.end() : std::prev(next);
  std::uint64_t end = number + 1;
  if (next != runs_.end() && next->first == end) {
    part = message_.join(part, next->second.part);
    end = next->second.end;
    runs_.erase(next);
  }
  if (before != runs_.end() && before->second.end == number) {
    before->second = {end, message_.join(before->second.part, part)};
  } else {
    runs_.emplace(number, Run{end, part});
  }
}

GhashPart GcmParts::joined() const {
  assert(runs_.size() <= 1 && (runs_.empty() || runs_.begin()->first == 0));
  return runs_.empty() ? GhashPart{} : runs_.begin()->second.part;
}

// A member of GcmKey. It is defined here because the pieces of a message are parts of it.
void GcmKey::crypt_pieces(bool encrypt, Bytes iv, Bytes aad, Bytes in, MutableBytes out, Tag& tag,
                          const Executor& executor, std::size_t piece_bytes) const {
  const GcmMessage message(*this, iv, aad);
  const std::size_t step = std::max<std::size_t>(piece_bytes / block_bytes, 1) * block_bytes;
  std::vector<GhashPart> parts((in.size() + step - 1) / step);
  executor.for_each(parts.size(), [&](std::size_t index) {
    const std::size_t at = index * step;
    const std::size_t bytes = std::min(step, in.size() - at);
    parts[index] = encrypt ? message.encrypt(at, in.subspan(at, bytes), out.subspan(at, bytes))
                           : message.decrypt(at, in.subspan(at, bytes), out.subspan(at, bytes));
  });
  GhashPart sum;
  for (const GhashPart& part : parts) {
    sum = message.join(sum, part);
  }
  message.tag(sum, in.size(), tag);
}

}  // namespace paes
