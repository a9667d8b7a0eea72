// Decrypted text on its way out: the wanted range of it, at its place, with pages of zero bytes
// left out where the output can have holes. Handed only authenticated batches.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "stream/batch.hpp"
#include "stream/files.hpp"

namespace paes::stream {

class TextWriter {
 public:
  // Wanted are the text's bytes [first, end), of which the first goes to offset 0.
  TextWriter(WriteAt write_at, std::uint64_t first, std::uint64_t end)
      : write_at_(std::move(write_at)), first_(first), end_(end) {}
  // `output` must outlive the writer.
  TextWriter(Output& output, std::uint64_t first, std::uint64_t end);

  // The text of an opened batch. Any thread and order, but in order where the output is not
  // seekable.
  void write(Batch& batch);

  // Bytes of text that have gone out so far, holes included.
  [[nodiscard]] std::uint64_t written_bytes() const noexcept { return written_.load(); }

 private:
  void write_around_holes(std::uint64_t offset, std::span<const iovec> parts);

  WriteAt write_at_;  // empty: to in_order_
  Output* in_order_ = nullptr;
  std::uint64_t first_;
  std::uint64_t end_;
  std::atomic<std::uint64_t> written_{0};
};

}  // namespace paes::stream
