// The bytes before the payload, read from a file or a pipe and handed to the format for checking.
#include <algorithm>
#include <array>
#include <string>

#include "paes/error.hpp"
#include "stream/pipeline.hpp"

namespace paes::stream {

namespace {

// The bytes from `offset` on, which on a pipe are the next ones; fewer at the end of the input.
std::size_t read_some(Input& input, std::uint64_t offset, MutableBytes to) {
  if (!input.is_seekable()) {
    return input.read(to);
  }
  const std::uint64_t left = input.bytes() - std::min(input.bytes(), offset);
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, to.size()));
  input.read_at(offset, to.first(bytes));
  return bytes;
}

}  // namespace

Preamble read_preamble(Input& input) {
  try {
    std::array<std::uint8_t, container::header_bytes> first_bytes;
    const std::size_t got = read_some(input, 0, first_bytes);
    Preamble preamble{container::parse(Bytes(first_bytes).first(got)), {}};
    preamble.bytes.resize(static_cast<std::size_t>(preamble.header.payload_offset()));
    std::copy(first_bytes.begin(), first_bytes.end(), preamble.bytes.begin());
    const MutableBytes rest = MutableBytes(preamble.bytes).subspan(first_bytes.size());
    if (read_some(input, first_bytes.size(), rest) != rest.size()) {
      throw Error(ErrorCode::corrupt, "header: the file ends before the payload",
                  "it is truncated; get a complete copy");
    }
    container::check_padding(preamble.header, preamble.bytes);
    return preamble;
  } catch (const Error& error) {
    // The format knows no file names; errors of the input itself begin with one already.
    if (error.code != ErrorCode::corrupt) {
      throw;
    }
    throw Error(error.code, input.name() + ": " + error.what(), error.hint);
  }
}

}  // namespace paes::stream
