// From text to container: preamble, salt and commitment first, then sealed batches at offsets that
// follow from their numbers, or in order into a pipe.
#include <array>
#include <string>

#include "paes/error.hpp"
#include "stream/chunks.hpp"
#include "stream/flow.hpp"
#include "stream/grain.hpp"
#include "stream/part.hpp"
#include "stream/pipeline.hpp"

namespace paes::stream {

using cobblestone::chunk_text_bytes;

namespace {

// The text of a pipe, in batches of so many chunks.
void read_pipe(Flow& flow, Input& input, std::size_t batch_chunks) {
  const std::size_t batch_text_bytes = batch_chunks * chunk_text_bytes;
  flow.ordered_read = true;
  flow.read = [&input, batch_chunks, batch_text_bytes, ended = false](std::uint64_t index,
                                                                      Batch& batch) mutable {
    if (ended) {
      return false;
    }
    batch.bytes = input.read(batch.text(batch_text_bytes));
    // A batch that is exactly full may be followed by one with nothing but the empty last chunk.
    batch.is_last = ended = batch.bytes < batch_text_bytes;
    batch.first_chunk = index * batch_chunks;
    batch.chunks = chunks_of_text(batch.bytes, batch.is_last);
    check_chunk_limit(input.name(), batch.first_chunk + batch.chunks);
    return true;
  };
}

Totals encrypt_salted(Input& input, Output& output, container::Suite suite, Bytes envelope,
                      Bytes input_key, Bytes salt, const Options& options) {
  const container::Header header = container::layout(suite, envelope.size());
  const ChunkCipher cipher(suite, input_key, salt, options.kernel, options.engine_use);
  const std::size_t batch_chunks = chunks_of_grain(options);
  std::atomic<std::uint64_t> text_bytes{0};

  Flow flow;
  flow.engine = options.engine_use.engine;
  flow.ordered_write = !output.is_seekable();
  if (input.is_seekable()) {
    const Extent extent{header.payload_offset(), input.bytes()};
    check_chunk_limit(input.name(), extent.chunks());
    output.expect({extent.file_bytes(), Filling::whole});
    read_text(flow, extent, extent.whole(), batch_chunks, input.reader());
  } else {
    read_pipe(flow, input, batch_chunks);
  }
  flow.transform = [&](Batch& batch) {
    const std::size_t bytes = batch.bytes;
    cipher.seal(batch);
    text_bytes.fetch_add(bytes, std::memory_order_relaxed);
    add_progress(options, bytes);
  };
  flow.write = [&](Batch& batch) {
    if (output.is_seekable()) {
      output.write_at(header.payload_offset() + cobblestone::chunk_offset(batch.first_chunk),
                      batch.cipher(batch.bytes));
    } else {
      output.write(batch.cipher(batch.bytes));
    }
  };
  flow.stop_waiting = [&] {
    input.stop_waiting();
    output.stop_waiting();
  };

  input.expect_sequential();
  output.expect_sequential();
  try {
    output.write(encode_head(header, envelope, salt, cipher.commitment()));
    run(flow, options.executor, batch_chunks, options.cancel);
    input.check_unchanged();
  } catch (const Error& error) {
    output.rethrow_with_written(error);
  }
  output.commit(header.payload_offset() + cobblestone::payload_bytes(text_bytes.load()));
  return {text_bytes.load()};
}

}  // namespace

Totals encrypt(Input& input, Output& output, container::Suite suite, Bytes envelope,
               Bytes input_key, const Options& options) {
  std::array<std::uint8_t, cobblestone::salt_bytes> salt;
  random_bytes(salt);
  return encrypt_salted(input, output, suite, envelope, input_key, salt, options);
}

// Has a section of its own, which the linker drops from every program that does not call it, as
// the release program must not: `./dev check` looks for its name there.
Totals encrypt_with_salt(Input& input, Output& output, container::Suite suite, Bytes envelope,
                         Bytes input_key, Bytes salt, const Options& options) {
  return encrypt_salted(input, output, suite, envelope, input_key, salt, options);
}

}  // namespace paes::stream
