// SPDX-License-Identifier: Apache-2.0
#include "encoding/pem.hpp"

#include <algorithm>

#include "encoding/encodings.hpp"

namespace paes::pem {

namespace {

constexpr std::string_view begin_mark = "-----BEGIN ";
constexpr std::string_view end_mark = "-----END ";
constexpr std::string_view dashes = "-----";
constexpr std::string_view white = " \t\r\n";

// Takes a line, without the white space at its end.
std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.substr(0, line.find_last_not_of(white) + 1);
}

// The label of a BEGIN or END line; empty for any other line.
std::string_view label_in(std::string_view line, std::string_view mark) noexcept {
  if (!line.starts_with(mark) || !line.ends_with(dashes) ||
      line.size() < mark.size() + dashes.size()) {
    return {};
  }
  return line.substr(mark.size(), line.size() - mark.size() - dashes.size());
}

// `body` is Base 64 with padding and white space.
std::optional<SecretBytes> decode(std::string_view body) {
  SecretBytes text(body.size());
  std::size_t length = 0;
  for (const char c : body) {
    if (white.find(c) == std::string_view::npos) {
      text.data()[length++] = static_cast<std::uint8_t>(c);
    }
  }
  if (length == 0 || length % 4 != 0) {
    return std::nullopt;
  }
  std::string_view symbols(reinterpret_cast<const char*>(text.data()), length);
  for (int i = 0; i < 2 && symbols.ends_with('='); ++i) {
    symbols.remove_suffix(1);
  }
  SecretBytes data(symbols.size() * 3 / 4);
  if (!base64::decode(symbols, data)) {
    return std::nullopt;
  }
  return data;
}

}  // namespace

bool is_pem(std::string_view text) noexcept { return text.starts_with(begin_mark); }

bool has_several(std::string_view text) noexcept {
  const std::size_t first = text.find(begin_mark);
  return first != std::string_view::npos &&
         text.find(begin_mark, first + 1) != std::string_view::npos;
}

std::optional<PemBlock> parse(std::string_view text) {
  PemBlock block;
  block.label = label_in(take_line(text), begin_mark);
  if (block.label.empty()) {
    return std::nullopt;
  }
  const std::string_view body = text;
  std::size_t body_length = 0;
  for (;;) {
    if (text.empty()) {
      return std::nullopt;
    }
    body_length = body.size() - text.size();
    const std::string_view line = take_line(text);
    if (line.starts_with(dashes)) {
      if (label_in(line, end_mark) != block.label) {
        return std::nullopt;
      }
      break;
    }
    block.has_fields = block.has_fields || line.find(':') != std::string_view::npos;
  }
  if (text.find_first_not_of(white) != std::string_view::npos) {
    return std::nullopt;
  }
  if (!block.has_fields) {
    auto data = decode(body.substr(0, body_length));
    if (!data) {
      return std::nullopt;
    }
    block.data = std::move(*data);
  }
  return block;
}

}  // namespace paes::pem
