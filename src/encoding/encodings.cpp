// SPDX-License-Identifier: Apache-2.0
#include "encoding/encodings.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

#include "core/secret.hpp"

namespace paes {

namespace {

// Cuts a stream of bits into groups of `To` bits. at(0) to at(count - 1) return `From` bits each;
// then come zeros.
template <unsigned From, unsigned To, typename At>
void regroup(std::size_t count, At at, MutableBytes groups) noexcept {
  unsigned pending = 0;
  unsigned bits = 0;
  std::size_t next = 0;
  for (std::uint8_t& group : groups) {
    for (; bits < To; bits += From) {
      pending = pending << From | (next < count ? unsigned{at(next++)} : 0U);
    }
    bits -= To;
    group = static_cast<std::uint8_t>(pending >> bits & ((1U << To) - 1));
  }
}

constexpr unsigned mask_if_equal(unsigned a, unsigned b) noexcept {
  // a and b are below 2^31, so bit 31 is set only if a ^ b is 0
  return 0U - (((a ^ b) - 1U) >> 31);
}

// All ones if true, else zero. The arguments are below 2^31.
constexpr unsigned mask_if_within(unsigned c, unsigned first, unsigned last) noexcept {
  return 0U - (((first - 1 - c) & (c - last - 1)) >> 31);
}

}  // namespace

namespace base64 {

namespace {

// The characters of one alphabet, and the symbol of every character.
struct Symbols {
  std::array<char, 64> characters;
  std::array<std::uint8_t, 256> values;
};

constexpr std::uint8_t no_symbol = 0xff;  // has bits that no symbol has

constexpr Symbols symbols_of(std::string_view last_two) {
  constexpr std::string_view first =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  Symbols symbols{};
  std::copy(last_two.begin(), last_two.end(),
            std::copy(first.begin(), first.end(), symbols.characters.begin()));
  symbols.values.fill(no_symbol);
  for (std::size_t i = 0; i < symbols.characters.size(); ++i) {
    symbols.values[static_cast<unsigned char>(symbols.characters[i])] =
        static_cast<std::uint8_t>(i);
  }
  return symbols;
}

constexpr Symbols standard_symbols = symbols_of("+/");
constexpr Symbols url_symbols = symbols_of("-_");

const Symbols& symbols_of(Alphabet alphabet) noexcept {
  return alphabet == Alphabet::url ? url_symbols : standard_symbols;
}

// The symbol of a character, computed without the table.
unsigned symbol_of(char character) noexcept {
  const unsigned c = static_cast<unsigned char>(character);
  const unsigned capital = mask_if_within(c, 'A', 'Z');
  const unsigned small = mask_if_within(c, 'a', 'z');
  const unsigned digit = mask_if_within(c, '0', '9');
  const unsigned plus = mask_if_equal(c, '+');
  const unsigned slash = mask_if_equal(c, '/');
  return (capital & (c - 'A')) | (small & (c - 'a' + 26)) | (digit & (c - '0' + 52)) | (plus & 62) |
         (slash & 63) | (~(capital | small | digit | plus | slash) & no_symbol);
}

unsigned character_of(unsigned symbol) noexcept {
  return (mask_if_within(symbol, 0, 25) & (symbol + 'A')) |
         (mask_if_within(symbol, 26, 51) & (symbol - 26 + 'a')) |
         (mask_if_within(symbol, 52, 61) & (symbol - 52 + '0')) |
         (mask_if_equal(symbol, 62) & '+') | (mask_if_equal(symbol, 63) & '/');
}

// What the symbols of a text have in common: enough to tell whether it is canonical.
struct Spelling {
  void add(unsigned symbol) noexcept {
    all |= symbol;
    last = symbol;
  }
  [[nodiscard]] bool is_canonical(std::size_t count) const noexcept {
    // Six bits make no byte. The bits left over from two or three symbols must be zero.
    const unsigned unused_bits = count % 4 == 2 ? 15 : count % 4 == 3 ? 3 : 0;
    return count % 4 != 1 && all <= 63 && (last & unused_bits) == 0;
  }

  unsigned all = 0;
  unsigned last = 0;
};

}  // namespace

void append_public(Bytes data, std::string& text, Form form) {
  const std::array<char, 64>& characters = symbols_of(form.alphabet).characters;
  const std::size_t had = text.size();
  text.resize(had + (form.is_padded ? (data.size() + 2) / 3 * 4 : text_length(data.size())), '=');
  char* to = text.data() + had;
  const auto put = [&](std::uint32_t group, unsigned count) {
    for (unsigned c = 0; c < count; ++c) {
      *to++ = characters[group >> (18 - 6 * c) & 63];
    }
  };
  std::size_t i = 0;
  for (; i + 3 <= data.size(); i += 3) {
    put(std::uint32_t{data[i]} << 16 | std::uint32_t{data[i + 1]} << 8 | data[i + 2], 4);
  }
  if (data.size() - i == 1) {
    put(std::uint32_t{data[i]} << 16, 2);
  } else if (data.size() - i == 2) {
    put(std::uint32_t{data[i]} << 16 | std::uint32_t{data[i + 1]} << 8, 3);
  }
}

bool decode_public(std::string_view text, MutableBytes data, Form form) noexcept {
  assert(data.size() == decoded_bytes(text, form));
  const std::array<std::uint8_t, 256>& values = symbols_of(form.alphabet).values;
  if (form.is_padded && text.size() % 4 != 0) {
    return false;
  }
  std::uint8_t* to = data.data();
  std::uint8_t seen = 0;
  const auto bits_of = [&](std::size_t at, std::size_t count) {
    std::uint32_t bits = 0;
    for (std::size_t c = 0; c < count; ++c) {
      const std::uint8_t value = values[static_cast<unsigned char>(text[at + c])];
      seen |= value;
      bits = bits << 6 | (value & 63U);
    }
    return bits << (6 * (4 - count));
  };
  // One or two bytes after the whole groups take two or three symbols.
  const std::size_t whole = data.size() / 3;
  for (std::size_t group = 0; group < whole; ++group) {
    const std::uint32_t bits = bits_of(4 * group, 4);
    *to++ = static_cast<std::uint8_t>(bits >> 16);
    *to++ = static_cast<std::uint8_t>(bits >> 8);
    *to++ = static_cast<std::uint8_t>(bits);
  }
  const std::size_t rest = data.size() % 3;
  std::uint32_t left_over = 0;
  if (rest != 0) {
    const std::uint32_t bits = bits_of(4 * whole, rest + 1);
    for (std::size_t i = 0; i < rest; ++i) {
      *to++ = static_cast<std::uint8_t>(bits >> (16 - 8 * i));
    }
    left_over = bits & ((1U << (24 - 8 * rest)) - 1);
  }
  // A single symbol more makes no byte.
  const bool is_whole = form.is_padded || text_length(data.size()) == text.size();
  return is_whole && seen <= 63 && left_over == 0;
}

bool append_decoded_public(std::string_view groups, std::vector<std::uint8_t>& data) {
  const std::size_t had = data.size();
  data.resize(had + decoded_bytes(groups));
  return decode_public(groups, MutableBytes(data).subspan(had), {});
}

std::string encode(Bytes data) {
  std::string text(text_length(data.size()), '\0');
  regroup<8, 6>(data.size(), [data](std::size_t i) { return data[i]; },
                {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  for (char& c : text) {
    c = static_cast<char>(character_of(static_cast<unsigned char>(c)));
  }
  return text;
}

bool is_canonical(std::string_view text) noexcept {
  Spelling spelling;
  for (const char c : text) {
    spelling.add(symbol_of(c));
  }
  return spelling.is_canonical(text.size());
}

bool decode(std::string_view text, MutableBytes data) noexcept {
  if (text.size() != text_length(data.size())) {
    return false;
  }
  Spelling spelling;
  regroup<6, 8>(
      text.size(),
      [&](std::size_t i) {
        const unsigned symbol = symbol_of(text[i]);
        spelling.add(symbol);
        return static_cast<std::uint8_t>(symbol);
      },
      data);
  return spelling.is_canonical(text.size());
}

}  // namespace base64

namespace hexadecimal {

unsigned value_of(std::uint8_t character) noexcept {
  const unsigned c = character;
  const unsigned digit = mask_if_within(c, '0', '9');
  const unsigned small = mask_if_within(c, 'a', 'f');
  const unsigned capital = mask_if_within(c, 'A', 'F');
  return (digit & (c - '0')) | (small & (c - 'a' + 10)) | (capital & (c - 'A' + 10)) |
         (~(digit | small | capital) & 16U);
}

bool decode(std::string_view text, MutableBytes data) noexcept {
  if (text.size() != 2 * data.size()) {
    return false;
  }
  unsigned seen = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const unsigned high = value_of(static_cast<std::uint8_t>(text[2 * i]));
    const unsigned low = value_of(static_cast<std::uint8_t>(text[2 * i + 1]));
    seen |= high | low;
    data[i] = static_cast<std::uint8_t>(high << 4 | (low & 15));
  }
  return seen < 16;
}

}  // namespace hexadecimal

namespace bech32 {

namespace {

// The alphabet in the letter case of the human-readable part.
std::string_view alphabet_for(std::string_view human_part) noexcept {
  const bool has_capitals = std::any_of(human_part.begin(), human_part.end(),
                                        [](char c) { return c >= 'A' && c <= 'Z'; });
  return has_capitals ? "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" : "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
}

// 0xff for a character that is not in the alphabet.
unsigned symbol_of(char character, std::string_view alphabet) noexcept {
  unsigned symbol = 0xff;
  for (unsigned i = 0; i < alphabet.size(); ++i) {
    const auto c = static_cast<unsigned char>(character);
    symbol &= ~mask_if_equal(c, static_cast<unsigned char>(alphabet[i])) | i;
  }
  return symbol;
}

std::uint8_t character_of(unsigned symbol, std::string_view alphabet) noexcept {
  unsigned character = 0;
  for (unsigned i = 0; i < alphabet.size(); ++i) {
    character |= mask_if_equal(symbol, i) & static_cast<unsigned char>(alphabet[i]);
  }
  return static_cast<std::uint8_t>(character);
}

// BIP 173's BCH code over GF(32), of the human-readable part in lower case and of all symbols.
std::uint32_t polymod(std::string_view human_part, Bytes symbols) noexcept {
  constexpr std::array<std::uint32_t, 5> generator = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
                                                      0x3d4233dd, 0x2a1462b3};
  std::uint32_t state = 1;
  const auto add = [&](unsigned symbol) {
    const std::uint32_t top = state >> 25;
    state = (state & 0x1ffffff) << 5 ^ symbol;
    for (unsigned i = 0; i < generator.size(); ++i) {
      state ^= (0U - ((top >> i) & 1)) & generator[i];
    }
  };
  for (const char c : human_part) {
    add(static_cast<unsigned>(c | 0x20) >> 5);  // the bit that a capital lacks
  }
  add(0);
  for (const char c : human_part) {
    add(static_cast<unsigned>(c) & 31);
  }
  for (const std::uint8_t symbol : symbols) {
    add(symbol);
  }
  return state;
}

}  // namespace

void encode(std::string_view human_part, Bytes data, MutableBytes text) {
  assert(text.size() == text_length(human_part, data.size()));
  const std::size_t before_checksum = data_symbols(data.size());
  std::vector<std::uint8_t> symbols(before_checksum + checksum_symbols);
  const WipeOnExit wiped(symbols);
  regroup<8, 5>(
      data.size(), [data](std::size_t i) { return data[i]; },
      MutableBytes(symbols).first(before_checksum));
  const std::uint32_t checksum = polymod(human_part, symbols) ^ 1;
  for (std::size_t i = 0; i < checksum_symbols; ++i) {
    symbols[before_checksum + i] =
        static_cast<std::uint8_t>(checksum >> (5 * (checksum_symbols - 1 - i)) & 31);
  }
  const std::string_view alphabet = alphabet_for(human_part);
  auto next = std::copy(human_part.begin(), human_part.end(), text.begin());
  *next++ = '1';
  std::transform(symbols.begin(), symbols.end(), next,
                 [&](std::uint8_t symbol) { return character_of(symbol, alphabet); });
}

std::string encode(std::string_view human_part, Bytes data) {
  std::string text(text_length(human_part, data.size()), '\0');
  encode(human_part, data, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

Decoded decode(std::string_view text, std::string_view human_part, MutableBytes data) {
  if (!text.starts_with(human_part) || !text.substr(human_part.size()).starts_with('1')) {
    return Decoded::other_kind;
  }
  if (text.size() != text_length(human_part, data.size())) {
    return Decoded::bad_length;
  }
  const std::string_view alphabet = alphabet_for(human_part);
  const std::size_t before_checksum = data_symbols(data.size());
  std::vector<std::uint8_t> symbols(before_checksum + checksum_symbols);
  const WipeOnExit wiped(symbols);
  unsigned all = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const unsigned symbol = symbol_of(text[human_part.size() + 1 + i], alphabet);
    all |= symbol;
    symbols[i] = static_cast<std::uint8_t>(symbol);
  }
  if (all > 31) {
    return Decoded::bad_character;
  }
  if (polymod(human_part, symbols) != 1) {
    return Decoded::bad_checksum;
  }
  regroup<5, 8>(
      before_checksum, [&](std::size_t i) { return symbols[i]; }, data);
  // BIP 173: the bits left over must be zero, so that a key has only one spelling.
  const std::size_t padding_bits = before_checksum * 5 - data.size() * 8;
  const unsigned padding = (1U << padding_bits) - 1;
  const unsigned last = before_checksum == 0 ? 0 : symbols[before_checksum - 1];
  return (last & padding) == 0 ? Decoded::good : Decoded::bad_padding;
}

}  // namespace bech32

}  // namespace paes
