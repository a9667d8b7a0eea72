// The public header's Reader: each read is a transfer of the chunks that it touches, from the file
// into the caller's memory.
#include <algorithm>

#include "core/secret.hpp"
#include "stream/file_work.hpp"
#include "stream/memory_ends.hpp"

namespace paes {

struct PAES_HIDDEN Reader::State {
  State(const FileSource& from, const OpenWith& open_with, const FileOptions& options)
      : source(from),
        work(options),
        payload(open(input(), open_with, work.for_items(1, 1))),
        layout(stream::opening_layout(payload.extent.payload_offset, payload.extent.text_bytes,
                                      work.for_items(1, 1))),
        transform(stream::opening(payload.cipher, input().name(), payload.extent.payload_offset)),
        buffers(layout, transform.device) {
    stream::check_last_chunk(input(), payload.cipher, payload.extent);
  }

  static stream::OpenedPayload open(const stream::Source& from, const OpenWith& open_with,
                                    const stream::Options& options) {
    if (!from.is_seekable()) {
      throw Error(ErrorCode::usage, from.name() + ": is empty or a pipe, which has no places");
    }
    return stream::open_payload(from, open_with, options);
  }

  [[nodiscard]] stream::Source& input() const { return FileParts::of(source); }

  // These bytes are in the text.
  void read(std::uint64_t offset, MutableBytes to) {
    stream::Layout here = layout;
    here.wanted = {offset, offset + to.size()};
    const Range chunks = stream::Extent::chunks_with(here.wanted);
    stream::Options options = work.for_items(chunks.count(), here.items_a_buffer);
    options.buffers = &buffers;
    stream::MemorySink sink(to, input().name());
    (void)stream::transfer(input(), &sink, here, transform, chunks, options);
  }

  FileSource source;
  stream::FileWork work;
  stream::OpenedPayload payload;
  stream::Layout layout;
  stream::Transform transform;
  stream::BufferPool buffers;
};

Reader::Reader(const FileSource& from, const OpenWith& open_with, const FileOptions& options)
    : state_(std::make_unique<State>(from, open_with, options)) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

std::uint64_t Reader::size() const noexcept { return state_->payload.extent.text_bytes; }

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
