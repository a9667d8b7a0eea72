// SPDX-License-Identifier: Apache-2.0
// How a payload cuts its text into chunks: arithmetic alone, the same for every payload format.
// Each chunk is sealed separately and grows by a tag. A prefix precedes the first chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace paes {

// How the last item of a text is marked.
enum class LastItem : unsigned {
  may_be_whole,  // it may be as long as the others; only an empty text has an empty item
  is_short,      // always shorter than the others, even if it has no text
};

struct Chunking {
  std::size_t prefix_bytes;  // salt and commitment, or a nonce
  std::size_t text_bytes;    // of a whole chunk
  std::size_t tag_bytes;
  LastItem last;
  std::uint64_t max_chunks;

  [[nodiscard]] constexpr std::size_t chunk_bytes() const noexcept {
    return text_bytes + tag_bytes;
  }
  // Counted from the payload's first byte.
  [[nodiscard]] constexpr std::uint64_t chunk_offset(std::uint64_t chunk) const noexcept {
    return prefix_bytes + chunk * chunk_bytes();
  }
  // At least one, because an empty text has an empty chunk.
  [[nodiscard]] constexpr std::uint64_t chunks_of(std::uint64_t text) const noexcept {
    return last == LastItem::is_short || text == 0 ? text / text_bytes + 1
                                                   : (text - 1) / text_bytes + 1;
  }
  [[nodiscard]] constexpr std::uint64_t payload_bytes(std::uint64_t text) const noexcept {
    return prefix_bytes + text + chunks_of(text) * tag_bytes;
  }
  // The length of the text in a payload of this length; empty if no payload has that length.
  [[nodiscard]] constexpr std::optional<std::uint64_t> text_of(
      std::uint64_t payload) const noexcept {
    if (payload < prefix_bytes + tag_bytes) {
      return std::nullopt;
    }
    const std::uint64_t sealed = payload - prefix_bytes;
    const std::uint64_t chunks = (sealed - 1) / chunk_bytes() + 1;
    // A payload has a valid length if its text, sealed, has that length again.
    if (sealed < chunks * tag_bytes || chunks > max_chunks ||
        payload_bytes(sealed - chunks * tag_bytes) != payload) {
      return std::nullopt;
    }
    return sealed - chunks * tag_bytes;
  }
};

}  // namespace paes
