// SPDX-License-Identifier: Apache-2.0
// The payload of an encrypted file: chunks that are sealed separately, where they lie, and what a
// transfer does with a buffer of them. A payload format is a PayloadCipher; everything else here
// works for all formats. A whole file, a rank's share and the rest of an interrupted file are
// ranges of its chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream/container/damage.hpp"
#include "stream/container/extent.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::stream {

// The part of the text that a reader wants in memory.
struct WantedText {
  std::uint64_t offset = 0;
  MutableBytes to;
};

// The cipher of a payload. Immutable, so all threads share it.
class PayloadCipher {
 public:
  virtual ~PayloadCipher() = default;

  [[nodiscard]] virtual const Chunking& chunking() const noexcept = 0;
  // The device that is asked first, or null.
  [[nodiscard]] virtual Device* device() const noexcept { return nullptr; }

  // Replaces text by ciphertext with tags. Like the next two, throws what a device throws.
  virtual void seal(Buffer& buffer) const = 0;
  // Replaces ciphertext by text. If a chunk is not authentic, returns the number of the first such
  // chunk, and no text of the buffer may be used. Copies the wanted part of each authentic chunk at
  // once, while the chunk is in the L1 cache; `wanted` may be null.
  [[nodiscard]] virtual std::optional<std::uint64_t> open(Buffer& buffer,
                                                          const WantedText* wanted) const = 0;
  // Checks all chunks without decrypting. Returns the ranges of those that are not authentic, in
  // order. Afterwards buffer.bytes is the text's length.
  [[nodiscard]] virtual std::vector<Range> verify(Buffer& buffer) const = 0;

 protected:
  PayloadCipher() = default;
  PayloadCipher(const PayloadCipher&) = default;
  PayloadCipher(PayloadCipher&&) = default;
  PayloadCipher& operator=(const PayloadCipher&) = default;
  PayloadCipher& operator=(PayloadCipher&&) = default;
};

// One chunk of a buffer that holds `text_bytes` of text.
struct Chunk {
  std::uint64_t number;
  MutableBytes text;
  MutableBytes tag;  // after the text
};
[[nodiscard]] Chunk chunk_at(Buffer& buffer, std::size_t index, std::size_t text_bytes,
                             const Chunking& chunking) noexcept;
// Copies the wanted part of a chunk's text. Each chunk but the last has `full_bytes` of text.
void copy_wanted(const Chunk& chunk, std::size_t full_bytes, const WantedText& wanted) noexcept;
// Adds a chunk after all present ones; neighbours are joined.
void append_chunk(std::vector<Range>& ranges, std::uint64_t chunk);

// A payload to write.
struct NewPayload {
  std::uint64_t offset = 0;        // where it begins in its file
  std::vector<std::uint8_t> head;  // everything before chunk 0
  std::unique_ptr<const PayloadCipher> cipher;
};

// A payload to read, with the key that the file was sealed with.
struct OpenedPayload {
  Extent extent;  // for a pipe, its length is unknown
  std::unique_ptr<const PayloadCipher> cipher;
};

// Where the payload of a seekable source lies; for a pipe, where it begins. Throws Error(corrupt)
// if no payload has this length.
[[nodiscard]] Extent extent_of(const Source& source, std::uint64_t payload_offset,
                               const Chunking& chunking = cobblestone::chunking);
// Error(corrupt): no payload has such a length.
[[noreturn]] void throw_truncated(const std::string& name);
// Throws Error(usage) "NAME: ..." if a payload cannot have this many chunks.
void check_chunk_limit(const std::string& name, std::uint64_t chunks,
                       const Chunking& chunking = cobblestone::chunking);

// Throws Error(corrupt) if the file was cut or extended.
void check_last_chunk(const Source& source, const PayloadCipher& cipher, const Extent& extent);

// The layouts from text to payload and back, by chunks. `text_bytes` is empty for a pipe.
[[nodiscard]] Layout sealing_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes, const Work& work,
                                    const Chunking& chunking = cobblestone::chunking);
[[nodiscard]] Layout opening_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes, const Work& work,
                                    const Chunking& chunking = cobblestone::chunking);

// Cipher and log must outlive these transforms.
[[nodiscard]] Transform sealing(const PayloadCipher& cipher);
// Throws Error(corrupt) "NAME: chunk ..." at a damaged chunk (not always the first one), with its
// place in the text and in the file.
[[nodiscard]] Transform opening(const PayloadCipher& cipher, std::string name,
                                std::uint64_t payload_offset);
// Opens the chunk of an extent that has only one, and throws what check_last_chunk() would throw.
// The extent must outlive the transform.
[[nodiscard]] Transform opening_only_chunk(const PayloadCipher& cipher, std::string name,
                                           const Extent& extent);
// Opens chunks for a transfer without a sink, and copies the wanted text. After an error, `wanted`
// may hold authentic text of other chunks. Everything except the payload's offset must outlive the
// transform.
[[nodiscard]] Transform opening_into(const WantedText& wanted, const PayloadCipher& cipher,
                                     const std::string& name, std::uint64_t payload_offset);
// Continues after damaged chunks, and records each in the log.
[[nodiscard]] Transform verifying(const PayloadCipher& cipher, DamageLog& log);

}  // namespace paes::stream
