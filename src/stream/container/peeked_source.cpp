// SPDX-License-Identifier: Apache-2.0
#include "stream/container/peeked_source.hpp"

#include <algorithm>

#include "stream/container/preamble.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

Bytes PeekedSource::peek(std::size_t bytes) {
  // A larger file's head is read alone: a source may be far away, where each byte counts.
  constexpr std::uint64_t small_file_bytes = std::uint64_t{16} << 10;
  constexpr std::size_t page_bytes = 4096;
  const std::size_t had = first_.size();
  if (bytes > had && !has_ended_) {
    std::size_t wanted = bytes;
    if (source_.is_seekable()) {
      const std::uint64_t all = source_.bytes();
      wanted =
          std::max(bytes, all <= small_file_bytes ? static_cast<std::size_t>(all) : page_bytes);
    }
    first_.resize(wanted);
    const std::size_t got = read_head(source_, MutableBytes(first_).subspan(had), had);
    first_.resize(had + got);
    has_ended_ = first_.size() < wanted;
  }
  return Bytes(first_).first(std::min(bytes, first_.size()));
}

std::size_t PeekedSource::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  if (source_.is_seekable()) {
    const std::size_t wanted = bytes_of(to);
    if (offset >= first_.size() || wanted > first_.size() - offset) {
      return source_.read_at(offset, to);
    }
    const std::uint8_t* next = first_.data() + offset;
    for (const iovec& one : to) {
      std::copy_n(next, one.iov_len, static_cast<std::uint8_t*>(one.iov_base));
      next += one.iov_len;
    }
    return wanted;
  }
  if (given_ == first_.size()) {
    return source_.read_at(offset, to);
  }
  std::size_t filled = 0;
  for (const iovec& one : to) {
    auto* const to_bytes = static_cast<std::uint8_t*>(one.iov_base);
    const std::size_t again = std::min(one.iov_len, first_.size() - given_);
    std::copy_n(first_.data() + given_, again, to_bytes);
    given_ += again;
    filled += again;
    if (again < one.iov_len) {
      const std::size_t wanted = one.iov_len - again;
      const std::size_t got =
          has_ended_ ? 0 : source_.read_at(offset + filled, {to_bytes + again, wanted});
      filled += got;
      if (got < wanted) {
        return filled;
      }
    }
  }
  return filled;
}

}  // namespace paes::stream
