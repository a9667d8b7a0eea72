// SPDX-License-Identifier: Apache-2.0
// The consecutive blocks that one request writes, sealed as they will lie in the file.
#pragma once

#include <bitset>
#include <cstdint>

#include "vault/content_key.hpp"

namespace paes::volume {

class SealingAhead;

// What one request touches at most: a mebibyte of text. Longer ones are written in parts.
inline constexpr std::size_t max_run_blocks = 256;

// The text of a request, from `offset` of the file on; it is not empty.
struct RequestText {
  std::uint64_t offset;
  Bytes bytes;

  [[nodiscard]] std::uint64_t end() const noexcept { return offset + bytes.size(); }
  [[nodiscard]] std::uint64_t first_block() const noexcept { return offset / vault::block_bytes; }
  [[nodiscard]] std::uint64_t last_block() const noexcept {
    return (end() - 1) / vault::block_bytes;
  }
  [[nodiscard]] std::size_t blocks() const noexcept {
    return static_cast<std::size_t>(last_block() - first_block()) + 1;
  }
};

class SealedRun {
 public:
  // `room` is the run_room() of a slot, which holds one run at a time. `ahead` may be null.
  // Otherwise it seals for the same key what it can.
  SealedRun(const vault::ContentKey& key, const SealingAhead* ahead, MutableBytes room,
            const RequestText& text);

  // Seals the blocks of which the request has the whole text, in one pass.
  void seal_whole(const vault::FileId& id);
  // Seals the block at this place in the run with this text.
  void seal(std::size_t place, const vault::FileId& id, Bytes text);

  [[nodiscard]] const RequestText& text() const noexcept { return text_; }
  // The part of the request's text that block `place` gets, and where in the block that begins.
  [[nodiscard]] Bytes part(std::size_t place, std::size_t& begin) const noexcept;
  [[nodiscard]] bool is_whole(std::size_t place) const noexcept;

  // Once all blocks are sealed. With the header in front if the run begins with block 0.
  [[nodiscard]] Bytes sealed() const noexcept;
  [[nodiscard]] Bytes sealed_with_header(const vault::FileId& id) noexcept;

 private:
  [[nodiscard]] MutableBytes room(std::size_t place) noexcept;
  void seal_under_random_iv(std::size_t place, const vault::BlockPlace& block, Bytes text,
                            MutableBytes sealed);

  const vault::ContentKey& key_;
  const SealingAhead* ahead_;
  vault::BlockLayout layout_;
  RequestText text_;
  std::uint8_t* buffer_;  // header, blocks, IVs
  std::uint8_t* ivs_;
  // Blocks whose prepared IV was used, or never made: sealing makes a new one.
  std::bitset<max_run_blocks> lacks_iv_;
  std::size_t last_sealed_bytes_ = 0;
};

// IVs of `iv_bytes` each, none of which is all zero.
void random_ivs(MutableBytes ivs, std::size_t iv_bytes);

}  // namespace paes::volume
