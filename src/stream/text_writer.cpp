#include "stream/text_writer.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace paes::stream {

namespace {

constexpr std::size_t page_bytes = 4096;

// Depends on the text in its time, as the holes it leads to show to anyone who sees the file.
bool is_zero(const std::uint8_t* from, std::size_t bytes) noexcept {
  return from[0] == 0 && std::memcmp(from, from + 1, bytes - 1) == 0;
}

// Consecutive parts of the output, gathered until a hole.
class Run {
 public:
  Run(const WriteAt& write_at, std::uint64_t offset) : write_at_(write_at), offset_(offset) {}

  void add(std::uint8_t* from, std::size_t bytes) {
    if (!parts_.empty() &&
        static_cast<std::uint8_t*>(parts_.back().iov_base) + parts_.back().iov_len == from) {
      parts_.back().iov_len += bytes;
    } else {
      parts_.push_back({from, bytes});
    }
    bytes_ += bytes;
  }

  void skip(std::size_t bytes) {
    flush();
    offset_ += bytes;
  }

  void flush() {
    if (!parts_.empty()) {
      write_at_(offset_, parts_);
    }
    offset_ += bytes_;
    bytes_ = 0;
    parts_.clear();
  }

 private:
  const WriteAt& write_at_;
  std::uint64_t offset_;
  std::size_t bytes_ = 0;
  std::vector<iovec> parts_;
};

}  // namespace

TextWriter::TextWriter(Output& output, std::uint64_t first, std::uint64_t end)
    : TextWriter(output.is_seekable() ? output.writer() : WriteAt(), first, end) {
  in_order_ = &output;
}

void TextWriter::write(Batch& batch) {
  const std::uint64_t begin = batch.first_chunk * cobblestone::chunk_text_bytes;
  const std::uint64_t from = std::max(begin, first_);
  const std::uint64_t to = std::min(begin + batch.bytes, end_);
  if (from >= to) {
    return;
  }
  std::vector<iovec> parts;
  parts.reserve(batch.chunks);
  for (std::size_t i = 0; i < batch.chunks; ++i) {
    const std::uint64_t chunk_begin = begin + i * cobblestone::chunk_text_bytes;
    const std::uint64_t part_from = std::max(chunk_begin, from);
    const std::uint64_t part_to = std::min(chunk_begin + cobblestone::chunk_text_bytes, to);
    if (part_from < part_to) {
      parts.push_back({batch.chunk(i) + (part_from - chunk_begin),
                       static_cast<std::size_t>(part_to - part_from)});
    }
  }
  if (write_at_) {
    write_around_holes(from - first_, parts);
  } else {
    in_order_->write(parts);
  }
  written_.fetch_add(to - from, std::memory_order_relaxed);
}

void TextWriter::write_around_holes(std::uint64_t offset, std::span<const iovec> parts) {
  Run run(write_at_, offset);
  std::uint64_t at = offset;
  for (const iovec& part : parts) {
    auto* from = static_cast<std::uint8_t*>(part.iov_base);
    std::size_t rest = part.iov_len;
    while (rest != 0) {
      // Up to the next page of the file, so that what is left out is always a page of its own.
      const std::size_t bytes = std::min<std::size_t>(rest, page_bytes - at % page_bytes);
      if (bytes == page_bytes && is_zero(from, bytes)) {
        run.skip(bytes);
      } else {
        run.add(from, bytes);
      }
      from += bytes;
      rest -= bytes;
      at += bytes;
    }
  }
  run.flush();
}

}  // namespace paes::stream
