// The payload of an age file (c2sp.org/age, "Payload") as a layout and two transforms: what a new
// payload format takes to run on all threads, at pipes and in parts. For tests alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/secret.hpp"
#include "format/libcrypto.hpp"
#include "paes/error.hpp"
#include "stream/transfer.hpp"

namespace paes::stream {

// STREAM over ChaCha20-Poly1305 in chunks of 64 KiB. The last chunk may be whole, and is marked in
// its nonce; only an empty text has an empty chunk.
class AgePayload {
 public:
  static constexpr std::size_t nonce_bytes = 16;
  static constexpr std::size_t chunk_text_bytes = 65536;
  static constexpr std::size_t tag_bytes = libcrypto::chacha20_poly1305_tag_bytes;
  static constexpr std::size_t chunk_bytes = chunk_text_bytes + tag_bytes;

  AgePayload(Bytes file_key, Bytes nonce) {
    libcrypto::hkdf_sha256(file_key, nonce, libcrypto::bytes_of("payload"), *key_);
  }

  [[nodiscard]] static Layout sealing_layout(std::optional<std::uint64_t> text_bytes,
                                             const Options& options) {
    return {.in_bytes = chunk_text_bytes,
            .out_bytes = chunk_bytes,
            .out_offset = nonce_bytes,
            .total_bytes = text_bytes,
            .items_a_buffer = chunks_a_buffer(options)};
  }

  // For a payload of so many bytes, its nonce included.
  [[nodiscard]] static Layout opening_layout(std::optional<std::uint64_t> payload_bytes,
                                             const Options& options) {
    Layout layout{.in_bytes = chunk_bytes,
                  .out_bytes = chunk_text_bytes,
                  .min_in_bytes = tag_bytes,
                  .in_offset = nonce_bytes,
                  .items_a_buffer = chunks_a_buffer(options)};
    if (payload_bytes) {
      layout.total_bytes = *payload_bytes - nonce_bytes;
    }
    layout.on_cut = [] { throw Error(ErrorCode::corrupt, "payload: ends within a chunk"); };
    return layout;
  }

  [[nodiscard]] Transform sealing() const {
    return {.run = [this](Buffer& buffer) {
      each_chunk(buffer, buffer.bytes, [&](std::size_t index, bool is_last, std::size_t bytes) {
        libcrypto::chacha20_poly1305_seal(*key_, nonce_of(buffer.first_item + index, is_last),
                                          {buffer.item(index), bytes},
                                          {buffer.item(index), bytes + tag_bytes});
      });
      buffer.bytes += buffer.items * tag_bytes;
    }};
  }

  [[nodiscard]] Transform opening() const {
    return {.run = [this](Buffer& buffer) {
      const std::size_t text_bytes = buffer.bytes - buffer.items * tag_bytes;
      each_chunk(buffer, text_bytes, [&](std::size_t index, bool is_last, std::size_t bytes) {
        const std::uint64_t chunk = buffer.first_item + index;
        const bool may_be_empty = chunk == 0 || bytes != 0;
        if (!may_be_empty ||
            !libcrypto::chacha20_poly1305_open(*key_, nonce_of(chunk, is_last),
                                               {buffer.item(index), bytes + tag_bytes},
                                               {buffer.item(index), bytes})) {
          throw Error(ErrorCode::corrupt,
                      "payload: chunk " + std::to_string(chunk) + " is not authentic");
        }
      });
      buffer.bytes = text_bytes;
    }};
  }

 private:
  [[nodiscard]] static std::size_t chunks_a_buffer(const Options& options) {
    return std::max<std::size_t>(buffer_bytes(options) / chunk_text_bytes, 1);
  }

  [[nodiscard]] static std::array<std::uint8_t, 12> nonce_of(std::uint64_t chunk, bool is_last) {
    std::array<std::uint8_t, 12> nonce = {};
    store_be64(nonce.data() + 3, chunk);
    nonce[11] = is_last ? 1 : 0;
    return nonce;
  }

  // do_chunk(index in the buffer, whether it is the last of the message, its bytes of text)
  template <typename DoChunk>
  static void each_chunk(const Buffer& buffer, std::size_t text_bytes, DoChunk&& do_chunk) {
    for (std::size_t i = 0; i < buffer.items; ++i) {
      const bool is_last = buffer.is_last && i + 1 == buffer.items;
      do_chunk(i, is_last, std::min(text_bytes - i * chunk_text_bytes, chunk_text_bytes));
    }
  }

  Secret<std::array<std::uint8_t, 32>> key_;
};

}  // namespace paes::stream
