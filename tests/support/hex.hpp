// SPDX-License-Identifier: Apache-2.0
// Hexadecimal text to bytes and back, for vectors written into tests.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace paes::test {

inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') {
      return static_cast<unsigned>(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
      return static_cast<unsigned>(c - 'a') + 10;
    }
    throw std::invalid_argument("not a lower-case hexadecimal digit");
  };
  if (text.size() % 2 != 0) {
    throw std::invalid_argument("odd number of hexadecimal digits");
  }
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
  }
  return bytes;
}

inline std::string to_hex(Bytes bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace paes::test
