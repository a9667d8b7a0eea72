// SPDX-License-Identifier: Apache-2.0
// Whole files: encrypts, decrypts and verifies them. transfer.hpp moves the chunks, payload.hpp
// says what they are, and the payload's own cipher knows their format.
#pragma once

#include <cstdint>
#include <optional>

#include "format/byte_range.hpp"
#include "stream/container/damage.hpp"
#include "stream/container/payload.hpp"
#include "stream/file/output.hpp"
#include "stream/transfer/ends.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::stream {

struct Totals {
  std::uint64_t text_bytes = 0;       // plaintext bytes read, written or verified
  std::uint64_t kept_text_bytes = 0;  // of that, what an earlier run with --resume had done
};

// How the bytes of an encrypted file are written: unchanged, or as text (age/armor.hpp).
enum class Encoding : unsigned { binary, armored };

// Writes head and chunks, and commits the output.
Totals encrypt_file(Source& input, Output& output, const NewPayload& payload, const Work& work,
                    Encoding encoding = Encoding::binary);

// Decrypts to `output` and commits it. With a range, only the last chunk and the chunks that the
// range touches are authenticated (on a pipe, all of them). Throws Error(corrupt) if a chunk does
// not match; only authentic bytes are ever written.
Totals decrypt_file(Source& input, Output& output, const OpenedPayload& payload,
                    const std::optional<ByteRange>& range, const Work& work);

// Authenticates everything, writes nothing, and continues after damaged chunks.
[[nodiscard]] Verification verify_file(Source& input, const OpenedPayload& payload,
                                       const Work& work);

}  // namespace paes::stream
