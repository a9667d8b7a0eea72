// The pipeline of the container: input to output in batches of whole chunks, in bounded memory.
// Seekable ends are read and written at computed offsets by all threads; pipes in turns, so that
// reading, the cipher and writing overlap.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "exec/executor.hpp"
#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "format/range.hpp"
#include "kernel/kernel.hpp"
#include "message/engine.hpp"
#include "stream/cancel.hpp"
#include "stream/damage.hpp"
#include "stream/files.hpp"

namespace paes::stream {

inline constexpr std::size_t default_grain_bytes = std::size_t{256} << 10;
inline constexpr std::size_t max_grain_bytes = std::size_t{4} << 20;  // bounds memory per thread
inline constexpr std::size_t max_engine_grain_bytes = std::size_t{16} << 20;  // with an engine

struct Options {
  const Executor& executor;
  const Kernel& kernel;
  // Plaintext a thread takes at a time; rounded up to whole chunks. Throws Error(usage) above
  // max_grain_bytes, with an engine above max_engine_grain_bytes. An engine gets no more than it
  // likes at a time, whatever stands here.
  std::size_t grain_bytes = default_grain_bytes;
  const Cancel* cancel = nullptr;
  std::atomic<std::uint64_t>* progress = nullptr;  // grows by the plaintext bytes finished
  // Batches go to the engine; the kernel takes those that it declines, and whatever is chained.
  EngineUse engine_use = {};
};

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
[[nodiscard]] Preamble read_preamble(Input& input);

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
