#include "stream/sparse_sink.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "stream/wait.hpp"

namespace paes::stream {

namespace {

constexpr std::size_t page_bytes = 4096;

// Removes what lies in a part of a file, so that it reads as zero; false where that cannot be done.
bool makes_hole(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return bytes != 0 && fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

// Consecutive parts of the output, gathered until a hole.
class Run {
 public:
  Run(Sink& sink, std::uint64_t offset) : sink_(sink), offset_(offset) {}

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
      sink_.write_at(offset_, parts_);
    }
    offset_ += bytes_;
    bytes_ = 0;
    parts_.clear();
  }

  [[nodiscard]] std::uint64_t end() const noexcept { return offset_ + bytes_; }

 private:
  Sink& sink_;
  std::uint64_t offset_;
  std::size_t bytes_ = 0;
  std::vector<iovec> parts_;
};

}  // namespace

bool is_zero(const std::uint8_t* from, std::size_t bytes) noexcept {
  return bytes == 0 || (from[0] == 0 && std::memcmp(from, from + 1, bytes - 1) == 0);
}

void SparseSink::write_at(std::uint64_t offset, std::span<const iovec> from) {
  const bool can_have_holes =
      sink_.is_seekable() && (!dirty_file_ || makes_hole(*dirty_file_, offset, bytes_of(from)));
  if (!can_have_holes) {
    sink_.write_at(offset, from);
    return;
  }
  Run run(sink_, offset);
  for (const iovec& part : from) {
    auto* at = static_cast<std::uint8_t*>(part.iov_base);
    std::size_t rest = part.iov_len;
    while (rest != 0) {
      // Up to the next page of the file, so that what is left out is always a page of its own.
      const std::size_t bytes = std::min<std::size_t>(rest, page_bytes - run.end() % page_bytes);
      // How long this takes tells of the text no more than the holes, which anyone can see.
      if (bytes == page_bytes && is_zero(at, bytes)) {
        run.skip(bytes);
      } else {
        run.add(at, bytes);
      }
      at += bytes;
      rest -= bytes;
    }
  }
  run.flush();
}

}  // namespace paes::stream
