// SPDX-License-Identifier: Apache-2.0
// What the container's tests compare with: the specification in a few lines, and the sizes around
// which a pipeline can go wrong.
#pragma once

#include "message/gcm.hpp"
#include "sanitized.hpp"
#include "stream/file_sample.hpp"

namespace paes::stream {

inline constexpr std::size_t chunk = cobblestone::chunk_text_bytes;

inline std::vector<std::size_t> sizes_around(std::size_t batch) {
  return {0,         1,
          15,        16,
          17,        chunk - 1,
          chunk,     chunk + 1,
          batch,     batch - 1,
          batch + 1, 5 * batch - 1,
          5 * batch, 5 * batch + 777};
}

// Straight from the specification, with one call of GCM a chunk and no pipeline.
inline Contents reference(container::Suite suite, const Contents& text) {
  const Contents input_key = sample_key(suite);
  const container::Header header = container::layout({suite}, sample_envelope.size());
  Contents file = container::encode_preamble(header, sample_envelope);
  const auto keys = cobblestone::derive(suite, input_key, sample_salt,
                                        Bytes(file).first(container::context_bytes));
  file.insert(file.end(), sample_salt.begin(), sample_salt.end());
  file.insert(file.end(), keys->commitment, keys->commitment + cobblestone::commitment_bytes);
  // Sanitizers slow `compute` down a hundredfold; libcrypto, which they leave alone, is as
  // independent of what is tested.
  const GcmKey gcm(Bytes(keys->key, container::key_bytes(suite)),
                   find_kernel(Cipher::aes, test::is_sanitized ? "openssl" : "compute"));
  for (std::uint64_t number = 0; number < cobblestone::chunking.chunks_of(text.size()); ++number) {
    const Bytes part =
        Bytes(text).subspan(number * chunk, std::min(chunk, text.size() - number * chunk));
    Contents sealed(part.size() + cobblestone::tag_bytes);
    gcm.seal(cobblestone::chunk_nonce(*keys, number), {}, part,
             MutableBytes(sealed).first(part.size()), MutableBytes(sealed).subspan(part.size()));
    file.insert(file.end(), sealed.begin(), sealed.end());
  }
  return file;
}

}  // namespace paes::stream
