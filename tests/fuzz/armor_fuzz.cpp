// ASCII armor: a text means the same in one piece and in two, wherever it is cut, and what was
// decoded is decoded again from the armor that paes writes around it.
#include <optional>
#include <string>
#include <vector>

#include "age/armor.hpp"
#include "format/libcrypto.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::Bytes;
using paes::fuzz::require;
namespace age = paes::age;

std::optional<std::vector<std::uint8_t>> decoded(Bytes first, Bytes second) {
  age::ArmorReader reader;
  std::vector<std::uint8_t> file;
  try {
    reader.add(first, file);
    reader.add(second, file);
    reader.end(file);
    return file;
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::corrupt, "an armor that is refused is corrupt");
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
    std::string armor;
    age::ArmorWriter writer;
    writer.add(*whole, armor);
    writer.end(armor);
    require(armor.size() == age::armored_bytes(whole->size()), "its length is computed");
    require(decoded(paes::libcrypto::bytes_of(armor), {}) == whole,
            "what was written is read again");
  }
  return 0;
}
