// Base 64 of other programs: a text means the same in one piece and in two, wherever it is cut, and
// without its line ends it is the one encoding of what was decoded.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "format/base64_reader.hpp"
#include "format/encodings.hpp"
#include "format/libcrypto.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::Bytes;
using paes::fuzz::require;

std::optional<std::vector<std::uint8_t>> decoded(Bytes first, Bytes second) {
  paes::Base64Reader reader;
  std::vector<std::uint8_t> file;
  try {
    reader.add(first, file);
    reader.add(second, file);
    reader.end(file);
    return file;
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::corrupt, "a text that is refused is corrupt");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const Bytes text(data + 1, size - 1);
  const std::size_t cut = text.empty() ? 0 : data[0] % text.size();
  const auto whole = decoded(text, {});
  require(whole == decoded(text.first(cut), text.subspan(cut)),
          "where a text is cut does not matter");
  if (whole) {
    std::string symbols;
    std::copy_if(text.begin(), text.end(), std::back_inserter(symbols),
                 [](std::uint8_t c) { return c != '\r' && c != '\n'; });
    std::string again;
    paes::base64::append_padded(*whole, again);
    require(again == symbols, "what is accepted is canonical");
  }
  return 0;
}
