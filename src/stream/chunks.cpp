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

// One chunk more; they come in order.
void append(std::vector<ChunkRange>& ranges, std::uint64_t chunk) {
  if (!ranges.empty() && ranges.back().end == chunk) {
    ++ranges.back().end;
  } else {
    ranges.push_back({chunk, chunk + 1});
  }
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

template <typename Check, typename OnDamage>
void ChunkCipher::each_chunk(Batch& batch, Check&& check, OnDamage&& on_damage) const {
  std::size_t rest = batch.bytes;
  for (std::size_t i = 0; i < batch.chunks; ++i) {
    const std::uint64_t number = batch.first_chunk + i;
    const std::size_t bytes = std::min(rest, chunk_bytes);
    assert(bytes >= tag_bytes);
    std::uint8_t* chunk = batch.chunk(i);
    const auto nonce = cobblestone::chunk_nonce(*keys_, number);
    if (!check(nonce, MutableBytes(chunk, bytes - tag_bytes),
               Bytes(chunk + bytes - tag_bytes, tag_bytes)) &&
        !on_damage(number)) {
      return;
    }
    rest -= bytes;
  }
  assert(rest == 0);
  batch.bytes -= batch.chunks * tag_bytes;
}

bool ChunkCipher::check_on_engine(GcmOperation operation, Batch& batch,
                                  std::vector<ChunkRange>& damaged) const {
  std::vector<Block> tags;
  const std::size_t text_bytes = batch.bytes - batch.chunks * tag_bytes;
  if (!run_on_engine(operation, batch, text_bytes, tags)) {
    return false;
  }
  // A tag that a forger did not guess is the key to the next forgery.
  const WipeOnExit wiped({tags.data()->bytes, tags.size() * sizeof(Block)});
  for (std::size_t i = 0; i < batch.chunks; ++i) {
    const std::size_t bytes = std::min(text_bytes - i * chunk_text_bytes, chunk_text_bytes);
    if (!equal_constant_time(Bytes(tags[i].bytes, tag_bytes),
                             Bytes(batch.chunk(i) + bytes, tag_bytes))) {
      append(damaged, batch.first_chunk + i);
    }
  }
  if (!damaged.empty() && operation == GcmOperation::open) {
    wipe(batch.chunk(0), batch.chunks * batch.stride_bytes());
  }
  batch.bytes = text_bytes;
  return true;
}

std::optional<std::uint64_t> ChunkCipher::open(Batch& batch) const {
  if (std::vector<ChunkRange> damaged; check_on_engine(GcmOperation::open, batch, damaged)) {
    return damaged.empty() ? std::nullopt : std::optional(damaged.front().first);
  }
  std::optional<std::uint64_t> first_damaged;
  each_chunk(
      batch,
      [&](Bytes nonce, MutableBytes text, Bytes tag) {
        return gcm_.open(nonce, {}, text, text, tag);
      },
      [&](std::uint64_t number) {
        first_damaged = number;
        return false;
      });
  return first_damaged;
}

std::vector<ChunkRange> ChunkCipher::verify(Batch& batch) const {
  std::vector<ChunkRange> damaged;
  if (!check_on_engine(GcmOperation::verify, batch, damaged)) {
    each_chunk(
        batch,
        [&](Bytes nonce, MutableBytes text, Bytes tag) {
          return gcm_.verify(nonce, {}, text, tag);
        },
        [&](std::uint64_t number) {
          append(damaged, number);
          return true;
        });
  }
  return damaged;
}

}  // namespace paes::stream
