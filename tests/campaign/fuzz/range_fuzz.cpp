// SPDX-License-Identifier: Apache-2.0
// --range FIRST-LAST: what is accepted is written one way, but for leading zeros, and in order.
#include <string>
#include <string_view>

#include "format/byte_range.hpp"
#include "fuzz/property.hpp"
#include "paes/error.hpp"

namespace {

using paes::fuzz::require;

std::string without_leading_zeros(std::string_view digits) {
  const std::size_t first = digits.find_first_not_of('0');
  return std::string(first == std::string_view::npos ? "0" : digits.substr(first));
}

void check(std::string_view text) {
  const paes::ByteRange range = paes::parse_range(text);
  const std::size_t dash = text.find('-');
  require(without_leading_zeros(text.substr(0, dash)) == std::to_string(range.first),
          "FIRST is what was written");
  if (range.last) {
    require(without_leading_zeros(text.substr(dash + 1)) == std::to_string(*range.last),
            "LAST is what was written");
    require(range.first <= *range.last, "a range is in order");
  } else {
    require(dash + 1 == text.size(), "an open end is written as one");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  try {
    check({reinterpret_cast<const char*>(data), bytes});
  } catch (const paes::Error& error) {
    require(error.code == paes::ErrorCode::usage, "a bad range is a usage error");
  }
  return 0;
}
