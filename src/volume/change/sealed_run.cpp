// SPDX-License-Identifier: Apache-2.0
#include "volume/change/sealed_run.hpp"

#include <algorithm>
#include <cassert>

#include "core/secret.hpp"
#include "volume/change/sealing_ahead.hpp"

namespace paes::volume {

namespace {

using vault::block_bytes;
using vault::header_bytes;

}  // namespace

void random_ivs(MutableBytes ivs, std::size_t iv_bytes) {
  random_bytes(ivs);
  for (std::size_t at = 0; at < ivs.size(); at += iv_bytes) {
    const MutableBytes iv = ivs.subspan(at, iv_bytes);
    while (std::all_of(iv.begin(), iv.end(), [](std::uint8_t byte) { return byte == 0; })) {
      random_bytes(iv);
    }
  }
}

SealedRun::SealedRun(const vault::ContentKey& key, const SealingAhead* ahead, MutableBytes room,
                     const RequestText& text)
    : key_(key), ahead_(ahead), layout_(key.layout()), text_(text), buffer_(room.data()) {
  assert(!text.bytes.empty() && text.blocks() <= max_run_blocks);
  const std::size_t sealed_bytes = header_bytes + text.blocks() * layout_.stride();
  assert(room.size() >= sealed_bytes + text.blocks() * layout_.iv_bytes);
  ivs_ = buffer_ + sealed_bytes;
  if (ahead_ == nullptr) {
    random_ivs({ivs_, text.blocks() * layout_.iv_bytes}, layout_.iv_bytes);
  } else {
    lacks_iv_.set();  // seldom is one wanted
  }
}

Bytes SealedRun::part(std::size_t place, std::size_t& begin) const noexcept {
  const std::uint64_t block = (text_.first_block() + place) * block_bytes;
  const std::uint64_t first = std::max(text_.offset, block);
  const std::uint64_t end = std::min(text_.end(), block + block_bytes);
  begin = static_cast<std::size_t>(first - block);
  return text_.bytes.subspan(static_cast<std::size_t>(first - text_.offset),
                             static_cast<std::size_t>(end - first));
}

bool SealedRun::is_whole(std::size_t place) const noexcept {
  std::size_t begin = 0;
  return part(place, begin).size() == block_bytes;
}

MutableBytes SealedRun::room(std::size_t place) noexcept {
  return {buffer_ + header_bytes + place * layout_.stride(), layout_.stride()};
}

void SealedRun::seal_whole(const vault::FileId& id) {
  for (std::size_t place = 0; place < text_.blocks(); ++place) {
    std::size_t begin = 0;
    const Bytes whole = part(place, begin);
    if (whole.size() == block_bytes) {
      seal(place, id, whole);
    }
  }
}

void SealedRun::seal(std::size_t place, const vault::FileId& id, Bytes text) {
  const std::size_t bytes = text.size() + layout_.overhead();
  const MutableBytes sealed = room(place).first(bytes);
  const vault::BlockPlace block = {text_.first_block() + place, &id};
  if (ahead_ == nullptr || !ahead_->seal(block, text, sealed)) {
    seal_under_random_iv(place, block, text, sealed);
  }
  if (place + 1 == text_.blocks()) {
    last_sealed_bytes_ = bytes;
  }
}

void SealedRun::seal_under_random_iv(std::size_t place, const vault::BlockPlace& block, Bytes text,
                                     MutableBytes sealed) {
  const MutableBytes iv(ivs_ + place * layout_.iv_bytes, layout_.iv_bytes);
  if (lacks_iv_[place]) {
    random_ivs(iv, layout_.iv_bytes);
  }
  lacks_iv_.set(place);
  key_.seal(block, iv, text, sealed);
}

Bytes SealedRun::sealed() const noexcept {
  return {buffer_ + header_bytes, (text_.blocks() - 1) * layout_.stride() + last_sealed_bytes_};
}

Bytes SealedRun::sealed_with_header(const vault::FileId& id) noexcept {
  assert(text_.first_block() == 0);
  vault::write_header(id, {buffer_, header_bytes});
  return {buffer_, header_bytes + sealed().size()};
}

}  // namespace paes::volume
