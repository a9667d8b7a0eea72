// Base 64 of RFC 4648; see base64.hpp.
#include "format/base64.hpp"

#include <array>

namespace paes::base64 {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_symbol = 0xff;

constexpr std::array<std::uint8_t, 256> symbols = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_symbol);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

std::uint8_t symbol_of(char c) noexcept { return symbols[static_cast<unsigned char>(c)]; }

}  // namespace

std::string encode(Bytes data) {
  std::string text;
  text.reserve(text_length(data.size()));
  unsigned pending = 0;
  unsigned bits = 0;
  for (const std::uint8_t byte : data) {
    pending = (pending << 8 | byte) & 0xffff;
    for (bits += 8; bits >= 6; bits -= 6) {
      text += alphabet[pending >> (bits - 6) & 63];
    }
  }
  if (bits != 0) {
    text += alphabet[pending << (6 - bits) & 63];
  }
  return text;
}

bool is_canonical(std::string_view text) noexcept {
  for (const char c : text) {
    if (symbol_of(c) == no_symbol) {
      return false;
    }
  }
  switch (text.size() % 4) {
    case 1:
      return false;  // six bits make no byte
    case 2:
      return (symbol_of(text.back()) & 15) == 0;
    case 3:
      return (symbol_of(text.back()) & 3) == 0;
    default:
      return true;
  }
}

bool decode(std::string_view text, MutableBytes data) noexcept {
  if (text.size() != text_length(data.size()) || !is_canonical(text)) {
    return false;
  }
  unsigned pending = 0;
  unsigned bits = 0;
  std::size_t filled = 0;
  for (const char c : text) {
    pending = (pending << 6 | symbol_of(c)) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      data[filled++] = static_cast<std::uint8_t>(pending >> bits);
    }
  }
  return true;
}

}  // namespace paes::base64
