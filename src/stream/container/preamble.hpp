// SPDX-License-Identifier: Apache-2.0
// What precedes the chunks of a container: the preamble (header, envelope and padding), and the
// payload's prefix (salt and commitment).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "stream/transfer/ends.hpp"

namespace paes::stream {

// Reads the first bytes, or those from `offset` on; on a pipe, the next bytes. Returns how many
// came; fewer only at the end.
[[nodiscard]] std::size_t read_head(const Source& source, MutableBytes to,
                                    std::uint64_t offset = 0);

// What precedes the payload, parsed; nothing in it is authenticated yet.
struct Preamble {
  container::Header header;
  std::vector<std::uint8_t> bytes;  // header, envelope and padding
  [[nodiscard]] Bytes envelope() const noexcept {
    return Bytes(bytes).subspan(container::header_bytes, header.envelope_bytes);
  }
};

// Reads the preamble and checks that the padding is zero. Leaves a pipe at the payload. Throws
// Error(corrupt) "NAME: ...".
[[nodiscard]] Preamble read_preamble(const Source& source);

// Salt and commitment, which directly precede chunk 0.
using PayloadPrefix = std::array<std::uint8_t, cobblestone::prefix_bytes>;
[[nodiscard]] inline Bytes salt_of(const PayloadPrefix& prefix) noexcept {
  return Bytes(prefix).first(cobblestone::salt_bytes);
}
// Reads from the payload's offset, or a pipe's next bytes. Throws Error(corrupt) at an early end.
[[nodiscard]] PayloadPrefix read_prefix(const Source& source, std::uint64_t payload_offset);
// Everything before chunk 0: preamble, salt and commitment.
[[nodiscard]] std::vector<std::uint8_t> encode_head(const container::Header& header, Bytes envelope,
                                                    Bytes salt, Bytes commitment);

}  // namespace paes::stream
