// SPDX-License-Identifier: Apache-2.0
#include "vault/vault_blocks.hpp"

#include <algorithm>
#include <cassert>

namespace paes::vault {

namespace {

constexpr std::size_t version_bytes = 2;
constexpr std::uint16_t version = 2;

}  // namespace

bool parse_header(Bytes header, FileId& id) noexcept {
  if (header.size() != header_bytes || load_be16(header.data()) != version) {
    return false;
  }
  std::copy_n(header.begin() + version_bytes, id.size(), id.begin());
  return id != FileId{};
}

void write_header(const FileId& id, MutableBytes header) noexcept {
  assert(header.size() == header_bytes && id != FileId{});
  store_be16(header.data(), version);
  std::copy_n(id.begin(), id.size(), header.begin() + version_bytes);
}

std::uint64_t BlockLayout::text_length(std::uint64_t stored) const noexcept {
  if (stored <= header_bytes) {
    return 0;
  }
  const std::uint64_t sealed = stored - header_bytes;
  const std::uint64_t last = sealed % stride();
  const std::uint64_t whole_text = sealed / stride() * block_bytes;
  if (last == 0) {
    return whole_text;
  }
  return whole_text + (last <= overhead() ? 1 : last - overhead());
}

std::uint64_t BlockLayout::stored_length(std::uint64_t text) const noexcept {
  if (text == 0) {
    return 0;
  }
  const std::uint64_t last_block = (text - 1) / block_bytes;
  return offset_of(last_block) + overhead() + (text - last_block * block_bytes);
}

}  // namespace paes::vault
