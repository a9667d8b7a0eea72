// The payload of a container: Cobblestone's chunks (C2SP chunked-encryption v1), where they lie,
// and what a transfer does with a buffer of them. A whole file, a rank's share of one and the rest
// of an interrupted one are ranges of its chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "message/gcm.hpp"
#include "stream/damage.hpp"
#include "stream/preamble.hpp"
#include "stream/transfer.hpp"

namespace paes::stream {

// The cipher of a payload. Immutable, hence shared by all threads.
class ChunkCipher {
 public:
  // A container's context is container::context(suite). Throws Error(corrupt) unless the key that
  // an envelope held has the length that the suite asks for.
  ChunkCipher(container::Suite suite, Bytes input_key, Bytes context, Bytes salt,
              const Kernel& kernel, DeviceUse use = {});

  [[nodiscard]] Bytes commitment() const noexcept {
    return {keys_->commitment, cobblestone::commitment_bytes};
  }

  // The device that is asked first; null where there is none.
  [[nodiscard]] Device* device() const noexcept { return device_; }

  // Replaces text by ciphertext with tags. Throws what a device throws, as the next two do.
  void seal(Buffer& buffer) const;
  // Replaces ciphertext by text. Gives the number of the first chunk that is not authentic, if
  // there is one; then no text of the buffer may be used.
  [[nodiscard]] std::optional<std::uint64_t> open(Buffer& buffer) const;
  // Checks all chunks without decrypting. Gives the ranges of those that are not authentic, in
  // order. Afterwards buffer.bytes is the text's length.
  [[nodiscard]] std::vector<Range> verify(Buffer& buffer) const;

 private:
  // The whole buffer in one call of the device; false when it has to be done chunk by chunk.
  bool run_on_device(GcmOperation operation, Buffer& buffer, std::size_t text_bytes,
                     std::vector<Tag>& tags) const;
  // Opens or verifies: all chunks that are not authentic, in order, neighbours joined.
  [[nodiscard]] std::vector<Range> check(GcmOperation operation, Buffer& buffer) const;

  Device* device_;
  Secret<cobblestone::StreamKeys> keys_;
  GcmKey gcm_;
};

// Throws Error(corrupt) unless the cipher was made from the payload's input key.
void check_commitment(const std::string& name, const ChunkCipher& cipher,
                      const PayloadPrefix& prefix);

// A payload that is about to be written.
struct NewPayload {
  std::uint64_t offset = 0;        // where it begins in its file
  std::vector<std::uint8_t> head;  // everything before chunk 0, with salt and commitment
  ChunkCipher cipher;
};
// Both take a random salt. A salt used twice with one key would reuse nonces, hence nothing but
// tests makes a NewPayload in another way. `envelope` holds `input_key`.
[[nodiscard]] NewPayload new_container(container::Suite suite, Bytes envelope, Bytes input_key,
                                       const Kernel& kernel, DeviceUse use);
// The payload alone, which begins its file, under a key of 16 or 32 bytes that the caller keeps.
// Throws Error(usage) for another length.
[[nodiscard]] NewPayload new_bare_payload(Bytes key, Bytes context, const Kernel& kernel,
                                          DeviceUse use);

// A payload that is read. Its commitment has been checked.
struct OpenedPayload {
  Extent extent;  // for a pipe the offset alone
  ChunkCipher cipher;
};
// Both read salt and commitment, which on a pipe are the next bytes. They throw Error(corrupt) when
// no payload is that long. When the commitment is another key's, the first throws Error(corrupt),
// because the key was in the envelope, and the second Error(wrong_key).
[[nodiscard]] OpenedPayload open_container(const Source& source, const container::Header& header,
                                           Bytes input_key, const Kernel& kernel, DeviceUse use);
[[nodiscard]] OpenedPayload open_bare_payload(const Source& source, Bytes key, Bytes context,
                                              const Kernel& kernel, DeviceUse use);
// A file that was cut or extended fails here: Error(corrupt).
void check_last_chunk(const Source& source, const ChunkCipher& cipher, const Extent& extent);

// From text to container, and back. The items are chunks. `text_bytes` is nothing for a pipe.
[[nodiscard]] Layout sealing_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes,
                                    const Options& options);
[[nodiscard]] Layout opening_layout(std::uint64_t payload_offset,
                                    std::optional<std::uint64_t> text_bytes,
                                    const Options& options);

// Cipher and log must outlive these transforms.
[[nodiscard]] Transform sealing(const ChunkCipher& cipher);
// Throws Error(corrupt) "NAME: chunk ..." at a damaged chunk, not always the first, with its places
// in the text and in the file.
[[nodiscard]] Transform opening(const ChunkCipher& cipher, std::string name,
                                std::uint64_t payload_offset);
// Continues after damaged chunks, and enters each in the log.
[[nodiscard]] Transform verifying(const ChunkCipher& cipher, DamageLog& log);

}  // namespace paes::stream
