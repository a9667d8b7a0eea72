// SPDX-License-Identifier: Apache-2.0
#include "stream/transfer/memory_ends.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/secret.hpp"
#include "paes/error.hpp"
#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

constexpr std::size_t head_bytes = 8192;  // a file's head with a few recipients

void scatter(Bytes from, std::span<const iovec> to) noexcept {
  for (const iovec& one : to) {
    // An empty range may have a null pointer, which memcpy does not take.
    std::copy_n(from.data(), one.iov_len, static_cast<std::uint8_t*>(one.iov_base));
    from = from.subspan(one.iov_len);
  }
}

void gather(std::span<const iovec> from, std::uint8_t* to) noexcept {
  for (const iovec& one : from) {
    to = std::copy_n(static_cast<const std::uint8_t*>(one.iov_base), one.iov_len, to);
  }
}

}  // namespace

std::size_t MemorySource::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  const std::size_t bytes = bytes_of(to);
  assert(offset >= first_offset_ && offset - first_offset_ + bytes <= from_.size());
  scatter(from_.subspan(static_cast<std::size_t>(offset - first_offset_), bytes), to);
  return bytes;
}

CallbackSource::CallbackSource(ReadAt read_at, std::uint64_t bytes, std::string name)
    : read_at_(std::move(read_at)), bytes_(bytes), name_(std::move(name)) {
  if (read_at_ == nullptr) {
    throw Error(ErrorCode::usage, name_ + ": there is no function to read it with");
  }
  std::vector<std::uint8_t> head(
      static_cast<std::size_t>(std::min<std::uint64_t>(head_bytes, bytes)));
  read_all(0, head);
  head_ = std::move(head);
}

CallbackSource::~CallbackSource() { wipe(head_); }

std::size_t CallbackSource::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  const std::size_t bytes = bytes_of(to);
  if (offset > bytes_ || bytes > bytes_ - offset) {
    throw Error(ErrorCode::failure, name_ + ": is shorter than it was said to be");
  }
  if (offset + bytes <= head_.size()) {
    scatter(Bytes(head_).subspan(static_cast<std::size_t>(offset), bytes), to);
  } else if (to.size() == 1) {
    read_all(offset, {static_cast<std::uint8_t*>(to[0].iov_base), bytes});
  } else {
    std::vector<std::uint8_t> all(bytes);
    const WipeOnExit wiped(all);
    read_all(offset, all);
    scatter(all, to);
  }
  return bytes;
}

void CallbackSource::read_all(std::uint64_t offset, MutableBytes to) const {
  while (!to.empty()) {
    const std::size_t got = read_at_(offset, to);
    if (got == 0) {
      throw Error(ErrorCode::failure,
                  name_ + ": ended early, or is shorter than it was said to be");
    }
    if (got > to.size()) {
      throw Error(ErrorCode::failure,
                  name_ + ": the callback says that it read more than it could");
    }
    offset += got;
    to = to.subspan(got);
  }
}

void CallbackSink::write_at(std::uint64_t /*offset*/, std::span<const iovec> from) {
  if (from.size() == 1) {
    write_({static_cast<const std::uint8_t*>(from[0].iov_base), from[0].iov_len});
    return;
  }
  std::vector<std::uint8_t> all(bytes_of(from));
  gather(from, all.data());
  if (!all.empty()) {
    write_(all);
  }
}

}  // namespace paes::stream
