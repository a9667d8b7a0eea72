// The cipher of a payload: Cobblestone's chunks sealed, opened and verified a batch at a time (C2SP
// chunked-encryption v1). Immutable, hence shared by all threads.
#pragma once

#include <cstdint>
#include <optional>

#include "core/secret.hpp"
#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "message/gcm.hpp"
#include "stream/batch.hpp"

namespace paes::stream {

class ChunkCipher {
 public:
  // Throws Error(corrupt) when `input_key` has not the length that the suite asks for.
  ChunkCipher(container::Suite suite, Bytes input_key, Bytes salt, const Kernel& kernel);

  [[nodiscard]] Bytes commitment() const noexcept {
    return {keys_->commitment, cobblestone::commitment_bytes};
  }

  // Text of batch.bytes in place to ciphertext with tags; batch.bytes becomes its length.
  void seal(Batch& batch) const noexcept;
  // The other way round. The number of the first chunk that is not authentic, if there is one; no
  // text of the batch is then to be used.
  [[nodiscard]] std::optional<std::uint64_t> open(Batch& batch) const noexcept;
  // The same without decrypting: afterwards batch.bytes is the text's length.
  [[nodiscard]] std::optional<std::uint64_t> verify(Batch& batch) const noexcept;

 private:
  template <typename Check>
  std::optional<std::uint64_t> each_chunk(Batch& batch, Check&& check) const noexcept;

  Secret<cobblestone::StreamKeys> keys_;
  GcmKey gcm_;
};

// How many chunks hold so many bytes of text; at least one, and one more than needed for whole
// chunks if the stream ends here: the last chunk is always short.
[[nodiscard]] constexpr std::size_t chunks_of_text(std::size_t text_bytes, bool is_last) noexcept {
  const std::size_t whole = text_bytes / cobblestone::chunk_text_bytes;
  return is_last ? whole + 1 : whole;
}

}  // namespace paes::stream
