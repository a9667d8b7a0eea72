// Where a container's chunks lie: arithmetic alone, from the payload's offset and the text's
// length.
#pragma once

#include <algorithm>
#include <cstdint>

#include "format/cobblestone.hpp"

namespace paes::stream {

// A stripe is 4 MiB of text, 1025 pages of ciphertext: what a rank owns and a journal records as
// one.
inline constexpr std::uint64_t stripe_chunks = 256;

// The chunks [first, end).
struct ChunkRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t count() const noexcept { return end - first; }
  bool operator==(const ChunkRange&) const = default;
};

// The bytes [first, end).
struct ByteSpan {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// Where a payload lies in its file, and how long its text is.
struct Extent {
  std::uint64_t payload_offset = 0;
  std::uint64_t text_bytes = 0;

  [[nodiscard]] std::uint64_t chunks() const noexcept {
    return cobblestone::chunk_count(text_bytes);
  }
  [[nodiscard]] std::uint64_t stripes() const noexcept {
    return (chunks() + stripe_chunks - 1) / stripe_chunks;
  }
  [[nodiscard]] ChunkRange whole() const noexcept { return {0, chunks()}; }
  // The stripes [first, end) of it; the last is mostly shorter.
  [[nodiscard]] ChunkRange of_stripes(std::uint64_t first, std::uint64_t end) const noexcept;
  // In the container.
  [[nodiscard]] std::uint64_t chunk_offset(std::uint64_t chunk) const noexcept {
    return payload_offset + cobblestone::chunk_offset(chunk);
  }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept {
    return payload_offset + cobblestone::payload_bytes(text_bytes);
  }
  // What these chunks are of the text, which is nothing for an empty last chunk, and of the file.
  [[nodiscard]] ByteSpan text_of(ChunkRange range) const noexcept {
    return {std::min(range.first * cobblestone::chunk_text_bytes, text_bytes),
            std::min(range.end * cobblestone::chunk_text_bytes, text_bytes)};
  }
  [[nodiscard]] ByteSpan file_of(ChunkRange range) const noexcept {
    return {chunk_offset(range.first), std::min(chunk_offset(range.end), file_bytes())};
  }
};

}  // namespace paes::stream
