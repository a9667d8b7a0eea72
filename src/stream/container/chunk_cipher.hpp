// SPDX-License-Identifier: Apache-2.0
// The payload of a container, C2SP chunked-encryption v1 (Cobblestone): salt and commitment, then
// chunks. Each chunk is one AES-GCM message, for which a device is asked first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "message/gcm.hpp"
#include "stream/container/payload.hpp"
#include "stream/container/preamble.hpp"

namespace paes::stream {

class ChunkCipher : public PayloadCipher {
 public:
  // A container's context is container::context(suite). Throws Error(corrupt) unless the envelope's
  // key has the length that the suite requires.
  ChunkCipher(container::Suite suite, Bytes input_key, Bytes context, Bytes salt,
              const Kernel& kernel, DeviceUse use = {});

  [[nodiscard]] Bytes commitment() const noexcept {
    return {keys_->commitment, cobblestone::commitment_bytes};
  }

  [[nodiscard]] const Chunking& chunking() const noexcept override { return cobblestone::chunking; }
  [[nodiscard]] Device* device() const noexcept override { return device_; }
  void seal(Buffer& buffer) const override;
  [[nodiscard]] std::optional<std::uint64_t> open(Buffer& buffer,
                                                  const WantedText* wanted) const override;
  [[nodiscard]] std::vector<Range> verify(Buffer& buffer) const override;

  // Seals one chunk on the kernel. `sealed` is the ciphertext with its tag, and shares no memory
  // with `text`.
  void seal_chunk(std::uint64_t number, Bytes text, MutableBytes sealed) const noexcept;
  // If the chunk is not authentic, returns false and wipes `text`.
  [[nodiscard]] bool open_chunk(std::uint64_t number, Bytes sealed,
                                MutableBytes text) const noexcept;

 private:
  // Runs the whole buffer in one call of the device. False if it must be done chunk by chunk.
  bool run_on_device(GcmOperation operation, Buffer& buffer, std::size_t text_bytes,
                     std::vector<Tag>& tags) const;
  // Opens or verifies. Returns all chunks that are not authentic, in order, neighbours joined.
  [[nodiscard]] std::vector<Range> check(GcmOperation operation, Buffer& buffer,
                                         const WantedText* wanted) const;

  Device* device_;
  Secret<cobblestone::StreamKeys> keys_;
  GcmKey gcm_;
};

// Throws Error(corrupt) unless the cipher was made from the payload's input key.
void check_commitment(const std::string& name, const ChunkCipher& cipher,
                      const PayloadPrefix& prefix);

// The next three functions take a random salt. A salt used twice with one key would reuse nonces,
// so only tests make a NewPayload in another way. `envelope` holds `input_key`.
[[nodiscard]] NewPayload new_container(const container::Shape& shape, Bytes envelope,
                                       Bytes input_key, const Work& work);
// A file that is only a payload, under a key of 16 or 32 bytes that the caller keeps. Throws
// Error(usage) for another length.
[[nodiscard]] NewPayload new_bare_payload(Bytes key, Bytes context, const Work& work);
// A payload without header and envelope, to be sealed in memory under the caller's key.
struct NewBareCipher {
  PayloadPrefix prefix;
  std::unique_ptr<const ChunkCipher> cipher;
};
[[nodiscard]] NewBareCipher new_bare_cipher(Bytes key, Bytes context, const Kernel& kernel,
                                            DeviceUse use);

// Both read salt and commitment, which on a pipe are the next bytes, and throw Error(corrupt) if no
// payload has this length. If the commitment belongs to another key, open_container throws
// Error(corrupt), because the key was in the envelope, and open_bare_payload Error(wrong_key).
[[nodiscard]] OpenedPayload open_container(const Source& source, const container::Header& header,
                                           Bytes input_key, const Work& work);
[[nodiscard]] OpenedPayload open_bare_payload(const Source& source, Bytes key, Bytes context,
                                              const Work& work);
// The cipher of a bare payload that begins with `prefix`. Throws like open_bare_payload.
[[nodiscard]] std::unique_ptr<const ChunkCipher> open_bare_cipher(const std::string& name,
                                                                  const PayloadPrefix& prefix,
                                                                  Bytes key, Bytes context,
                                                                  const Kernel& kernel,
                                                                  DeviceUse use);

}  // namespace paes::stream
