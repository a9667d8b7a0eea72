#include "message/gcm.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "message/gcm_message.hpp"
#include "mode/gcm.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

[[maybe_unused]] bool within_limits(Bytes iv, Bytes in, std::size_t tag_bytes) {
  return !iv.empty() && in.size() <= gcm::max_plaintext_bytes && gcm::is_tag_length(tag_bytes);
}

}  // namespace

GcmKey::GcmKey(Bytes key, const Kernel& kernel, EngineUse use)
    : kernel_(&kernel), when_busy_(use.when_busy) {
  if (key.size() != 16 && key.size() != 24 && key.size() != 32) {
    throw Error(ErrorCode::usage, "key: AES takes 16, 24 or 32 bytes");
  }
  if (use.engine != nullptr) {
    engine_ = use.engine->bind_gcm(key);
  }
  kernel.prepare(key, keys_->kernel);
  // H = E(0^128), section 6.4.
  ModeState zero = {};
  const Block zero_block = {};
  kernel.run(Operation::ctr)(keys_->kernel, zero,
                             Piece{0, zero_block.bytes, keys_->hash.bytes, block_bytes, nullptr});
}

GcmKey::GcmKey(GcmKey&& other) noexcept
    : kernel_(std::exchange(other.kernel_, nullptr)),
      engine_(std::move(other.engine_)),
      when_busy_(other.when_busy_),
      keys_(std::move(other.keys_)) {}

GcmKey::~GcmKey() {
  if (kernel_ != nullptr && kernel_->release != nullptr) {
    kernel_->release(keys_->kernel);
  }
}

void GcmKey::hash_padded(Block& value, Bytes data) const noexcept {
  const RunFunction ghash = kernel_->run(GcmOperation::hash);
  const ModeState unused = {};
  const std::size_t whole = data.size() / block_bytes * block_bytes;
  if (whole != 0) {  // most messages have no AAD, and short ones notice a call
    ghash(keys_->kernel, unused, Piece{0, data.data(), nullptr, whole, &value});
  }
  if (whole != data.size()) {
    Block last = {};
    std::memcpy(last.bytes, data.data() + whole, data.size() - whole);
    ghash(keys_->kernel, unused, Piece{0, last.bytes, nullptr, block_bytes, &value});
  }
}

void GcmKey::make_pre_counter_block(Bytes iv, Block& block) const noexcept {
  if (iv.size() == gcm::standard_iv_bytes) {
    block = gcm::pre_counter_block(iv.first<gcm::standard_iv_bytes>());
    return;
  }
  // Section 7.1, step 2: GHASH(IV || padding || 0^64 || [len(IV)]64).
  block = {};
  hash_padded(block, iv);
  const Block lengths = gcm::length_block(0, iv.size());
  hash_padded(block, Bytes(lengths.bytes, block_bytes));
}

void GcmKey::crypt_whole(GcmOperation operation, Bytes iv, Bytes aad, const std::uint8_t* in,
                         std::uint8_t* out, std::size_t bytes, Bytes claimed_tag,
                         Block& tag) const noexcept {
  ModeState state{.counter = {},
                  .iv = iv.data(),
                  .iv_bytes = iv.size(),
                  .aad = aad.data(),
                  .aad_bytes = aad.size(),
                  .claimed_tag = claimed_tag.data(),
                  .claimed_tag_bytes = claimed_tag.size(),
                  .is_counter_public = iv.size() == gcm::standard_iv_bytes};
  make_pre_counter_block(iv, state.counter);
  tag = {};
  hash_padded(tag, aad);
  kernel_->run(operation)(keys_->kernel, state, Piece{0, in, out, bytes, &tag});
  if (!state.is_counter_public) {
    wipe(state.counter.bytes);
  }
}

void GcmKey::seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out,
                  MutableBytes tag) const noexcept {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Block full_tag;
  crypt_whole(GcmOperation::seal, iv, aad, in.data(), out.data(), in.size(), {}, full_tag);
  std::memcpy(tag.data(), full_tag.bytes, tag.size());
}

bool GcmKey::open(Bytes iv, Bytes aad, Bytes in, MutableBytes out, Bytes tag) const noexcept {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Block full_tag;
  const WipeOnExit wiped(full_tag.bytes);  // of a forgery, the one that would have been believed
  crypt_whole(GcmOperation::open, iv, aad, in.data(), out.data(), in.size(), tag, full_tag);
  if (!equal_constant_time(Bytes(full_tag.bytes, tag.size()), tag)) {
    wipe(out);
    return false;
  }
  return true;
}

bool GcmKey::verify(Bytes iv, Bytes aad, Bytes in, Bytes tag) const noexcept {
  assert(within_limits(iv, in, tag.size()));
  Block full_tag;
  const WipeOnExit wiped(full_tag.bytes);
  crypt_whole(GcmOperation::verify, iv, aad, in.data(), nullptr, in.size(), tag, full_tag);
  return equal_constant_time(Bytes(full_tag.bytes, tag.size()), tag);
}

void GcmKey::add_mask_and_keystream(Bytes iv, std::uint64_t first_block,
                                    MutableBytes blocks) const noexcept {
  assert(iv.size() == gcm::standard_iv_bytes && blocks.size() % block_bytes == 0);
  ModeState state = {};
  state.counter = gcm::pre_counter_block(iv.first<gcm::standard_iv_bytes>());
  state.is_counter_public = true;
  // Far below 2^32 blocks, so that inc_32 and the carry over the whole block are the same.
  kernel_->run(Operation::ctr)(keys_->kernel, state,
                               Piece{first_block, blocks.data(), blocks.data(), blocks.size()});
}

void GcmKey::make_tag(Bytes aad, Bytes ciphertext, Bytes mask, Block& tag) const noexcept {
  tag = {};
  hash_padded(tag, aad);
  hash_padded(tag, ciphertext);
  const Block lengths = gcm::length_block(aad.size(), ciphertext.size());
  hash_padded(tag, Bytes(lengths.bytes, block_bytes));
  for (std::size_t i = 0; i < block_bytes; ++i) {
    tag.bytes[i] ^= mask[i];
  }
}

void GcmKey::crypt_pieces(bool encrypt, Bytes iv, Bytes aad, Bytes in, MutableBytes out, Block& tag,
                          const Executor& executor, std::size_t grain) const {
  const GcmMessage message(*this, iv, aad);
  const std::size_t piece_bytes = std::max<std::size_t>(grain / block_bytes, 1) * block_bytes;
  std::vector<GhashPart> parts((in.size() + piece_bytes - 1) / piece_bytes);
  // A hash without its mask gives H away to whoever knows the ciphertext.
  const WipeOnExit wiped_parts(
      {reinterpret_cast<std::uint8_t*>(parts.data()), parts.size() * sizeof(GhashPart)});
  executor.for_each(parts.size(), [&](std::size_t index) {
    const std::size_t at = index * piece_bytes;
    const std::size_t bytes = std::min(piece_bytes, in.size() - at);
    parts[index] = encrypt ? message.encrypt(at, in.subspan(at, bytes), out.subspan(at, bytes))
                           : message.decrypt(at, in.subspan(at, bytes), out.subspan(at, bytes));
  });
  GhashPart sum;
  const WipeOnExit wiped_sum(sum.value.bytes);
  for (const GhashPart& part : parts) {
    sum = message.join(sum, part);
  }
  message.tag(sum, in.size(), tag);
}

void GcmKey::seal(Bytes iv, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag,
                  const Executor& executor, std::size_t grain) const {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Block full_tag;
  crypt_pieces(true, iv, aad, in, out, full_tag, executor, grain);
  std::memcpy(tag.data(), full_tag.bytes, tag.size());
}

bool GcmKey::open(Bytes iv, Bytes aad, Bytes in, MutableBytes out, Bytes tag,
                  const Executor& executor, std::size_t grain) const {
  assert(within_limits(iv, in, tag.size()) && out.size() == in.size());
  Block full_tag;
  const WipeOnExit wiped(full_tag.bytes);
  try {
    crypt_pieces(false, iv, aad, in, out, full_tag, executor, grain);
  } catch (...) {  // an engine's failure: nobody has checked what others have written
    wipe(out);
    throw;
  }
  if (!equal_constant_time(Bytes(full_tag.bytes, tag.size()), tag)) {
    wipe(out);
    return false;
  }
  return true;
}

}  // namespace paes
