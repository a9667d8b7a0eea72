#include "stream/part.hpp"

#include <algorithm>
#include <utility>

#include "paes/error.hpp"
#include "stream/grain.hpp"

namespace paes::stream {

using cobblestone::chunk_text_bytes;

namespace {

// Makes `flow` fill batches with the range's chunks, one run after the other, by `fill`.
template <typename Fill>
void cut(Flow& flow, ChunkRange range, std::size_t batch_chunks, Fill fill) {
  flow.ordered_read = false;
  flow.count = (range.end - range.first + batch_chunks - 1) / batch_chunks;
  flow.read = [range, batch_chunks, fill = std::move(fill)](std::uint64_t index, Batch& batch) {
    const std::uint64_t first = range.first + index * batch_chunks;
    fill(batch, ChunkRange{first, std::min<std::uint64_t>(range.end, first + batch_chunks)});
    return true;
  };
}

// " (from byte 16384 of the plaintext, 20480 of the file)"
std::string place_of(std::uint64_t payload_offset, std::uint64_t chunk) {
  return " (from byte " + std::to_string(chunk * chunk_text_bytes) + " of the plaintext, " +
         std::to_string(payload_offset + cobblestone::chunk_offset(chunk)) + " of the file)";
}

}  // namespace

ChunkRange Extent::of_stripes(std::uint64_t first, std::uint64_t end) const noexcept {
  return {std::min(first * stripe_chunks, chunks()), std::min(end * stripe_chunks, chunks())};
}

void throw_truncated(const std::string& name) {
  throw Error(ErrorCode::corrupt, name + ": truncated, or bytes were added or lost",
              "get a complete copy");
}

void check_chunk_limit(const std::string& name, std::uint64_t chunks) {
  if (chunks > cobblestone::max_chunks) {
    throw Error(ErrorCode::usage, name + ": longer than a payload may be (4 PiB)");
  }
}

std::vector<std::uint8_t> encode_head(const container::Header& header, Bytes envelope, Bytes salt,
                                      Bytes commitment) {
  std::vector<std::uint8_t> head = container::encode_preamble(header, envelope);
  head.insert(head.end(), salt.begin(), salt.end());
  head.insert(head.end(), commitment.begin(), commitment.end());
  return head;
}

Extent extent_of(const Input& input, const container::Header& header) {
  const std::uint64_t offset = header.payload_offset();
  const auto text = cobblestone::text_bytes(input.bytes() - std::min(input.bytes(), offset));
  if (!text) {
    throw_truncated(input.name());
  }
  return {offset, *text};
}

PayloadPrefix read_prefix(Input& input, const container::Header& header) {
  PayloadPrefix prefix;
  if (input.is_seekable()) {
    input.read_at(header.payload_offset(), MutableBytes(prefix));
  } else if (input.read(MutableBytes(prefix)) != prefix.size()) {
    throw_truncated(input.name());
  }
  return prefix;
}

void check_commitment(const std::string& name, const ChunkCipher& cipher,
                      const PayloadPrefix& prefix) {
  if (!equal_constant_time(cipher.commitment(), Bytes(prefix).subspan(cobblestone::salt_bytes))) {
    throw Error(ErrorCode::corrupt, name +
                                        ": the key in the envelope is not the payload's, or the "
                                        "beginning of the payload is damaged");
  }
}

void check_last_chunk(const std::string& name, const ChunkCipher& cipher, const Extent& extent,
                      const ReadAt& read_container) {
  Batch batch(1);
  read_chunks(batch, extent, {extent.chunks() - 1, extent.chunks()}, read_container);
  const std::uint64_t last = extent.chunks() - 1;
  if (!cipher.verify(batch).empty()) {
    throw Error(ErrorCode::corrupt, name + ": the last chunk" +
                                        place_of(extent.payload_offset, last) +
                                        " is damaged, or the file was cut or extended");
  }
}

void check_authentic(const std::string& name, std::uint64_t payload_offset,
                     const std::optional<std::uint64_t>& damaged) {
  if (damaged) {
    throw Error(ErrorCode::corrupt, name + ": chunk " + std::to_string(*damaged) +
                                        place_of(payload_offset, *damaged) +
                                        " is damaged, misplaced or forged");
  }
}

void read_text(Batch& batch, const Extent& extent, ChunkRange chunks, const ReadAt& read_text_at) {
  const std::uint64_t from = chunks.first * chunk_text_bytes;
  const std::uint64_t to = std::min(chunks.end * chunk_text_bytes, extent.text_bytes);
  batch.first_chunk = chunks.first;
  batch.chunks = static_cast<std::size_t>(chunks.end - chunks.first);
  batch.bytes = static_cast<std::size_t>(to - from);
  batch.is_last = chunks.end == extent.chunks();
  read_text_at(from, batch.text(batch.bytes));
}

void read_chunks(Batch& batch, const Extent& extent, ChunkRange chunks,
                 const ReadAt& read_container) {
  const std::uint64_t from = extent.chunk_offset(chunks.first);
  const std::uint64_t to = std::min(extent.chunk_offset(chunks.end), extent.file_bytes());
  batch.first_chunk = chunks.first;
  batch.chunks = static_cast<std::size_t>(chunks.end - chunks.first);
  batch.bytes = static_cast<std::size_t>(to - from);
  batch.is_last = chunks.end == extent.chunks();
  read_container(from, batch.cipher(batch.bytes));
}

void read_text(Flow& flow, const Extent& extent, ChunkRange range, std::size_t batch_chunks,
               ReadAt read_text_at) {
  cut(flow, range, batch_chunks,
      [extent, read_at = std::move(read_text_at)](Batch& batch, ChunkRange chunks) {
        read_text(batch, extent, chunks, read_at);
      });
}

void read_chunks(Flow& flow, const Extent& extent, ChunkRange range, std::size_t batch_chunks,
                 ReadAt read_container) {
  cut(flow, range, batch_chunks,
      [extent, read_at = std::move(read_container)](Batch& batch, ChunkRange chunks) {
        read_chunks(batch, extent, chunks, read_at);
      });
}

void seal_part(const ChunkCipher& cipher, const Extent& extent, ChunkRange range,
               const ReadAt& read_text_at, const WriteAt& write_container, const Options& options) {
  const std::size_t batch_chunks = chunks_of_grain(options);
  Flow flow;
  flow.engine = options.engine_use.engine;
  read_text(flow, extent, range, batch_chunks, read_text_at);
  flow.transform = [&](Batch& batch) {
    const std::size_t text_bytes = batch.bytes;
    cipher.seal(batch);
    add_progress(options, text_bytes);
  };
  flow.write = [&](Batch& batch) {
    write_container(extent.chunk_offset(batch.first_chunk), batch.cipher(batch.bytes));
  };
  run(flow, options.executor, batch_chunks, options.cancel);
}

void open_part(const std::string& name, const ChunkCipher& cipher, const Extent& extent,
               ChunkRange range, const ReadAt& read_container, TextWriter& writer,
               const Options& options) {
  const std::size_t batch_chunks = chunks_of_grain(options);
  Flow flow;
  flow.engine = options.engine_use.engine;
  read_chunks(flow, extent, range, batch_chunks, read_container);
  flow.transform = [&](Batch& batch) {
    check_authentic(name, extent.payload_offset, cipher.open(batch));
    add_progress(options, batch.bytes);
  };
  flow.write = [&](Batch& batch) { writer.write(batch); };
  run(flow, options.executor, batch_chunks, options.cancel);
}

Damage verify_part(const ChunkCipher& cipher, const Extent& extent, ChunkRange range,
                   const ReadAt& read_container, const Options& options) {
  const std::size_t batch_chunks = chunks_of_grain(options);
  DamageLog log;
  Flow flow;
  flow.engine = options.engine_use.engine;
  read_chunks(flow, extent, range, batch_chunks, read_container);
  flow.transform = [&](Batch& batch) {
    for (const ChunkRange& damaged : cipher.verify(batch)) {
      log.add(damaged);
    }
    add_progress(options, batch.bytes);
  };
  run(flow, options.executor, batch_chunks, options.cancel);
  return log.found();
}

void add_progress(const Options& options, std::uint64_t text_bytes) {
  if (options.progress != nullptr) {
    options.progress->fetch_add(text_bytes, std::memory_order_relaxed);
  }
}

}  // namespace paes::stream
