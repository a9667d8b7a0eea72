// GCM as one message from file to file. Encryption writes the tag last. Decryption reads twice:
// once for the tag, before anything is written, and once for the text, whose ciphertext is hashed
// again.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "message/gcm_message.hpp"
#include "mode/gcm.hpp"
#include "paes/error.hpp"
#include "stream/grain.hpp"
#include "stream/pieces.hpp"
#include "stream/raw.hpp"

namespace paes::stream {

namespace {

using gcm::max_plaintext_bytes;
constexpr std::size_t tag_bytes = gcm::max_tag_bytes;

Pieces pieces_of(const Options& options) {
  return Pieces(chunks_of_grain(options) * cobblestone::chunk_text_bytes);
}

void check_limit(const Input& input, std::uint64_t text_bytes) {
  if (text_bytes > max_plaintext_bytes) {
    throw Error(ErrorCode::usage, input.name() + ": longer than GCM allows (64 GiB less 32 bytes)");
  }
}

void stop_both(Flow& flow, Input& input, Output& output) {
  flow.stop_waiting = [&] {
    input.stop_waiting();
    output.stop_waiting();
  };
}

// Ciphertext and tag, to be read as often as wanted: from a file, or from what a pipe brought.
class Sealed {
 public:
  explicit Sealed(Input& input) : input_(input) {
    if (input.is_seekable()) {
      bytes_ = input.bytes();
    } else {
      keep_pipe();
    }
    if (bytes_ < tag_bytes) {
      throw Error(ErrorCode::corrupt, input.name() + ": too short to hold a tag",
                  "it is truncated");
    }
    check_limit(input, text_bytes());
    read_at(text_bytes(), tag_);
  }

  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return bytes_ - tag_bytes; }
  void read_at(std::uint64_t offset, MutableBytes to) const {
    if (input_.is_seekable()) {
      input_.read_at(offset, to);
    } else {
      std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    }
  }
  [[nodiscard]] bool has_tag(const Block& tag) const noexcept {
    return equal_constant_time(Bytes(tag.bytes, tag_bytes), tag_);
  }

 private:
  void keep_pipe() {
    constexpr std::size_t step_bytes = std::size_t{1} << 20;
    constexpr std::size_t most = max_kept_bytes + tag_bytes;
    // All at once: growing would need twice the memory, and what is not used is never touched.
    kept_.reserve(most + step_bytes);
    for (std::size_t got = step_bytes; got == step_bytes;) {
      kept_.resize(static_cast<std::size_t>(bytes_) + step_bytes);
      got = input_.read(MutableBytes(kept_).subspan(static_cast<std::size_t>(bytes_)));
      bytes_ += got;
      if (bytes_ > most) {
        throw Error(ErrorCode::usage,
                    input_.name() +
                        ": a pipe that brings more than 64 MiB cannot be checked before it is "
                        "written",
                    "decrypt it from a file");
      }
    }
  }

  Input& input_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint8_t> kept_;
  std::array<std::uint8_t, tag_bytes> tag_ = {};
};

}  // namespace

Totals seal_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Options& options) {
  const Pieces pieces = pieces_of(options);
  const GcmMessage message(key, iv, aad);
  GcmParts parts(message);
  std::atomic<std::uint64_t> text_bytes{0};
  Flow flow;
  flow.engine = options.engine_use.engine;
  if (input.is_seekable()) {
    check_limit(input, input.bytes());
    output.expect({input.bytes() + tag_bytes, Filling::whole});
    pieces.read_at_offsets(flow, input.bytes(), 0, [&](std::uint64_t offset, MutableBytes to) {
      input.read_at(offset, to);
    });
  } else {
    pieces.read_in_order(flow, input, 0,
                         [&](std::uint64_t bytes, bool) { check_limit(input, bytes); });
  }
  flow.transform = [&](Batch& batch) {
    const MutableBytes bytes = Pieces::bytes_of(batch);
    parts.add(batch.first_chunk, message.encrypt(pieces.offset_of(batch), bytes, bytes));
    text_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    if (options.progress != nullptr) {
      options.progress->fetch_add(bytes.size(), std::memory_order_relaxed);
    }
  };
  pieces.write_to(flow, output, 0);
  stop_both(flow, input, output);
  input.expect_sequential();
  output.expect_sequential();
  try {
    run(flow, options.executor, 1, options.cancel);
    input.check_unchanged();
    Block tag;
    parts.tag(text_bytes.load(), tag);
    if (output.is_seekable()) {
      output.write_at(text_bytes.load(), Bytes(tag.bytes, tag_bytes));
    } else {
      output.write(Bytes(tag.bytes, tag_bytes));
    }
  } catch (const Error& error) {
    output.rethrow_with_written(error);
  }
  output.commit(text_bytes.load() + tag_bytes);
  return {text_bytes.load()};
}

Totals open_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Options& options) {
  const Pieces pieces = pieces_of(options);
  input.expect_sequential();
  output.expect_sequential();
  const Sealed sealed(input);
  output.expect({sealed.text_bytes(), Filling::compressible});
  const GcmMessage message(key, iv, aad);
  // Each of the two passes is half of the work.
  const auto advance = [&](std::size_t bytes) {
    if (options.progress != nullptr) {
      options.progress->fetch_add(bytes, std::memory_order_relaxed);
    }
  };
  Flow flow;
  flow.engine = options.engine_use.engine;
  pieces.read_at_offsets(flow, sealed.text_bytes(), 0, [&](std::uint64_t offset, MutableBytes to) {
    sealed.read_at(offset, to);
  });
  stop_both(flow, input, output);

  // What the first pass hashed, piece by piece: the second lets nothing else out.
  std::vector<Block> checked(static_cast<std::size_t>(flow.count));
  const WipeOnExit wiped(
      {reinterpret_cast<std::uint8_t*>(checked.data()), checked.size() * sizeof(Block)});
  GcmParts first(message);
  flow.transform = [&](Batch& batch) {
    const GhashPart part = message.hash(Pieces::bytes_of(batch));
    checked[static_cast<std::size_t>(batch.first_chunk)] = part.value;
    first.add(batch.first_chunk, part);
    advance(batch.bytes / 2);
  };
  run(flow, options.executor, 1, options.cancel);
  Block expected_tag;
  const WipeOnExit wiped_tag(expected_tag.bytes);  // of a forgery, what the forger lacks
  first.tag(sealed.text_bytes(), expected_tag);
  if (!sealed.has_tag(expected_tag)) {
    throw Error(ErrorCode::corrupt, input.name() + ": the tag does not match",
                "it is damaged or forged, or the key, the IV or --aad is another");
  }

  flow.transform = [&](Batch& batch) {
    const MutableBytes bytes = Pieces::bytes_of(batch);
    const GhashPart part = message.decrypt(pieces.offset_of(batch), bytes, bytes);
    const Block& expected = checked[static_cast<std::size_t>(batch.first_chunk)];
    if (!equal_constant_time(part.value.bytes, expected.bytes)) {
      throw Error(ErrorCode::corrupt, input.name() + ": changed between its check and its use");
    }
    advance(batch.bytes - batch.bytes / 2);
  };
  pieces.write_to(flow, output, 0);
  try {
    run(flow, options.executor, 1, options.cancel);
    input.check_unchanged();
  } catch (const Error& error) {
    output.rethrow_with_written(error);
  }
  output.commit(sealed.text_bytes());
  return {sealed.text_bytes()};
}

}  // namespace paes::stream
