// The payload of a container: what stands before its chunks, where the chunks lie, and what a
// transfer does with them. A whole file, a rank's share of one and the rest of an interrupted one
// are ranges of its chunks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "stream/chunk_cipher.hpp"
#include "stream/damage.hpp"
#include "stream/extent.hpp"
#include "stream/input.hpp"
#include "stream/transfer.hpp"

namespace paes::stream {

// What precedes the payload, parsed; nothing in it is authenticated yet.
struct Preamble {
  container::Header header;
  std::vector<std::uint8_t> bytes;  // header, envelope and padding
  [[nodiscard]] Bytes envelope() const noexcept {
    return Bytes(bytes).subspan(container::header_bytes, header.envelope_bytes);
  }
};

// Reads all that and checks that the padding is zero. A pipe is left at the payload. Throws
// Error(corrupt) "NAME: ...".
[[nodiscard]] Preamble read_preamble(const Input& input);

// Salt and commitment, as they stand before chunk 0.
using PayloadPrefix = std::array<std::uint8_t, cobblestone::prefix_bytes>;
[[nodiscard]] inline Bytes salt_of(const PayloadPrefix& prefix) noexcept {
  return Bytes(prefix).first(cobblestone::salt_bytes);
}
// From the payload's offset, or the next bytes of a pipe. Throws Error(corrupt) at an early end.
[[nodiscard]] PayloadPrefix read_prefix(const Source& source, const container::Header& header);
// Everything before chunk 0: preamble, salt and commitment.
[[nodiscard]] std::vector<std::uint8_t> encode_head(const container::Header& header, Bytes envelope,
                                                    Bytes salt, Bytes commitment);

// Of a seekable container. Throws Error(corrupt) when no payload has such a length.
[[nodiscard]] Extent extent_of(const Source& source, const container::Header& header);
// Error(corrupt): no payload has such a length.
[[noreturn]] void throw_truncated(const std::string& name);
// Throws Error(usage) "NAME: ..." for a text with more chunks than a payload may have.
void check_chunk_limit(const std::string& name, std::uint64_t chunks);
// Throws Error(corrupt) unless the cipher was made from the payload's input key.
void check_commitment(const std::string& name, const ChunkCipher& cipher,
                      const PayloadPrefix& prefix);
// A file that was cut or extended fails here: Error(corrupt).
void check_last_chunk(const Source& source, const ChunkCipher& cipher, const Extent& extent);

// From text to container, and back. The items are chunks. `text_bytes` is nothing for a pipe.
[[nodiscard]] Layout sealing_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes,
                                    const Options& options);
[[nodiscard]] Layout opening_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes,
                                    const Options& options);

// The cipher must outlive them, and so must the log.
[[nodiscard]] Transform sealing(const ChunkCipher& cipher);
// Throws Error(corrupt) "NAME: chunk ..." at a damaged chunk, not always the first, with its places
// in the text and in the file.
[[nodiscard]] Transform opening(const ChunkCipher& cipher, std::string name,
                                std::uint64_t payload_offset);
// Goes on where chunks are damaged, and names them all.
[[nodiscard]] Transform verifying(const ChunkCipher& cipher, DamageLog& log);

}  // namespace paes::stream
