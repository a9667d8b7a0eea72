// The public header's Reader: each read is a transfer of the chunks that it touches, from the file
// into the caller's memory.
#include <algorithm>
#include <utility>

#include "core/secret.hpp"
#include "stream/file_work.hpp"
#include "stream/memory_ends.hpp"

namespace paes {

struct PAES_HIDDEN Reader::State {
  State(FileSource from, const OpenWith& open_with, const FileOptions& options)
      : source(std::move(from)),
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

  FileSource source;
  stream::FileWork work;
  stream::OpenedPayload payload;
  stream::Layout layout;
  stream::Transform transform;
  stream::BufferPool buffers;
};

Reader::Reader(FileSource from, const OpenWith& open_with, const FileOptions& options)
    : state_(std::make_unique<State>(std::move(from), open_with, options)) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

std::uint64_t Reader::size() const noexcept { return state_->payload.extent.text_bytes; }

std::size_t Reader::read_at(std::uint64_t offset, MutableBytes to) const {
  const std::uint64_t left = size() - std::min(size(), offset);
  to = to.first(static_cast<std::size_t>(std::min<std::uint64_t>(left, to.size())));
  if (to.empty()) {
    return 0;
  }
  stream::Layout layout = state_->layout;
  layout.wanted = {offset, offset + to.size()};
  layout.out_offset = 0;
  const Range chunks = stream::Extent::chunks_with(layout.wanted);
  stream::Options options = state_->work.for_items(chunks.count(), layout.items_a_buffer);
  options.buffers = &state_->buffers;
  stream::MemorySink sink(to, state_->input().name());
  try {
    (void)stream::transfer(state_->input(), &sink, layout, state_->transform, chunks, options);
  } catch (...) {
    wipe(to);
    throw;
  }
  return to.size();
}

}  // namespace paes
