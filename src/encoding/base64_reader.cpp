// SPDX-License-Identifier: Apache-2.0
#include "encoding/base64_reader.hpp"

#include <algorithm>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

constexpr std::size_t group_characters = 4;

Error refused(const char* why) { return {ErrorCode::corrupt, std::string("Base 64: ") + why}; }

// Calls `take` for each part between two separators.
template <typename Take>
void split(std::string_view text, char at, const Take& take) {
  for (;;) {
    const std::size_t end = text.find(at);
    take(text.substr(0, end));
    if (end == std::string_view::npos) {
      return;
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void Base64Reader::add(Bytes text, std::vector<std::uint8_t>& file) {
  split(libcrypto::text_of(text), '\n', [&](std::string_view line) {
    split(line, '\r', [&](std::string_view symbols) { take_symbols(symbols, file); });
  });
}

void Base64Reader::end(std::vector<std::uint8_t>& /*file*/) {
  if (!partial_.empty()) {
    throw refused("it ends within a group of four characters");
  }
}

void Base64Reader::take_symbols(std::string_view symbols, std::vector<std::uint8_t>& file) {
  if (!partial_.empty()) {
    const std::size_t missing = std::min(group_characters - partial_.size(), symbols.size());
    partial_.append(symbols.substr(0, missing));
    symbols.remove_prefix(missing);
    if (partial_.size() < group_characters) {
      return;
    }
    decode(partial_, file);
    partial_.clear();
  }
  const std::size_t whole = symbols.size() / group_characters * group_characters;
  decode(symbols.substr(0, whole), file);
  partial_ = symbols.substr(whole);
}

void Base64Reader::decode(std::string_view groups, std::vector<std::uint8_t>& file) {
  if (groups.empty()) {
    return;
  }
  if (is_padded_) {
    throw refused("something follows its padding");
  }
  if (!base64::append_decoded_public(groups, file)) {
    throw refused("it is not canonical");
  }
  is_padded_ = groups.ends_with('=');
}

}  // namespace paes
