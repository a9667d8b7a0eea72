// SPDX-License-Identifier: Apache-2.0
#include "stream/container/preamble.hpp"

#include <algorithm>

#include "paes/error.hpp"
#include "stream/container/payload.hpp"

namespace paes::stream {

std::size_t read_head(const Source& source, MutableBytes to, std::uint64_t offset) {
  if (source.is_seekable()) {
    const std::uint64_t left = source.bytes() - std::min(source.bytes(), offset);
    to = to.first(static_cast<std::size_t>(std::min<std::uint64_t>(left, to.size())));
  }
  return source.read_at(offset, to);
}

Preamble read_preamble(const Source& source) {
  try {
    std::array<std::uint8_t, container::header_bytes> first_bytes;
    const std::size_t got = read_head(source, first_bytes);
    Preamble preamble{container::parse(Bytes(first_bytes).first(got)), {}};
    preamble.bytes.resize(static_cast<std::size_t>(preamble.header.payload_offset()));
    std::copy(first_bytes.begin(), first_bytes.end(), preamble.bytes.begin());
    const MutableBytes rest = MutableBytes(preamble.bytes).subspan(first_bytes.size());
    if (read_head(source, rest, first_bytes.size()) != rest.size()) {
      throw Error(ErrorCode::corrupt, "header: the file ends before the payload",
                  "it is truncated; get a complete copy");
    }
    container::check_padding(preamble.header, preamble.bytes);
    return preamble;
  } catch (const Error& error) {
    // The format does not know file names; errors of the input itself already begin with one.
    if (error.code != ErrorCode::corrupt) {
      throw;
    }
    throw Error(error.code, source.name() + ": " + error.what(), error.hint);
  }
}

PayloadPrefix read_prefix(const Source& source, std::uint64_t payload_offset) {
  PayloadPrefix prefix;
  if (source.read_at(payload_offset, MutableBytes(prefix)) != prefix.size()) {
    throw_truncated(source.name());
  }
  return prefix;
}

std::vector<std::uint8_t> encode_head(const container::Header& header, Bytes envelope, Bytes salt,
                                      Bytes commitment) {
  std::vector<std::uint8_t> head = container::encode_preamble(header, envelope);
  head.insert(head.end(), salt.begin(), salt.end());
  head.insert(head.end(), commitment.begin(), commitment.end());
  return head;
}

}  // namespace paes::stream
