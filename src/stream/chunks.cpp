#include "stream/chunks.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "mode/gcm.hpp"
#include "paes/error.hpp"

namespace paes::stream {

using cobblestone::chunk_bytes;
using cobblestone::chunk_text_bytes;
using cobblestone::tag_bytes;

namespace {

Secret<cobblestone::StreamKeys> derive_checked(container::Suite suite, Bytes input_key,
                                               Bytes salt) {
  if (input_key.size() != container::key_bytes(suite)) {
    throw Error(ErrorCode::corrupt, "envelope: holds " + std::to_string(input_key.size()) +
                                        " bytes, not a key of " +
                                        std::to_string(container::key_bytes(suite)));
  }
  const auto header = container::encode({suite, 0, 0});
  return cobblestone::derive(suite, input_key, salt, Bytes(header).first(container::context_bytes));
}

}  // namespace

ChunkCipher::ChunkCipher(container::Suite suite, Bytes input_key, Bytes salt, const Kernel& kernel,
                         EngineUse use)
    : keys_(derive_checked(suite, input_key, salt)),
      gcm_(Bytes(keys_->key, container::key_bytes(suite)), kernel, use) {}

bool ChunkCipher::run_on_engine(GcmOperation operation, Batch& batch, std::size_t text_bytes,
                                std::vector<Block>& tags) const {
  if (!gcm_.has_engine() || batch.chunks == 0) {
    return false;
  }
  std::vector<Block> pre_counters;
  pre_counters.reserve(batch.chunks);
  for (std::size_t i = 0; i < batch.chunks; ++i) {
    pre_counters.push_back(
        gcm::pre_counter_block(cobblestone::chunk_nonce(*keys_, batch.first_chunk + i)));
  }
  tags.resize(batch.chunks);
  return gcm_.run_on_engine(operation,
                            {.text = batch.chunk(0),
                             .stride_bytes = batch.stride_bytes(),
                             .count = batch.chunks,
                             .text_bytes = chunk_text_bytes,
                             .last_text_bytes = text_bytes - (batch.chunks - 1) * chunk_text_bytes,
                             .pre_counters = pre_counters.data(),
                             .tags = tags.data()});
}

void ChunkCipher::seal(Batch& batch) const {
  if (std::vector<Block> tags; run_on_engine(GcmOperation::seal, batch, batch.bytes, tags)) {
    for (std::size_t i = 0; i < batch.chunks; ++i) {
      const std::size_t bytes = std::min(batch.bytes - i * chunk_text_bytes, chunk_text_bytes);
      std::memcpy(batch.chunk(i) + bytes, tags[i].bytes, tag_bytes);
    }
    batch.bytes += batch.chunks * tag_bytes;
    return;
  }
  std::size_t rest = batch.bytes;
  for (std::size_t i = 0; i < batch.chunks; ++i) {
    const std::size_t text_bytes = std::min(rest, chunk_text_bytes);
    std::uint8_t* chunk = batch.chunk(i);
    const auto nonce = cobblestone::chunk_nonce(*keys_, batch.first_chunk + i);
    gcm_.seal(nonce, {}, Bytes(chunk, text_bytes), MutableBytes(chunk, text_bytes),
              MutableBytes(chunk + text_bytes, tag_bytes));
    rest -= text_bytes;
  }
  assert(rest == 0);
  batch.bytes += batch.chunks * tag_bytes;
}

template <typename Check>
std::optional<std::uint64_t> ChunkCipher::each_chunk(Batch& batch, Check&& check) const noexcept {
  std::size_t rest = batch.bytes;
  for (std::size_t i = 0; i < batch.chunks; ++i) {
    const std::uint64_t number = batch.first_chunk + i;
    const std::size_t bytes = std::min(rest, chunk_bytes);
    assert(bytes >= tag_bytes);
    std::uint8_t* chunk = batch.chunk(i);
    const auto nonce = cobblestone::chunk_nonce(*keys_, number);
    if (!check(nonce, MutableBytes(chunk, bytes - tag_bytes),
               Bytes(chunk + bytes - tag_bytes, tag_bytes))) {
      return number;
    }
    rest -= bytes;
  }
  assert(rest == 0);
  batch.bytes -= batch.chunks * tag_bytes;
  return std::nullopt;
}

bool ChunkCipher::check_on_engine(GcmOperation operation, Batch& batch,
                                  std::optional<std::uint64_t>& damaged) const {
  std::vector<Block> tags;
  const std::size_t text_bytes = batch.bytes - batch.chunks * tag_bytes;
  if (!run_on_engine(operation, batch, text_bytes, tags)) {
    return false;
  }
  // A tag that a forger did not guess is the key to the next forgery.
  const WipeOnExit wiped({tags.data()->bytes, tags.size() * sizeof(Block)});
  for (std::size_t i = batch.chunks; i-- != 0;) {
    const std::size_t bytes = std::min(text_bytes - i * chunk_text_bytes, chunk_text_bytes);
    if (!equal_constant_time(Bytes(tags[i].bytes, tag_bytes),
                             Bytes(batch.chunk(i) + bytes, tag_bytes))) {
      damaged = batch.first_chunk + i;
    }
  }
  if (damaged && operation == GcmOperation::open) {
    wipe(batch.chunk(0), batch.chunks * batch.stride_bytes());
  }
  batch.bytes = text_bytes;
  return true;
}

std::optional<std::uint64_t> ChunkCipher::open(Batch& batch) const {
  if (std::optional<std::uint64_t> damaged; check_on_engine(GcmOperation::open, batch, damaged)) {
    return damaged;
  }
  return each_chunk(batch, [&](Bytes nonce, MutableBytes text, Bytes tag) {
    return gcm_.open(nonce, {}, text, text, tag);
  });
}

std::optional<std::uint64_t> ChunkCipher::verify(Batch& batch) const {
  if (std::optional<std::uint64_t> damaged; check_on_engine(GcmOperation::verify, batch, damaged)) {
    return damaged;
  }
  return each_chunk(batch, [&](Bytes nonce, MutableBytes text, Bytes tag) {
    return gcm_.verify(nonce, {}, text, tag);
  });
}

}  // namespace paes::stream
