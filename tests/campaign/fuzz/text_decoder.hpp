// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of both decoders of text share: a text means the same in one piece and in two,
// wherever it is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/bytes.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace paes::fuzz {

template <class Decoder>
std::optional<std::vector<std::uint8_t>> decoded(Bytes first, Bytes second) {
  Decoder decoder;
  std::vector<std::uint8_t> file;
  try {
    decoder.add(first, file);
    decoder.add(second, file);
    decoder.end(file);
    return file;
  } catch (const Error& error) {
    require(error.code == ErrorCode::corrupt, "a text that is refused is corrupt");
    return std::nullopt;
  }
}

// `place` says where the text is cut. Nothing if the text is refused.
template <class Decoder>
std::optional<std::vector<std::uint8_t>> decoded_alike(Bytes text, std::size_t place) {
  const std::size_t cut = text.empty() ? 0 : place % text.size();
  auto whole = decoded<Decoder>(text, {});
  require(whole == decoded<Decoder>(text.first(cut), text.subspan(cut)),
          "where a text is cut does not matter");
  return whole;
}

}  // namespace paes::fuzz
