// SPDX-License-Identifier: Apache-2.0
#include "stream/container/opened_text.hpp"

#include <algorithm>
#include <cstring>

namespace paes::stream {

namespace {

// Fills places in memory, one after the other.
class Filler {
 public:
  explicit Filler(std::span<const iovec> places) : places_(places) {}

  void put(Bytes from) {
    while (!from.empty()) {
      const iovec& place = places_.front();
      const std::size_t bytes = std::min(from.size(), place.iov_len - filled_);
      std::memcpy(static_cast<std::uint8_t*>(place.iov_base) + filled_, from.data(), bytes);
      from = from.subspan(bytes);
      filled_ += bytes;
      if (filled_ == place.iov_len) {
        places_ = places_.subspan(1);
        filled_ = 0;
      }
    }
  }

 private:
  std::span<const iovec> places_;
  std::size_t filled_ = 0;  // of the first
};

}  // namespace

OpenedText::OpenedText(const Source& sealed, const OpenedPayload& payload, const Work& work)
    : sealed_(sealed),
      payload_(payload),
      layout_(opening_layout(payload.extent.payload_offset, payload.extent.text_bytes, work,
                             payload.cipher->chunking())),
      buffers_(layout_, payload.cipher->device()) {
  check_last_chunk(sealed, *payload.cipher, payload.extent);
}

std::size_t OpenedText::read_at(std::uint64_t offset, std::span<const iovec> to) const {
  std::size_t total = 0;
  for (const iovec& place : to) {
    total += place.iov_len;
  }
  const Extent& extent = payload_.extent;
  const Transform open = opening(*payload_.cipher, sealed_.name(), extent.payload_offset);
  const Range text{offset, offset + total};
  const Range chunks = extent.chunks_with(text);
  Filler filler(to);
  BufferPool::Loan loan(buffers_);
  Buffer& buffer = *loan;
  for (std::uint64_t first = chunks.first; first < chunks.end; first += buffer.items) {
    buffer.first_item = first;
    buffer.items = static_cast<std::size_t>(
        std::min<std::uint64_t>(layout_.items_a_buffer, chunks.end - first));
    const Range run{first, first + buffer.items};
    const Range sealed = extent.file_of(run);
    buffer.bytes = static_cast<std::size_t>(sealed.count());
    buffer.is_last = run.end == extent.chunks();
    sealed_.read_at(sealed.first, buffer.in({0, sealed.count()}));
    open.run(buffer);
    for (std::uint64_t chunk = run.first; chunk < run.end; ++chunk) {
      const Range its = extent.text_of({chunk, chunk + 1});
      const std::uint64_t from = std::max(its.first, text.first);
      const std::uint64_t end = std::min(its.end, text.end);
      filler.put({buffer.item(static_cast<std::size_t>(chunk - first)) + (from - its.first),
                  static_cast<std::size_t>(end - from)});
    }
  }
  return total;
}

}  // namespace paes::stream
