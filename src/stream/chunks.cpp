#include "stream/chunks.hpp"

#include <algorithm>
#include <cassert>
#include <string>

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

ChunkCipher::ChunkCipher(container::Suite suite, Bytes input_key, Bytes salt, const Kernel& kernel)
    : keys_(derive_checked(suite, input_key, salt)),
      gcm_(Bytes(keys_->key, container::key_bytes(suite)), kernel) {}

void ChunkCipher::seal(Batch& batch) const noexcept {
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

std::optional<std::uint64_t> ChunkCipher::open(Batch& batch) const noexcept {
  return each_chunk(batch, [&](Bytes nonce, MutableBytes text, Bytes tag) {
    return gcm_.open(nonce, {}, text, text, tag);
  });
}

std::optional<std::uint64_t> ChunkCipher::verify(Batch& batch) const noexcept {
  return each_chunk(batch, [&](Bytes nonce, MutableBytes text, Bytes tag) {
    return gcm_.verify(nonce, {}, text, tag);
  });
}

}  // namespace paes::stream
