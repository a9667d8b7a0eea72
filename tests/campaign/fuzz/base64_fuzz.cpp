// SPDX-License-Identifier: Apache-2.0
// Base 64 of other programs: a text means the same wherever it is cut, and without its line ends it
// is the one encoding of what was decoded.
#include <algorithm>
#include <string>

#include "encoding/base64_reader.hpp"
#include "encoding/encodings.hpp"
#include "fuzz/text_decoder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const paes::Bytes text(data + 1, size - 1);
  const auto file = paes::fuzz::decoded_alike<paes::Base64Reader>(text, data[0]);
  if (file) {
    std::string symbols;
    std::copy_if(text.begin(), text.end(), std::back_inserter(symbols),
                 [](std::uint8_t c) { return c != '\r' && c != '\n'; });
    std::string again;
    paes::base64::append_public(*file, again);
    paes::fuzz::require(again == symbols, "what is accepted is canonical");
  }
  return 0;
}
