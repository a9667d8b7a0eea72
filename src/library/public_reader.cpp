// SPDX-License-Identifier: Apache-2.0
// The public header's Reader: each read is a transfer of the chunks that it touches, from the file
// into the caller's memory.
#include <algorithm>

#include "core/secret.hpp"
#include "library/file_work.hpp"

namespace paes {

struct PAES_HIDDEN Reader::State {
  State(const FileSource& from, const OpenWith& open_with, const FileOptions& options)
      : source(from),
        work(options),
        file(checked(FileParts::of(source)), open_with, work.for_items(1, 1)),
        layout(stream::opening_layout(extent().payload_offset, extent().text_bytes,
                                      work.for_items(1, 1), extent().chunking)),
        buffers(layout, file.payload().cipher->device()) {
    if (!input().is_seekable()) {
      throw Error(ErrorCode::usage, input().name() + ": is armored, which has no places",
                  "decrypt it, or remove the armor");
    }
    stream::check_last_chunk(input(), *file.payload().cipher, extent());
  }

  static stream::Source& checked(stream::Source& from) {
    if (!from.is_seekable()) {
      throw Error(ErrorCode::usage, from.name() + ": is empty or a pipe, which has no places");
    }
    return from;
  }

  [[nodiscard]] stream::Source& input() const { return file.source(); }
  [[nodiscard]] const stream::Extent& extent() const { return file.payload().extent; }

  // These bytes are in the text.
  void read(std::uint64_t offset, MutableBytes to) {
    const stream::WantedText wanted{offset, to};
    const Range chunks = extent().chunks_with({offset, offset + to.size()});
    stream::Work how = work.for_items(chunks.count(), layout.items_a_buffer);
    how.buffers = &buffers;
    (void)stream::transfer(input(), nullptr, layout,
                           stream::opening_into(wanted, *file.payload().cipher, input().name(),
                                                extent().payload_offset),
                           chunks, how);
  }

  FileSource source;
  stream::WorkMaker work;
  stream::OpenedFile file;
  stream::Layout layout;
  stream::BufferPool buffers;
};

Reader::Reader(const FileSource& from, const OpenWith& open_with, const FileOptions& options)
    : state_(std::make_unique<State>(from, open_with, options)) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

std::uint64_t Reader::size() const noexcept { return state_->extent().text_bytes; }

std::size_t Reader::read_at(std::uint64_t offset, MutableBytes to) const {
  const std::uint64_t left = size() - std::min(size(), offset);
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, to.size()));
  if (bytes == 0) {
    return 0;
  }
  try {
    state_->read(offset, to.first(bytes));
  } catch (...) {
    wipe(to);
    throw;
  }
  return bytes;
}

}  // namespace paes
