// SPDX-License-Identifier: Apache-2.0
#include "keystream/candidate.hpp"

#include <cstring>

namespace paes::keystream {

std::size_t Candidate::compute(const Fill& fill, const Share& share) noexcept {
  const std::size_t from = fill.entry->fresh_end;
  const std::size_t bytes = std::min(share.bytes, window_.chunk_bytes() - from);
  make_keystream(fill.chunk, fill.entry->slot, from, bytes);
  window_.publish(fill, bytes);
  return bytes;
}

void Candidate::deliver(const Fill& fill, Bytes keystream) noexcept {
  // The slot's bytes stay: the client may have wiped their beginning, which must not come back.
  const Bytes rest = keystream.subspan(fill.entry->fresh_end);
  std::memcpy(fill.entry->slot + fill.entry->fresh_end, rest.data(), rest.size());
  window_.publish(fill, rest.size());
}

std::size_t Candidate::fill_again(const Share& share) noexcept {
  const Fill fill = window_.next_fill(share);
  if (fill.entry == nullptr) {
    return 0;
  }
  if (fill.entry->slot == nullptr) {
    window_.give_up(fill);
    return 0;
  }
  return compute(fill, share);
}

}  // namespace paes::keystream
