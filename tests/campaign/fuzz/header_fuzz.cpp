// SPDX-License-Identifier: Apache-2.0
// The container's header and the zero bytes behind the envelope, and the length of the payload: the
// input is a file's first bytes, continued with zeros.
#include <algorithm>
#include <vector>

#include "format/cobblestone.hpp"
#include "format/container.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::Bytes;
using paes::fuzz::require;
namespace container = paes::container;
namespace cobblestone = paes::cobblestone;

void check_header(Bytes file) {
  const container::Header header = container::parse(file);
  const auto encoded = container::encode(header);
  require(std::equal(encoded.begin(), encoded.end(), file.begin()), "one spelling a header");
  require(header.envelope_bytes <= header.envelope_room(), "the envelope ends before the payload");
  require(header.payload_offset() < (std::uint64_t{2} << 20), "what is read first is bounded");

  std::vector<std::uint8_t> preamble(static_cast<std::size_t>(header.payload_offset()));
  std::copy_n(file.begin(), std::min(file.size(), preamble.size()), preamble.begin());
  const auto padding = preamble.begin() + container::header_bytes + header.envelope_bytes;
  const bool zero =
      std::all_of(padding, preamble.end(), [](std::uint8_t byte) { return byte == 0; });
  bool accepted = true;
  try {
    container::check_padding(header, preamble);
  } catch (const paes::Error&) {
    accepted = false;
  }
  require(accepted == zero, "padding is accepted if and only if it is zero");
}

void check_payload_length(std::uint64_t payload_bytes) {
  if (const auto text_bytes = cobblestone::chunking.text_of(payload_bytes)) {
    require(cobblestone::chunking.payload_bytes(*text_bytes) == payload_bytes,
            "lengths are inverse");
    require(cobblestone::chunking.chunks_of(*text_bytes) <= cobblestone::max_chunks,
            "at most 2^38 chunks");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const Bytes input(data, bytes);
  if (bytes >= 8) {
    check_payload_length(paes::load_be64(data));
    check_payload_length(paes::load_be64(data) >> 20);
  }
  try {
    check_header(input);
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::corrupt, "a bad header is corrupt");
  }
  return 0;
}
