// From container to text, or to the certainty that it is intact. The commitment is checked before
// any chunk, and on seekable input the last chunk before any other, so that a cut file fails at
// once.
#include <algorithm>
#include <array>
#include <string>

#include "paes/error.hpp"
#include "stream/chunks.hpp"
#include "stream/flow.hpp"
#include "stream/grain.hpp"
#include "stream/pipeline.hpp"
#include "stream/text_writer.hpp"

namespace paes::stream {

using cobblestone::chunk_bytes;
using cobblestone::chunk_text_bytes;
using cobblestone::tag_bytes;

namespace {

[[noreturn]] void throw_truncated(const Input& input) {
  throw Error(ErrorCode::corrupt, input.name() + ": truncated, or bytes were added or lost",
              "get a complete copy");
}

void check_authentic(const Input& input, const std::optional<std::uint64_t>& damaged) {
  if (damaged) {
    throw Error(ErrorCode::corrupt, input.name() + ": chunk " + std::to_string(*damaged) +
                                        " is damaged, misplaced or forged");
  }
}

// One payload being read: where it lies, its cipher, and how far its authenticity is known.
class Payload {
 public:
  Payload(Input& input, const Preamble& preamble, Bytes input_key, const Options& options)
      : input_(input),
        options_(options),
        offset_(preamble.header.payload_offset()),
        batch_chunks_(chunks_of_grain(options.grain_bytes)) {
    if (input.is_seekable()) {
      const auto text = cobblestone::text_bytes(input.bytes() - std::min(input.bytes(), offset_));
      if (!text) {
        throw_truncated(input);
      }
      text_bytes_ = *text;
    }
    read_prefix(preamble.header.suite, input_key);
  }

  [[nodiscard]] bool is_seekable() const noexcept { return input_.is_seekable(); }
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return text_bytes_; }
  [[nodiscard]] std::size_t batch_chunks() const noexcept { return batch_chunks_; }
  [[nodiscard]] const ChunkCipher& cipher() const noexcept { return *cipher_; }

  // Makes `flow` read the chunks [first, end) of a seekable payload.
  void read_chunks(Flow& flow, std::uint64_t first, std::uint64_t end) {
    flow.ordered_read = false;
    flow.count = (end - first + batch_chunks_ - 1) / batch_chunks_;
    flow.read = [this, first, end](std::uint64_t index, Batch& batch) {
      const std::uint64_t from = first + index * batch_chunks_;
      read_batch(batch, from, std::min<std::uint64_t>(end, from + batch_chunks_));
      return true;
    };
  }

  // Makes `flow` read a pipe to its end.
  void read_to_end(Flow& flow) {
    flow.ordered_read = true;
    flow.read = [this, ended = false](std::uint64_t index, Batch& batch) mutable {
      if (ended) {
        return false;
      }
      batch.bytes = input_.read(batch.cipher(batch_chunks_ * chunk_bytes));
      ended = batch.bytes < batch_chunks_ * chunk_bytes;
      batch.first_chunk = index * batch_chunks_;
      batch.chunks = (batch.bytes + chunk_bytes - 1) / chunk_bytes;
      const std::size_t last = batch.bytes % chunk_bytes;
      // The stream ends with a short chunk, and a chunk has at least a tag.
      if ((ended && last < tag_bytes) ||
          batch.first_chunk + batch.chunks > cobblestone::max_chunks) {
        throw_truncated(input_);
      }
      return true;
    };
  }

  // Of a seekable payload: a file that was cut or extended fails here, before anything is written.
  void check_last_chunk() {
    const std::uint64_t chunks = cobblestone::chunk_count(text_bytes_);
    Batch batch(1);
    read_batch(batch, chunks - 1, chunks);
    if (cipher_->verify(batch)) {
      throw Error(ErrorCode::corrupt,
                  input_.name() + ": the last chunk is damaged, or the file was cut or extended");
    }
  }

 private:
  void read_prefix(container::Suite suite, Bytes input_key) {
    std::array<std::uint8_t, cobblestone::prefix_bytes> prefix;
    if (input_.is_seekable()) {
      input_.read_at(offset_, prefix);
    } else if (input_.read(prefix) != prefix.size()) {
      throw_truncated(input_);
    }
    const Bytes salt = Bytes(prefix).first(cobblestone::salt_bytes);
    cipher_.emplace(suite, input_key, salt, options_.kernel);
    if (!equal_constant_time(cipher_->commitment(),
                             Bytes(prefix).subspan(cobblestone::salt_bytes))) {
      throw Error(ErrorCode::corrupt, input_.name() +
                                          ": the key in the envelope is not the payload's, or the "
                                          "beginning of the payload is damaged");
    }
  }

  void read_batch(Batch& batch, std::uint64_t first, std::uint64_t end) const {
    const std::uint64_t whole_bytes = cobblestone::payload_bytes(text_bytes_);
    const std::uint64_t from = cobblestone::chunk_offset(first);
    const std::uint64_t to = std::min(cobblestone::chunk_offset(end), whole_bytes);
    batch.first_chunk = first;
    batch.chunks = static_cast<std::size_t>(end - first);
    batch.bytes = static_cast<std::size_t>(to - from);
    input_.read_at(offset_ + from, batch.cipher(batch.bytes));
  }

  Input& input_;
  const Options& options_;
  std::uint64_t offset_;
  std::size_t batch_chunks_;
  std::uint64_t text_bytes_ = 0;  // of a seekable payload
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

void add_progress(const Options& options, std::uint64_t bytes) {
  if (options.progress != nullptr) {
    options.progress->fetch_add(bytes, std::memory_order_relaxed);
  }
}

}  // namespace

Totals decrypt(Input& input, Output& output, const Preamble& preamble, Bytes input_key,
               const std::optional<ByteRange>& range, const Options& options) {
  input.expect_sequential();
  output.expect_sequential();
  Payload payload(input, preamble, input_key, options);
  Wanted wanted = resolve(range);
  Flow flow;
  if (payload.is_seekable()) {
    payload.check_last_chunk();
    wanted.end = std::min(wanted.end, payload.text_bytes());
    if (range) {
      check_not_beyond(*range, payload.text_bytes());
    }
    payload.read_chunks(flow, wanted.first / chunk_text_bytes,
                        (wanted.end + chunk_text_bytes - 1) / chunk_text_bytes);
  } else {
    payload.read_to_end(flow);
  }
  TextWriter writer(output, wanted.first, wanted.end);
  std::atomic<std::uint64_t> text_bytes{0};
  flow.ordered_write = !output.is_seekable();
  flow.transform = [&](Batch& batch) {
    check_authentic(input, payload.cipher().open(batch));
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
    throw output.with_written(error);
  }
  output.commit(writer.written_bytes());
  return {writer.written_bytes()};
}

Totals verify(Input& input, const Preamble& preamble, Bytes input_key, const Options& options) {
  input.expect_sequential();
  Payload payload(input, preamble, input_key, options);
  Flow flow;
  if (payload.is_seekable()) {
    payload.check_last_chunk();
    payload.read_chunks(flow, 0, cobblestone::chunk_count(payload.text_bytes()));
  } else {
    payload.read_to_end(flow);
  }
  std::atomic<std::uint64_t> text_bytes{0};
  flow.transform = [&](Batch& batch) {
    check_authentic(input, payload.cipher().verify(batch));
    text_bytes.fetch_add(batch.bytes, std::memory_order_relaxed);
    add_progress(options, batch.bytes);
  };
  flow.stop_waiting = [&] { input.stop_waiting(); };
  run(flow, options.executor, payload.batch_chunks(), options.cancel);
  input.check_same_size();
  return {text_bytes.load()};
}

}  // namespace paes::stream
