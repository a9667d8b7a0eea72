// From text to container: preamble, salt and commitment first, then sealed batches at offsets that
// follow from their numbers, or in order into a pipe.
#include <algorithm>
#include <array>
#include <string>

#include "paes/error.hpp"
#include "stream/chunks.hpp"
#include "stream/flow.hpp"
#include "stream/grain.hpp"
#include "stream/pipeline.hpp"

namespace paes::stream {

using cobblestone::chunk_text_bytes;

namespace {

void write_head(Output& output, const container::Header& header, Bytes envelope, Bytes salt,
                Bytes commitment) {
  std::vector<std::uint8_t> head = container::encode_preamble(header, envelope);
  head.insert(head.end(), salt.begin(), salt.end());
  head.insert(head.end(), commitment.begin(), commitment.end());
  output.write(head);
}

void check_text_limit(const Input& input, std::uint64_t chunks) {
  if (chunks > cobblestone::max_chunks) {
    throw Error(ErrorCode::usage, input.name() + ": longer than a payload may be (4 PiB)");
  }
}

Totals encrypt_salted(Input& input, Output& output, container::Suite suite, Bytes envelope,
                      Bytes input_key, Bytes salt, const Options& options) {
  const container::Header header = container::layout(suite, envelope.size());
  const ChunkCipher cipher(suite, input_key, salt, options.kernel);
  const std::size_t batch_chunks = chunks_of_grain(options.grain_bytes);
  const std::size_t batch_text_bytes = batch_chunks * chunk_text_bytes;
  std::atomic<std::uint64_t> text_bytes{0};

  Flow flow;
  flow.ordered_read = !input.is_seekable();
  flow.ordered_write = !output.is_seekable();
  if (input.is_seekable()) {
    const std::uint64_t chunks = cobblestone::chunk_count(input.bytes());
    check_text_limit(input, chunks);
    flow.count = (chunks + batch_chunks - 1) / batch_chunks;
    flow.read = [&](std::uint64_t index, Batch& batch) {
      const std::uint64_t offset = index * batch_text_bytes;
      batch.bytes = static_cast<std::size_t>(
          std::min<std::uint64_t>(input.bytes() - offset, batch_text_bytes));
      batch.is_last = index + 1 == flow.count;
      batch.first_chunk = index * batch_chunks;
      batch.chunks = chunks_of_text(batch.bytes, batch.is_last);
      input.read_at(offset, batch.text(batch.bytes));
      return true;
    };
  } else {
    flow.read = [&, ended = false](std::uint64_t index, Batch& batch) mutable {
      if (ended) {
        return false;
      }
      batch.bytes = input.read(batch.text(batch_text_bytes));
      // A batch that is exactly full may be followed by one with nothing but the empty last chunk.
      batch.is_last = ended = batch.bytes < batch_text_bytes;
      batch.first_chunk = index * batch_chunks;
      batch.chunks = chunks_of_text(batch.bytes, batch.is_last);
      check_text_limit(input, batch.first_chunk + batch.chunks);
      return true;
    };
  }
  flow.transform = [&](Batch& batch) {
    const std::size_t bytes = batch.bytes;
    cipher.seal(batch);
    text_bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (options.progress != nullptr) {
      options.progress->fetch_add(bytes, std::memory_order_relaxed);
    }
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
    write_head(output, header, envelope, salt, cipher.commitment());
    run(flow, options.executor, batch_chunks, options.cancel);
    input.check_unchanged();
  } catch (const Error& error) {
    throw output.with_written(error);
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
