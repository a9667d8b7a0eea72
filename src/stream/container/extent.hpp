// SPDX-License-Identifier: Apache-2.0
// Where the chunks of a payload lie in a file: arithmetic alone, from the payload's offset, the
// text's length and the format's chunking.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/range.hpp"
#include "format/cobblestone.hpp"

namespace paes::stream {

// A stripe is what ranks own and journals record: in a container 4 MiB of text, 1025 pages of
// ciphertext, and in an age file 16 MiB.
inline constexpr std::uint64_t stripe_chunks = 256;

// Where a payload lies in its file, and how long its text is.
struct Extent {
  std::uint64_t payload_offset = 0;
  std::uint64_t text_bytes = 0;
  Chunking chunking = cobblestone::chunking;

  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunking.chunks_of(text_bytes); }
  [[nodiscard]] std::uint64_t stripes() const noexcept {
    return (chunks() + stripe_chunks - 1) / stripe_chunks;
  }
  // The chunks of these stripes; the last stripe is usually shorter.
  [[nodiscard]] Range chunks_of(Range stripes) const noexcept {
    return {std::min(stripes.first * stripe_chunks, chunks()),
            std::min(stripes.end * stripe_chunks, chunks())};
  }
  // The chunks that contain these bytes of the text.
  [[nodiscard]] Range chunks_with(Range text) const noexcept {
    const std::uint64_t bytes = chunking.text_bytes;
    return {text.first / bytes, (text.end + bytes - 1) / bytes};
  }
  // Counted from the file's beginning.
  [[nodiscard]] std::uint64_t chunk_offset(std::uint64_t chunk) const noexcept {
    return payload_offset + chunking.chunk_offset(chunk);
  }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept {
    return payload_offset + chunking.payload_bytes(text_bytes);
  }
  // Where these chunks lie in the text (empty for an empty last chunk), and where in the file.
  [[nodiscard]] Range text_of(Range chunks) const noexcept {
    return {std::min(chunks.first * chunking.text_bytes, text_bytes),
            std::min(chunks.end * chunking.text_bytes, text_bytes)};
  }
  [[nodiscard]] Range file_of(Range chunks) const noexcept {
    return {chunk_offset(chunks.first), std::min(chunk_offset(chunks.end), file_bytes())};
  }
};

}  // namespace paes::stream
