// SPDX-License-Identifier: Apache-2.0
#include "stream/container/text_ends.hpp"

#include <algorithm>

#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"
#include "stream/container/preamble.hpp"

namespace paes::stream {

namespace {

constexpr std::size_t step_bytes = std::size_t{256} << 10;

}  // namespace

template <typename Reader>
void DecodedSource<Reader>::decode_more() const {
  decoded_.clear();
  taken_ = 0;
  std::vector<std::uint8_t> text(step_bytes);
  const std::size_t got = read_head(text_, text, next_);
  next_ += got;
  try {
    reader_.add(Bytes(text).first(got), decoded_);
    if (got < text.size()) {
      has_ended_ = true;
      reader_.end(decoded_);
    }
  } catch (const Error& error) {
    throw Error(error.code, name() + ": " + error.what(), error.hint);
  }
}

template <typename Reader>
std::size_t DecodedSource<Reader>::read_at(std::uint64_t /*offset*/,
                                           std::span<const iovec> to) const {
  std::size_t filled = 0;
  for (const iovec& one : to) {
    MutableBytes left(static_cast<std::uint8_t*>(one.iov_base), one.iov_len);
    while (!left.empty()) {
      while (taken_ == decoded_.size() && !has_ended_) {
        decode_more();
      }
      const std::size_t bytes = std::min(left.size(), decoded_.size() - taken_);
      if (bytes == 0) {
        return filled;
      }
      std::copy_n(decoded_.data() + taken_, bytes, left.data());
      taken_ += bytes;
      filled += bytes;
      left = left.subspan(bytes);
    }
  }
  return filled;
}

template class DecodedSource<age::ArmorReader>;
template class DecodedSource<Base64Reader>;

void ArmoredSink::write_at(std::uint64_t /*offset*/, std::span<const iovec> from) {
  std::string text;
  for (const iovec& one : from) {
    writer_.add({static_cast<const std::uint8_t*>(one.iov_base), one.iov_len}, text);
  }
  put(text);
}

std::uint64_t ArmoredSink::finish() {
  std::string text;
  writer_.end(text);
  put(text);
  return written_;
}

void ArmoredSink::put(const std::string& text) {
  text_.write_at(written_, libcrypto::bytes_of(text));
  written_ += text.size();
}

}  // namespace paes::stream
