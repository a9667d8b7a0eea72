// SPDX-License-Identifier: Apache-2.0
// The payload of an encrypted file: chunks that are sealed one by one, where they lie, and what a
// transfer does with a buffer of them. A payload format is a PayloadCipher; everything else here
// works for any of them. A whole file, a rank's share of one and the rest of an interrupted one are
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

// A part of the text, for somebody who wants it in memory.
struct WantedText {
  std::uint64_t offset = 0;
  MutableBytes to;
};

// The cipher of a payload. Immutable, hence shared by all threads.
class PayloadCipher {
 public:
  virtual ~PayloadCipher() = default;

  [[nodiscard]] virtual const Chunking& chunking() const noexcept = 0;
  // The device that is asked first; null where there is none.
  [[nodiscard]] virtual Device* device() const noexcept { return nullptr; }

  // Replaces text by ciphertext with tags. Throws what a device throws, as the next two do.
  virtual void seal(Buffer& buffer) const = 0;
  // Replaces ciphertext by text. Gives the number of the first chunk that is not authentic, if
  // there is one; then no text of the buffer may be used. Copies what is wanted of each authentic
  // chunk at once, while the chunk is in the first cache; `wanted` may be null.
  [[nodiscard]] virtual std::optional<std::uint64_t> open(Buffer& buffer,
                                                          const WantedText* wanted) const = 0;
  // Checks all chunks without decrypting. Gives the ranges of those that are not authentic, in
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
// Copies the part of a chunk's text that is wanted. A whole chunk has `chunk_text_bytes`.
void copy_wanted(const Chunk& chunk, std::size_t chunk_text_bytes,
                 const WantedText& wanted) noexcept;
// Adds a chunk after all that are there; neighbours are joined.
void append_chunk(std::vector<Range>& ranges, std::uint64_t chunk);

// A payload that is about to be written.
struct NewPayload {
  std::uint64_t offset = 0;        // where it begins in its file
  std::vector<std::uint8_t> head;  // everything before chunk 0
  std::unique_ptr<const PayloadCipher> cipher;
};

// A payload that is read, with the key that the file was sealed with.
struct OpenedPayload {
  Extent extent;  // for a pipe its length is unknown
  std::unique_ptr<const PayloadCipher> cipher;
};

// Where the payload of a seekable source lies; for a pipe, where it begins. Throws Error(corrupt)
// when no payload has such a length.
[[nodiscard]] Extent extent_of(const Source& source, std::uint64_t payload_offset,
                               const Chunking& chunking = cobblestone::chunking);
// Error(corrupt): no payload has such a length.
[[noreturn]] void throw_truncated(const std::string& name);
// Throws Error(usage) "NAME: ..." for a text with more chunks than a payload may have.
void check_chunk_limit(const std::string& name, std::uint64_t chunks,
                       const Chunking& chunking = cobblestone::chunking);

// A file that was cut or extended fails here: Error(corrupt).
void check_last_chunk(const Source& source, const PayloadCipher& cipher, const Extent& extent);

// From text to payload, and back. The items are chunks. `text_bytes` is nothing for a pipe.
[[nodiscard]] Layout sealing_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes, const Work& work,
                                    const Chunking& chunking = cobblestone::chunking);
[[nodiscard]] Layout opening_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes, const Work& work,
                                    const Chunking& chunking = cobblestone::chunking);

// Cipher and log must outlive these transforms.
[[nodiscard]] Transform sealing(const PayloadCipher& cipher);
// Throws Error(corrupt) "NAME: chunk ..." at a damaged chunk, not always the first, with its places
// in the text and in the file.
[[nodiscard]] Transform opening(const PayloadCipher& cipher, std::string name,
                                std::uint64_t payload_offset);
// The same for a transfer without a sink. After an error `wanted` may hold authentic text of other
// chunks. All but the payload's offset must outlive the transform.
[[nodiscard]] Transform opening_into(const WantedText& wanted, const PayloadCipher& cipher,
                                     const std::string& name, std::uint64_t payload_offset);
// Continues after damaged chunks, and enters each in the log.
[[nodiscard]] Transform verifying(const PayloadCipher& cipher, DamageLog& log);

}  // namespace paes::stream
