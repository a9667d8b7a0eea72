// SPDX-License-Identifier: Apache-2.0
// Decryption stops at a damaged chunk. It checks the last chunk of a seekable input first, so that
// a cut file fails at once. Verification finds all damaged chunks.
#include "stream/container/container_file.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <vector>

#include "paes/error.hpp"
#include "stream/container/text_ends.hpp"
#include "stream/transfer/sparse_sink.hpp"

namespace paes::stream {

namespace {

// The whole payload, of any length.
Layout whole_layout(const Source& source, const OpenedPayload& payload, const Work& work) {
  const Chunking& chunking = payload.cipher->chunking();
  Layout layout =
      opening_layout(payload.extent.payload_offset,
                     source.is_seekable() ? std::optional(payload.extent.text_bytes) : std::nullopt,
                     work, chunking);
  const std::string& name = source.name();
  layout.check_length = [&name, &chunking](std::uint64_t bytes, bool is_all) {
    if (bytes / chunking.chunk_bytes() + (is_all ? 1 : 0) > chunking.max_chunks) {
      throw_truncated(name);
    }
  };
  layout.on_cut = [&name] { throw_truncated(name); };
  return layout;
}

void check_not_beyond(const ByteRange& range, std::uint64_t text_bytes) {
  // The range "0-" is everything, and valid also for an empty text.
  const bool is_everything = range.first == 0 && !range.last;
  if (range.first < text_bytes || is_everything) {
    return;
  }
  throw Error(ErrorCode::usage, "range: begins at " + std::to_string(range.first) +
                                    ", but the text has only " + std::to_string(text_bytes) +
                                    " bytes");
}

// The requested bytes of the text. The range may end beyond the text.
Range resolve(const std::optional<ByteRange>& range) {
  if (!range) {
    return {0, UINT64_MAX};
  }
  const bool to_end = !range->last || *range->last == UINT64_MAX;
  return {range->first, to_end ? UINT64_MAX : *range->last + 1};
}

}  // namespace

namespace {

// Writes the head of a file together with what follows it.
class HeadedSink : public Sink {
 public:
  // Both must outlive this.
  HeadedSink(Sink& sink, Bytes head) : sink_(sink), head_(head) {}

  [[nodiscard]] const std::string& name() const noexcept override { return sink_.name(); }
  [[nodiscard]] bool is_seekable() const noexcept override { return sink_.is_seekable(); }
  using Sink::write_at;
  void write_at([[maybe_unused]] std::uint64_t offset, std::span<const iovec> from) override {
    assert(offset == head_.size());
    std::vector<iovec> all = {{const_cast<std::uint8_t*>(head_.data()), head_.size()}};
    all.insert(all.end(), from.begin(), from.end());
    sink_.write_at(0, all);
  }
  void stop_waiting() noexcept override { sink_.stop_waiting(); }

 private:
  Sink& sink_;
  Bytes head_;
};

}  // namespace

Totals encrypt_file(Source& input, Output& output, const NewPayload& payload, const Work& work,
                    Encoding encoding) {
  const Chunking& chunking = payload.cipher->chunking();
  std::optional<ArmoredSink> armored;
  if (encoding == Encoding::armored) {
    armored.emplace(output);
  }
  Layout layout = sealing_layout(payload.offset, std::nullopt, work, chunking);
  if (input.is_seekable()) {
    const Extent extent{payload.offset, input.bytes(), chunking};
    check_chunk_limit(input.name(), extent.chunks(), chunking);
    output.expect(
        {armored ? age::armored_bytes(extent.file_bytes()) : extent.file_bytes(), Filling::whole});
    layout.total_bytes = extent.text_bytes;
  }
  layout.check_length = [&](std::uint64_t bytes, bool is_all) {
    check_chunk_limit(input.name(), bytes / chunking.text_bytes + (is_all ? 1 : 0), chunking);
  };
  input.expect_sequential();
  Sink& sink = armored ? static_cast<Sink&>(*armored) : output;
  HeadedSink headed(sink, payload.head);
  // A pipe's reader gets the head before the text is there, and threads write in any order.
  const bool is_one_write =
      input.is_seekable() && layout.all_items().count() <= layout.items_a_buffer;
  MovedBytes moved;
  output.complete([&] {
    if (!is_one_write) {
      sink.write_at(0, payload.head);
    }
    moved = transfer(input, is_one_write ? &headed : &sink, layout, sealing(*payload.cipher),
                     layout.all_items(), work);
    input.check_unchanged();
    return armored ? armored->finish() : layout.out_offset + moved.written_bytes;
  });
  return {moved.text_bytes};
}

Totals decrypt_file(Source& input, Output& output, const OpenedPayload& payload,
                    const std::optional<ByteRange>& range, const Work& work) {
  input.expect_sequential();
  Layout layout = whole_layout(input, payload, work);
  layout.wanted = resolve(range);
  Range chunks;
  bool opens_only_chunk = false;
  if (input.is_seekable()) {
    const std::uint64_t text_bytes = payload.extent.text_bytes;
    // The transfer itself writes nothing before it has opened an only chunk.
    opens_only_chunk = !range && text_bytes != 0 && payload.extent.chunks() == 1;
    if (!opens_only_chunk) {
      check_last_chunk(input, *payload.cipher, payload.extent);
    }
    layout.wanted.end = std::min(layout.wanted.end, text_bytes);
    if (range) {
      check_not_beyond(*range, text_bytes);
    }
    output.expect({layout.wanted.count(), Filling::sparse});
    chunks = payload.extent.chunks_with(layout.wanted);
  }
  SparseSink sink(output);
  MovedBytes moved;
  output.complete([&] {
    moved = transfer(input, &sink, layout,
                     opens_only_chunk
                         ? opening_only_chunk(*payload.cipher, input.name(), payload.extent)
                         : opening(*payload.cipher, input.name(), payload.extent.payload_offset),
                     chunks, work);
    input.check_same_size();
    if (range && !input.is_seekable()) {
      check_not_beyond(*range, moved.text_bytes);
    }
    return moved.written_bytes;
  });
  return {moved.written_bytes};
}

Verification verify_file(Source& input, const OpenedPayload& payload, const Work& work) {
  input.expect_sequential();
  Layout layout = whole_layout(input, payload, work);
  Verification found{payload.extent, {}};
  layout.on_cut = [&] { found.is_cut = true; };
  DamageLog log;
  const MovedBytes moved =
      transfer(input, nullptr, layout, verifying(*payload.cipher, log), layout.all_items(), work);
  input.check_same_size();
  found.extent.text_bytes = moved.text_bytes;
  found.damage = log.found();
  return found;
}

}  // namespace paes::stream
