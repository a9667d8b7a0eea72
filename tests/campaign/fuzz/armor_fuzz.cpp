// SPDX-License-Identifier: Apache-2.0
// ASCII armor: a text means the same wherever it is cut, and what was decoded is decoded again from
// the armor that paes writes around it.
#include <string>

#include "age/armor.hpp"
#include "crypto/libcrypto.hpp"
#include "fuzz/text_decoder.hpp"

namespace age = paes::age;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using paes::fuzz::require;
  if (size == 0) {
    return 0;
  }
  const auto file = paes::fuzz::decoded_alike<age::ArmorReader>({data + 1, size - 1}, data[0]);
  if (file) {
    std::string armor;
    age::ArmorWriter writer;
    writer.add(*file, armor);
    writer.end(armor);
    require(armor.size() == age::armored_bytes(file->size()), "its length is computed");
    require(paes::fuzz::decoded<age::ArmorReader>(paes::libcrypto::bytes_of(armor), {}) == file,
            "what was written is read again");
  }
  return 0;
}
