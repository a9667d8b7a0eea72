// SPDX-License-Identifier: Apache-2.0
#include "format/byte_range.hpp"

#include <charconv>
#include <string>

#include "paes/error.hpp"

namespace paes {

namespace {

Error refusal(std::string_view why) {
  return {ErrorCode::usage, "range: " + std::string(why),
          "write FIRST-LAST or FIRST-, counted in bytes from 0, LAST included"};
}

std::uint64_t parse_number(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc::invalid_argument || read.ptr != end) {
    throw refusal("not two decimal numbers joined by -");
  }
  if (text.size() > 1 && text[0] == '0') {
    throw refusal("numbers are decimal, without a 0 in front");
  }
  if (read.ec != std::errc{}) {
    throw refusal("the number does not fit 64 bits");
  }
  return number;
}

}  // namespace

ByteRange parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    throw refusal("no - between the first byte and the last");
  }
  ByteRange range{parse_number(text.substr(0, dash)), std::nullopt};
  if (dash + 1 != text.size()) {
    range.last = parse_number(text.substr(dash + 1));
    if (*range.last < range.first) {
      throw refusal("the last byte comes before the first");
    }
  }
  return range;
}

}  // namespace paes
