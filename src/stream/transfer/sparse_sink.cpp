// SPDX-License-Identifier: Apache-2.0
#include "stream/transfer/sparse_sink.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "stream/transfer/wait.hpp"

namespace paes::stream {

namespace {

constexpr std::size_t page_bytes = 4096;

// Removes a part of a file, so that it reads as zero. False if that is not possible.
bool makes_hole(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return bytes != 0 && fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

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
  // What is written in one call, up to the next hole.
  std::vector<iovec> run;
  std::size_t run_bytes = 0;
  const auto end_run = [&](std::size_t hole_bytes) {
    if (!run.empty()) {
      sink_.write_at(offset, run);
    }
    offset += run_bytes + hole_bytes;
    run_bytes = 0;
    run.clear();
  };
  for (const iovec& part : from) {
    auto* at = static_cast<std::uint8_t*>(part.iov_base);
    std::uint8_t* const end = at + part.iov_len;
    while (at != end) {
      // Up to the file's next page, so that what is left out is always a whole page.
      const std::size_t bytes = std::min(static_cast<std::size_t>(end - at),
                                         page_bytes - (offset + run_bytes) % page_bytes);
      // How long this takes reveals no more of the text than the holes, which anyone can see.
      if (bytes == page_bytes && is_zero(at, bytes)) {
        end_run(bytes);
      } else {
        if (run.empty() ||
            static_cast<std::uint8_t*>(run.back().iov_base) + run.back().iov_len != at) {
          run.push_back({at, 0});
        }
        run.back().iov_len += bytes;
        run_bytes += bytes;
      }
      at += bytes;
    }
  }
  end_run(0);
}

}  // namespace paes::stream
