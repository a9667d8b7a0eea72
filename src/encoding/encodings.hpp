// SPDX-License-Identifier: Apache-2.0
// Ways to write bytes as text: Base 64 for headers, armor, SSH's keys and file names, Bech32 for
// age's own keys, and hexadecimal digits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

// Standard Base 64, canonical only, without padding unless a name says otherwise (RFC 4648,
// sections 4 and 3.5). No branch and no index depends on the data, which may be secret; only
// lengths and results are public. The faster functions for bulk data do depend on it, and say so in
// their names.
namespace paes::base64 {

[[nodiscard]] constexpr std::size_t text_length(std::size_t bytes) noexcept {
  return (bytes * 8 + 5) / 6;
}

[[nodiscard]] std::string encode(Bytes data);

// True if `text` is the canonical encoding of some bytes.
[[nodiscard]] bool is_canonical(std::string_view text) noexcept;

// True if `text` is the canonical encoding of exactly data.size() bytes, which are then in `data`.
[[nodiscard]] bool decode(std::string_view text, MutableBytes data) noexcept;

// What the fast functions for bulk data write. RFC 4648 has two alphabets: URLs and file names
// cannot hold the '+' and '/' of section 4, so section 5 has '-' and '_' instead.
enum class Alphabet { standard, url };
struct Form {
  Alphabet alphabet = Alphabet::standard;
  bool is_padded = true;  // groups of four characters
};

// Looks characters up in a table.
void append_public(Bytes data, std::string& text, Form form = {});

// How many bytes a text stands for, if it is canonical.
[[nodiscard]] constexpr std::size_t decoded_bytes(std::string_view text, Form form = {}) noexcept {
  const std::size_t padding = !form.is_padded        ? 0
                              : text.ends_with("==") ? 2
                              : text.ends_with('=')  ? 1
                                                     : 0;
  const std::size_t symbols = text.size() - padding;
  return symbols / 4 * 3 + symbols % 4 * 3 / 4;
}

// True if `text` is the canonical encoding of some bytes. `data` has room for decoded_bytes() and
// gets them; otherwise it has no meaning. Looks characters up in a table.
[[nodiscard]] bool decode_public(std::string_view text, MutableBytes data, Form form) noexcept;

// Appends to `data` the bytes of these groups, the last of which may have padding. False unless
// they are canonical; what was appended then has no meaning. Looks characters up in a table.
[[nodiscard]] bool append_decoded_public(std::string_view groups, std::vector<std::uint8_t>& data);

}  // namespace paes::base64

// Hexadecimal digits in either case (RFC 4648, section 8). No branch and no index depends on them.
namespace paes::hexadecimal {

// The value of a digit, and 16 or more for anything else.
[[nodiscard]] unsigned value_of(std::uint8_t character) noexcept;

// True if `text` has two digits for each byte of `data`, which then has them.
[[nodiscard]] bool decode(std::string_view text, MutableBytes data) noexcept;

}  // namespace paes::hexadecimal

// Bech32 (BIP 173) for keys of any length. A text must have the same letter case as the given
// human-readable part. No branch and no index depends on the data, which may be a secret key; only
// its length and the result are public.
namespace paes::bech32 {

inline constexpr std::size_t key_bytes = 32;  // of most keys
inline constexpr std::size_t checksum_symbols = 6;

// How many symbols of 5 bits the data takes. The bits left over in the last one are padding.
[[nodiscard]] constexpr std::size_t data_symbols(std::size_t data_bytes) noexcept {
  return (data_bytes * 8 + 4) / 5;
}

enum class Decoded { good, other_kind, bad_length, bad_character, bad_checksum, bad_padding };

// The text is the human-readable part, '1', data and checksum.
[[nodiscard]] constexpr std::size_t text_length(std::string_view human_part,
                                                std::size_t data_bytes = key_bytes) noexcept {
  return human_part.size() + 1 + data_symbols(data_bytes) + checksum_symbols;
}
// How many bytes a text of this length holds.
[[nodiscard]] constexpr std::size_t data_bytes_of(std::string_view text,
                                                  std::string_view human_part) noexcept {
  const std::size_t others = text_length(human_part, 0);
  return text.size() < others ? 0 : (text.size() - others) * 5 / 8;
}

// `human_part` has the letter case in which the whole text is written.
void encode(std::string_view human_part, Bytes data, MutableBytes text);
// The text of what is public.
[[nodiscard]] std::string encode(std::string_view human_part, Bytes data);

// `data` has a meaning only if the result is good; if it is secret, the caller wipes it in any
// case. A text that holds another number of bytes is of bad length.
[[nodiscard]] Decoded decode(std::string_view text, std::string_view human_part, MutableBytes data);

}  // namespace paes::bech32
