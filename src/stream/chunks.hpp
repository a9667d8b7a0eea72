// The cipher of a payload: Cobblestone's chunks sealed, opened and verified a batch at a time (C2SP
// chunked-encryption v1). Immutable, hence shared by all threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/secret.hpp"
#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "message/gcm.hpp"
#include "stream/batch.hpp"
#include "stream/damage.hpp"

namespace paes::stream {

class ChunkCipher {
 public:
  // Throws Error(corrupt) when `input_key` has not the length that the suite asks for.
  ChunkCipher(container::Suite suite, Bytes input_key, Bytes salt, const Kernel& kernel,
              EngineUse use = {});

  [[nodiscard]] Bytes commitment() const noexcept {
    return {keys_->commitment, cobblestone::commitment_bytes};
  }

  // Text of batch.bytes in place to ciphertext with tags; batch.bytes becomes its length. Throws
  // what an engine throws, as the next two do.
  void seal(Batch& batch) const;
  // The other way round. The number of the first chunk that is not authentic, if there is one; no
  // text of the batch is then to be used.
  [[nodiscard]] std::optional<std::uint64_t> open(Batch& batch) const;
  // Without decrypting, and all chunks: those that are not authentic, in order, neighbours joined;
  // mostly none. Afterwards batch.bytes is the text's length.
  [[nodiscard]] std::vector<ChunkRange> verify(Batch& batch) const;

 private:
  // The whole batch in one call of the engine; false when it has to be done chunk by chunk.
  bool run_on_engine(GcmOperation operation, Batch& batch, std::size_t text_bytes,
                     std::vector<Block>& tags) const;
  // Whether the engine took the batch; then `damaged` are its chunks that are not authentic.
  bool check_on_engine(GcmOperation operation, Batch& batch,
                       std::vector<ChunkRange>& damaged) const;
  // `check` decides about a chunk, and `on_damage` whether to go on after one that is not
  // authentic.
  template <typename Check, typename OnDamage>
  void each_chunk(Batch& batch, Check&& check, OnDamage&& on_damage) const;

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
