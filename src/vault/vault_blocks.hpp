// SPDX-License-Identifier: Apache-2.0
// The content of a file: a header with the file's id, then blocks. Each block is an IV, up to 4096
// bytes of ciphertext and a tag, authenticated together with its number and the file's id.
#pragma once

#include <array>
#include <cstdint>

#include "core/bytes.hpp"

namespace paes::vault {

inline constexpr std::size_t block_bytes = 4096;  // of text
inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t max_iv_bytes = 24;
inline constexpr std::size_t header_bytes = 18;  // 00 02, then the id
inline constexpr std::size_t max_sealed_block_bytes = block_bytes + max_iv_bytes + tag_bytes;

using FileId = std::array<std::uint8_t, 16>;

// False if the version is unknown, or if the id is all zeros.
[[nodiscard]] bool parse_header(Bytes header, FileId& id) noexcept;
void write_header(const FileId& id, MutableBytes header) noexcept;

// Where blocks lie in a file whose IVs have this length.
struct BlockLayout {
  std::size_t iv_bytes = 16;

  [[nodiscard]] constexpr std::size_t overhead() const noexcept { return iv_bytes + tag_bytes; }
  [[nodiscard]] constexpr std::size_t stride() const noexcept { return block_bytes + overhead(); }
  [[nodiscard]] constexpr std::uint64_t offset_of(std::uint64_t block) const noexcept {
    return header_bytes + block * stride();
  }
  // The length of the text in a file of `stored` bytes. A last block that is too short to hold text
  // counts as one byte, and reading it fails.
  [[nodiscard]] std::uint64_t text_length(std::uint64_t stored) const noexcept;
  // The length of the file for a text; 0 for none.
  [[nodiscard]] std::uint64_t stored_length(std::uint64_t text) const noexcept;
};

}  // namespace paes::vault
