// Whole files: from text to container and back, and whether a container is authentic. transfer.hpp
// moves the chunks, and payload.hpp says what they are.
#pragma once

#include <cstdint>
#include <optional>

#include "format/range.hpp"
#include "stream/damage.hpp"
#include "stream/input.hpp"
#include "stream/output.hpp"
#include "stream/payload.hpp"
#include "stream/transfer.hpp"

namespace paes::stream {

struct Totals {
  std::uint64_t text_bytes = 0;  // plaintext bytes read, written or verified
};

// Writes preamble and payload and commits the output. `input_key` is what `envelope` holds; its
// length is key_bytes(suite).
Totals encrypt(Input& input, Output& output, container::Suite suite, Bytes envelope,
               Bytes input_key, const Options& options);

// The same with a chosen salt, for tests that compare bytes. A salt used twice with one input key
// would reuse nonces, hence nothing else may call this.
Totals encrypt_with_salt(Input& input, Output& output, container::Suite suite, Bytes envelope,
                         Bytes input_key, Bytes salt, const Options& options);

// Decrypts to `output` and commits it. With a range, only the chunks it touches and the last chunk
// are authenticated (all of them on a pipe). Throws Error(corrupt) when the commitment or any chunk
// does not match; only authenticated bytes are ever written.
Totals decrypt(Input& input, Output& output, const Preamble& preamble, Bytes input_key,
               const std::optional<ByteRange>& range, const Options& options);

// Authenticates everything, writes nothing, and goes on where chunks are damaged. Throws
// Error(corrupt) where it cannot begin: the commitment does not match, or no payload is that long.
[[nodiscard]] Verification verify(Input& input, const Preamble& preamble, Bytes input_key,
                                  const Options& options);

}  // namespace paes::stream
