// A part of a container: a run of its chunks, sealed, opened or verified by an executor's threads
// between two places that take offsets. What paes does with a whole file, and each rank of a
// cluster with its share of one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "stream/chunks.hpp"
#include "stream/extent.hpp"
#include "stream/files.hpp"
#include "stream/flow.hpp"
#include "stream/pipeline.hpp"
#include "stream/text_writer.hpp"

namespace paes::stream {

// Error(corrupt): no payload has such a length.
[[noreturn]] void throw_truncated(const std::string& name);
// Throws Error(usage) "NAME: ..." for a text with more chunks than a payload may have.
void check_chunk_limit(const std::string& name, std::uint64_t chunks);

// Everything before chunk 0: preamble, salt and commitment.
[[nodiscard]] std::vector<std::uint8_t> encode_head(const container::Header& header, Bytes envelope,
                                                    Bytes salt, Bytes commitment);

// Of a seekable container. Throws Error(corrupt) when no payload has such a length.
[[nodiscard]] Extent extent_of(const Input& input, const container::Header& header);

// Salt and commitment, as they stand before chunk 0.
using PayloadPrefix = std::array<std::uint8_t, cobblestone::prefix_bytes>;
[[nodiscard]] inline Bytes salt_of(const PayloadPrefix& prefix) noexcept {
  return Bytes(prefix).first(cobblestone::salt_bytes);
}
// From the payload's offset, or the next bytes of a pipe. Throws Error(corrupt) at an early end.
[[nodiscard]] PayloadPrefix read_prefix(Input& input, const container::Header& header);
// Throws Error(corrupt) unless the cipher was made from the payload's input key.
void check_commitment(const std::string& name, const ChunkCipher& cipher,
                      const PayloadPrefix& prefix);
// A file that was cut or extended fails here: Error(corrupt).
void check_last_chunk(const std::string& name, const ChunkCipher& cipher, const Extent& extent,
                      const ReadAt& read_container);
// Throws Error(corrupt) "NAME: chunk ..." when there is a damaged chunk, with its places in the
// text and in the file.
void check_authentic(const std::string& name, std::uint64_t payload_offset,
                     const std::optional<std::uint64_t>& damaged);

// Makes `flow` read the text of these chunks, or the chunks, in batches of at most `batch_chunks`.
void read_text(Flow& flow, const Extent& extent, ChunkRange range, std::size_t batch_chunks,
               ReadAt read_text_at);
void read_chunks(Flow& flow, const Extent& extent, ChunkRange range, std::size_t batch_chunks,
                 ReadAt read_container);

// A batch of these chunks, as those two fill it.
void read_text(Batch& batch, const Extent& extent, ChunkRange chunks, const ReadAt& read_text_at);
void read_chunks(Batch& batch, const Extent& extent, ChunkRange chunks,
                 const ReadAt& read_container);

// Text of these chunks, read at its offsets in the text, to their places in the container. Nothing
// else of it is written.
void seal_part(const ChunkCipher& cipher, const Extent& extent, ChunkRange range,
               const ReadAt& read_text_at, const WriteAt& write_container, const Options& options);

// The other way round; `name` is the container's, for errors. Only authenticated text reaches the
// writer. Throws Error(corrupt) at a damaged chunk, not always the first.
void open_part(const std::string& name, const ChunkCipher& cipher, const Extent& extent,
               ChunkRange range, const ReadAt& read_container, TextWriter& writer,
               const Options& options);

// Without writing, and all of them: which are damaged.
[[nodiscard]] Damage verify_part(const ChunkCipher& cipher, const Extent& extent, ChunkRange range,
                                 const ReadAt& read_container, const Options& options);

// Counts text as done.
void add_progress(const Options& options, std::uint64_t text_bytes);

}  // namespace paes::stream
