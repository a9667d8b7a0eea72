#include "message/gcm_message.hpp"

#include <cassert>
#include <cstring>

#include "mode/gcm.hpp"

namespace paes {

GcmMessage::GcmMessage(const GcmKey& key, Bytes iv, Bytes aad) noexcept
    : key_(key),
      pre_counter_(key.pre_counter_block(iv)),
      aad_hash_(key.hash_padded({}, aad)),
      aad_bytes_(aad.size()) {
  state_.counter = gcm::add_counter(pre_counter_, 1);
  state_.is_counter_public = iv.size() == gcm::standard_iv_bytes;
}

GcmMessage::~GcmMessage() { wipe(aad_hash_.bytes); }

GhashPart GcmMessage::crypt(bool encrypt, std::uint64_t offset, Bytes in,
                            MutableBytes out) const noexcept {
  assert(offset % block_bytes == 0 && in.size() == out.size());
  const Kernel& kernel = key_.kernel();
  const KernelKeys& keys = key_.keys_->kernel;
  const std::size_t whole = in.size() / block_bytes * block_bytes;
  GhashPart part{{}, whole / block_bytes};
  if (whole != 0) {
    kernel.run(encrypt ? GcmOperation::encrypt : GcmOperation::decrypt)(
        keys, state_, Piece{offset / block_bytes, in.data(), out.data(), whole, &part.value});
  }
  if (const std::size_t rest = in.size() - whole; rest != 0) {
    Block before = {};
    Block after = {};
    const WipeOnExit wiped_before(before.bytes);
    const WipeOnExit wiped_after(after.bytes);
    std::memcpy(before.bytes, in.data() + whole, rest);
    kernel.run(Operation::ctr)(
        keys, state_,
        Piece{(offset + whole) / block_bytes, before.bytes, after.bytes, block_bytes});
    std::memcpy(out.data() + whole, after.bytes, rest);
    part.value = key_.hash_padded(part.value, Bytes((encrypt ? after : before).bytes, rest));
    ++part.blocks;
  }
  return part;
}

GhashPart GcmMessage::encrypt(std::uint64_t offset, Bytes in, MutableBytes out) const noexcept {
  return crypt(true, offset, in, out);
}

GhashPart GcmMessage::decrypt(std::uint64_t offset, Bytes in, MutableBytes out) const noexcept {
  return crypt(false, offset, in, out);
}

GhashPart GcmMessage::hash(Bytes ciphertext) const noexcept {
  return {key_.hash_padded({}, ciphertext), (ciphertext.size() + block_bytes - 1) / block_bytes};
}

GhashPart GcmMessage::join(const GhashPart& first, const GhashPart& second) const noexcept {
  return combine(key_.keys_->hash, first, second);
}

Block GcmMessage::tag(const GhashPart& text, std::uint64_t text_bytes) const noexcept {
  assert(text.blocks == (text_bytes + block_bytes - 1) / block_bytes);
  GhashPart sum = join({aad_hash_, 0}, text);
  const WipeOnExit wiped(sum.value.bytes);
  const Block lengths = gcm::length_block(aad_bytes_, text_bytes);
  Block tag = key_.hash_padded(sum.value, Bytes(lengths.bytes, block_bytes));
  ModeState state = state_;
  state.counter = pre_counter_;
  key_.kernel().run(Operation::ctr)(key_.keys_->kernel, state,
                                    Piece{0, tag.bytes, tag.bytes, block_bytes});
  return tag;
}

GcmParts::~GcmParts() {
  for (auto& [number, run] : runs_) {
    wipe(run.part.value.bytes);
  }
}

void GcmParts::add(std::uint64_t number, GhashPart part) {
  const WipeOnExit wiped(part.value.bytes);
  const std::lock_guard lock(mutex_);
  const auto next = runs_.lower_bound(number);
  const auto before = next == runs_.begin() ? runs_.end() : std::prev(next);
  std::uint64_t end = number + 1;
  if (next != runs_.end() && next->first == end) {
    part = message_.join(part, next->second.part);
    end = next->second.end;
    wipe(next->second.part.value.bytes);
    runs_.erase(next);
  }
  if (before != runs_.end() && before->second.end == number) {
    before->second = {end, message_.join(before->second.part, part)};
  } else {
    runs_.emplace(number, Run{end, part});
  }
}

Block GcmParts::tag(std::uint64_t text_bytes) const {
  assert(runs_.size() <= 1 && (runs_.empty() || runs_.begin()->first == 0));
  return message_.tag(runs_.empty() ? GhashPart{} : runs_.begin()->second.part, text_bytes);
}

}  // namespace paes
