// SPDX-License-Identifier: Apache-2.0
// The textual header of an age v1 file (c2sp.org/age, "Header"): parses strictly into views of the
// file, and writes stanzas. There is no cryptography and no kind of key here; age/x25519.hpp and
// its neighbours know what arguments and body mean.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "paes/error.hpp"

namespace paes::age {

inline constexpr std::size_t file_key_bytes = 16;
inline constexpr std::size_t mac_bytes = 32;
inline constexpr std::size_t max_header_bytes = std::size_t{1} << 20;

// Views of the file, so that no part of an unknown stanza is decoded or copied.
struct Stanza {
  std::string_view arguments;  // the type first, joined by single spaces
  std::string_view body;       // canonical Base 64 in lines, without the last line feed

  [[nodiscard]] std::string_view type() const noexcept {
    return arguments.substr(0, arguments.find(' '));
  }
  // The type comes first.
  [[nodiscard]] std::vector<std::string_view> split_arguments() const;
  [[nodiscard]] std::size_t body_bytes() const noexcept;
  // False unless the body has exactly this length.
  [[nodiscard]] bool decode_body(MutableBytes to) const;
};

inline constexpr std::size_t body_columns = 64;  // of all lines but the last, which is shorter

// Takes a stanza off the front of a text. Throws Error(corrupt).
[[nodiscard]] Stanza take_stanza(std::string_view& text);

struct ParsedHeader {
  std::vector<Stanza> stanzas;  // at least one
  Bytes authenticated;          // what the MAC covers: everything up to and including "---"
  std::array<std::uint8_t, mac_bytes> mac;
  std::size_t bytes = 0;  // where the payload begins
};

// Whether a file may be an age v1 file, judging by its first bytes.
[[nodiscard]] bool is_age(Bytes first_bytes) noexcept;

// Throws Error(corrupt) for a header that is malformed, cut, or above max_header_bytes. Does not
// look at the file beyond the header.
[[nodiscard]] ParsedHeader parse_header(Bytes file);

// An Error(corrupt) "envelope: WHY".
[[nodiscard]] Error corrupt(const std::string& why, const char* hint = "");

// A stanza that is about to be written.
struct NewStanza {
  std::string arguments;  // the type first, joined by single spaces
  std::vector<std::uint8_t> body;
};

// A header consists of its version line, stanzas, and the end line that append_mac writes.
[[nodiscard]] std::string version_line();
void append_stanza(std::string& header, const NewStanza& stanza);
void append_stanza(std::string& header, const Stanza& stanza);  // unchanged
inline constexpr std::string_view mac_mark = "---";  // the MAC covers everything up to its end
void append_mac(std::string& header, const std::array<std::uint8_t, mac_bytes>& mac);

}  // namespace paes::age
