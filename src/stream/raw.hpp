// Raw messages from file to file: the modes of SP 800-38A and XTS, and GCM as one message with its
// tag behind it. No format of ours is around them. Memory is bounded as in the container's
// pipeline; where both ends are seekable and the mode allows it, all threads work at offsets they
// compute, and where the mode is chained, one encrypts while others read and write.
#pragma once

#include <string>

#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "stream/pipeline.hpp"

namespace paes::stream {

struct RawTask {
  const RawKey& key;
  Direction direction;
  Bytes iv;                      // key.iv_bytes()
  bool pads = false;             // PKCS#7, for ECB and CBC
  std::uint64_t max_blocks = 0;  // to encrypt, with the padding; 0 is no limit
  // What stands before the ciphertext. Encryption writes it; the input of decryption begins with
  // it, and on a pipe it has been read already.
  Bytes head = {};
};

// Throws Error(usage) "NAME: ..." for a text of a length that the mode cannot take, Error(corrupt)
// for such a ciphertext. `bytes` is how much there is without the head, and `is_all` whether more
// may follow.
void check_raw_length(const std::string& name, const RawTask& task, std::uint64_t bytes,
                      bool is_all);

// The room that the output takes for so many bytes of input without the head, at least.
[[nodiscard]] Need raw_need(const RawTask& task, std::size_t head_bytes, std::uint64_t bytes);

// Writes the whole message and commits the output. Throws Error(usage) for a text of a length that
// the mode cannot take, Error(corrupt) for such a ciphertext and for wrong padding: before anything
// is written where the length is known.
Totals crypt_raw(Input& input, Output& output, const RawTask& task, const Options& options);

// The first bytes of an input; fewer at its end. A pipe is left behind them.
[[nodiscard]] std::size_t read_head(Input& input, MutableBytes to);

// GCM: the ciphertext, then the tag of 16 bytes. `iv` has 12 bytes.
Totals seal_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Options& options);

// A pipe cannot be read twice, so so much of its text is kept, and a longer one refused.
inline constexpr std::size_t max_kept_bytes = std::size_t{64} << 20;

// The tag is checked before anything is written. A file can change after that, so each piece is
// hashed again as it is decrypted, and goes out only if its hash is the one that was checked.
// Throws Error(corrupt) when the tag, or later a piece, does not match.
Totals open_gcm(Input& input, Output& output, const GcmKey& key, Bytes iv, Bytes aad,
                const Options& options);

}  // namespace paes::stream
