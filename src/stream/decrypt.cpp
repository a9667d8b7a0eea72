// From container to text, or to the certainty that it is intact. The commitment is checked before
// any chunk. Decryption stops at a damaged chunk, and begins with the last one of seekable
// input, so that a cut file fails at once; verification finds all of them.
#include <algorithm>
#include <string>

#include "paes/error.hpp"
#include "stream/chunks.hpp"
#include "stream/flow.hpp"
#include "stream/grain.hpp"
#include "stream/part.hpp"
#include "stream/pipeline.hpp"
#include "stream/text_writer.hpp"

namespace paes::stream {

using cobblestone::chunk_bytes;
using cobblestone::chunk_text_bytes;
using cobblestone::tag_bytes;

namespace {

// One payload being read: where it lies, its cipher, and how far its authenticity is known.
class Payload {
 public:
  Payload(Input& input, const Preamble& preamble, Bytes input_key, const Options& options)
      : input_(input), batch_chunks_(chunks_of_grain(options)) {
    if (input.is_seekable()) {
      extent_ = extent_of(input, preamble.header);
    } else {
      extent_.payload_offset = preamble.header.payload_offset();
    }
    const PayloadPrefix prefix = read_prefix(input, preamble.header);
    cipher_.emplace(preamble.header.suite, input_key, salt_of(prefix), options.kernel,
                    options.engine_use);
    check_commitment(input.name(), *cipher_, prefix);
  }

  [[nodiscard]] bool is_seekable() const noexcept { return input_.is_seekable(); }
  [[nodiscard]] const Extent& extent() const noexcept { return extent_; }
  [[nodiscard]] std::size_t batch_chunks() const noexcept { return batch_chunks_; }
  [[nodiscard]] const ChunkCipher& cipher() const noexcept { return *cipher_; }

  // Makes `flow` read a pipe to its end. Where that is no payload's end, what is left of a chunk is
  // not read, and `on_cut` says what happens.
  void read_to_end(Flow& flow, std::function<void()> on_cut) {
    flow.ordered_read = true;
    flow.read = [this, on_cut = std::move(on_cut), ended = false](std::uint64_t index,
                                                                  Batch& batch) mutable {
      if (ended) {
        return false;
      }
      batch.bytes = input_.read(batch.cipher(batch_chunks_ * chunk_bytes));
      ended = batch.bytes < batch_chunks_ * chunk_bytes;
      batch.first_chunk = index * batch_chunks_;
      batch.chunks = (batch.bytes + chunk_bytes - 1) / chunk_bytes;
      const std::size_t last = batch.bytes % chunk_bytes;
      // The stream ends with a short chunk, and a chunk has at least a tag.
      if (batch.first_chunk + batch.chunks > cobblestone::max_chunks) {
        throw_truncated(input_.name());
      }
      if (ended && last < tag_bytes) {
        on_cut();
        batch.bytes -= last;
        batch.chunks = batch.bytes / chunk_bytes;
      }
      return true;
    };
  }

 private:
  Input& input_;
  std::size_t batch_chunks_;
  Extent extent_;  // of a pipe the offset alone
  std::optional<ChunkCipher> cipher_;
};

// The bytes of the text [first, end) that are wanted; `end` may lie beyond it on a pipe.
struct Wanted {
  std::uint64_t first = 0;
  std::uint64_t end = UINT64_MAX;
};

void check_not_beyond(const ByteRange& range, std::uint64_t text_bytes) {
  // All of an empty text is empty: the one range that needs no byte to begin at.
  const bool is_everything = range.first == 0 && !range.last;
  if (range.first < text_bytes || is_everything) {
    return;
  }
  throw Error(ErrorCode::usage, "range: begins at " + std::to_string(range.first) +
                                    ", but the text has only " + std::to_string(text_bytes) +
                                    " bytes");
}

Wanted resolve(const std::optional<ByteRange>& range) {
  if (!range) {
    return {};
  }
  const bool to_end = !range->last || *range->last == UINT64_MAX;
  return {range->first, to_end ? UINT64_MAX : *range->last + 1};
}

}  // namespace

Totals decrypt(Input& input, Output& output, const Preamble& preamble, Bytes input_key,
               const std::optional<ByteRange>& range, const Options& options) {
  input.expect_sequential();
  output.expect_sequential();
  Payload payload(input, preamble, input_key, options);
  Wanted wanted = resolve(range);
  Flow flow;
  flow.engine = options.engine_use.engine;
  if (payload.is_seekable()) {
    check_last_chunk(input.name(), payload.cipher(), payload.extent(), input.reader());
    wanted.end = std::min(wanted.end, payload.extent().text_bytes);
    if (range) {
      check_not_beyond(*range, payload.extent().text_bytes);
    }
    output.expect({wanted.end - wanted.first, Filling::sparse});
    read_chunks(
        flow, payload.extent(),
        {wanted.first / chunk_text_bytes, (wanted.end + chunk_text_bytes - 1) / chunk_text_bytes},
        payload.batch_chunks(), input.reader());
  } else {
    payload.read_to_end(flow, [&] { throw_truncated(input.name()); });
  }
  TextWriter writer(output, wanted.first, wanted.end);
  std::atomic<std::uint64_t> text_bytes{0};
  flow.ordered_write = !output.is_seekable();
  flow.transform = [&](Batch& batch) {
    check_authentic(input.name(), payload.extent().payload_offset, payload.cipher().open(batch));
    text_bytes.fetch_add(batch.bytes, std::memory_order_relaxed);
    add_progress(options, batch.bytes);
  };
  flow.write = [&](Batch& batch) { writer.write(batch); };
  flow.stop_waiting = [&] {
    input.stop_waiting();
    output.stop_waiting();
  };
  try {
    run(flow, options.executor, payload.batch_chunks(), options.cancel);
    input.check_same_size();
    if (range && !payload.is_seekable()) {
      check_not_beyond(*range, text_bytes.load());
    }
  } catch (const Error& error) {
    output.rethrow_with_written(error);
  }
  output.commit(writer.written_bytes());
  return {writer.written_bytes()};
}

Verification verify(Input& input, const Preamble& preamble, Bytes input_key,
                    const Options& options) {
  input.expect_sequential();
  Payload payload(input, preamble, input_key, options);
  Verification found{payload.extent(), {}};
  std::atomic<std::uint64_t> text_bytes{0};
  DamageLog log;
  Flow flow;
  flow.engine = options.engine_use.engine;
  if (payload.is_seekable()) {
    read_chunks(flow, payload.extent(), payload.extent().whole(), payload.batch_chunks(),
                input.reader());
  } else {
    payload.read_to_end(flow, [&] { found.is_cut = true; });
  }
  flow.transform = [&](Batch& batch) {
    for (const ChunkRange& damaged : payload.cipher().verify(batch)) {
      log.add(damaged);
    }
    text_bytes.fetch_add(batch.bytes, std::memory_order_relaxed);
    add_progress(options, batch.bytes);
  };
  flow.stop_waiting = [&] { input.stop_waiting(); };
  run(flow, options.executor, payload.batch_chunks(), options.cancel);
  input.check_same_size();
  found.extent.text_bytes = text_bytes.load();
  found.damage = log.found();
  return found;
}

}  // namespace paes::stream
