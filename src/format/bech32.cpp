// Bech32 after BIP 173, with masks in the place of its tables; see bech32.hpp.
#include "format/bech32.hpp"

#include <array>
#include <cassert>

#include "core/secret.hpp"

namespace paes::bech32 {

namespace {

constexpr std::string_view alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::size_t data_symbols = 52;  // 260 bits: four of padding
constexpr std::size_t checksum_symbols = 6;
constexpr std::size_t symbol_count = data_symbols + checksum_symbols;
constexpr unsigned no_symbol = 0xff;

using Symbols = std::array<std::uint8_t, symbol_count>;

constexpr unsigned mask_if_equal(unsigned a, unsigned b) noexcept {
  return 0u - (((a ^ b) - 1u) >> 31);  // both below 2^31: the difference borrows only from zero
}

constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }

bool written_in_capitals(std::string_view human_part) noexcept {
  for (const char c : human_part) {
    if (is_upper(c)) {
      return true;
    }
  }
  return false;
}

constexpr unsigned in_case(char c, bool capitals) noexcept {
  return static_cast<unsigned char>(capitals && is_lower(c) ? c - 'a' + 'A' : c);
}

unsigned symbol_of(unsigned character, bool capitals) noexcept {
  unsigned symbol = 0;
  unsigned found = 0;
  for (unsigned i = 0; i < alphabet.size(); ++i) {
    const unsigned mask = mask_if_equal(character, in_case(alphabet[i], capitals));
    symbol |= mask & i;
    found |= mask;
  }
  return symbol | (~found & no_symbol);
}

std::uint8_t character_of(unsigned symbol, bool capitals) noexcept {
  unsigned character = 0;
  for (unsigned i = 0; i < alphabet.size(); ++i) {
    character |= mask_if_equal(symbol, i) & in_case(alphabet[i], capitals);
  }
  return static_cast<std::uint8_t>(character);
}

// One step of BIP 173's BCH code over GF(32).
std::uint32_t polymod_step(std::uint32_t state, unsigned symbol) noexcept {
  constexpr std::array<std::uint32_t, 5> generator = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
                                                      0x3d4233dd, 0x2a1462b3};
  const std::uint32_t top = state >> 25;
  state = (state & 0x1ffffff) << 5 ^ symbol;
  for (unsigned i = 0; i < generator.size(); ++i) {
    state ^= (0u - ((top >> i) & 1)) & generator[i];
  }
  return state;
}

std::uint32_t polymod_of_human_part(std::string_view human_part) noexcept {
  std::uint32_t state = 1;
  const auto lower = [](char c) {
    return static_cast<unsigned>(is_upper(c) ? c - 'A' + 'a' : c);  // the checksum's case
  };
  for (const char c : human_part) {
    state = polymod_step(state, lower(c) >> 5);
  }
  state = polymod_step(state, 0);
  for (const char c : human_part) {
    state = polymod_step(state, lower(c) & 31);
  }
  return state;
}

}  // namespace

void encode(std::string_view human_part, std::span<const std::uint8_t, data_bytes> data,
            MutableBytes text) noexcept {
  assert(text.size() == text_length(human_part));
  Symbols symbols{};
  const WipeOnExit wiped(symbols);
  unsigned pending = 0;  // fewer than 13 bits
  unsigned bits = 0;
  std::size_t filled = 0;
  for (const std::uint8_t byte : data) {
    pending = (pending << 8 | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) {
      symbols[filled++] = static_cast<std::uint8_t>(pending >> (bits - 5) & 31);
    }
  }
  symbols[filled++] = static_cast<std::uint8_t>(pending << (5 - bits) & 31);
  assert(filled == data_symbols);

  std::uint32_t state = polymod_of_human_part(human_part);
  for (std::size_t i = 0; i < data_symbols; ++i) {
    state = polymod_step(state, symbols[i]);
  }
  for (std::size_t i = 0; i < checksum_symbols; ++i) {
    state = polymod_step(state, 0);
  }
  state ^= 1;
  for (std::size_t i = 0; i < checksum_symbols; ++i) {
    symbols[filled++] = static_cast<std::uint8_t>(state >> (5 * (checksum_symbols - 1 - i)) & 31);
  }

  const bool capitals = written_in_capitals(human_part);
  std::size_t at = 0;
  for (const char c : human_part) {
    text[at++] = static_cast<std::uint8_t>(c);
  }
  text[at++] = '1';
  for (const std::uint8_t symbol : symbols) {
    text[at++] = character_of(symbol, capitals);
  }
}

Decoded decode(std::string_view text, std::string_view human_part,
               std::span<std::uint8_t, data_bytes> data) noexcept {
  if (!text.starts_with(human_part) || !text.substr(human_part.size()).starts_with('1')) {
    return Decoded::other_kind;
  }
  if (text.size() != text_length(human_part)) {
    return Decoded::bad_length;
  }
  const std::string_view written = text.substr(human_part.size() + 1);
  const bool capitals = written_in_capitals(human_part);
  Symbols symbols;
  const WipeOnExit wiped(symbols);
  unsigned foreign = 0;
  std::uint32_t state = polymod_of_human_part(human_part);
  for (std::size_t i = 0; i < symbol_count; ++i) {
    const unsigned symbol = symbol_of(static_cast<unsigned char>(written[i]), capitals);
    foreign |= symbol & ~31u;
    symbols[i] = static_cast<std::uint8_t>(symbol & 31);
    state = polymod_step(state, symbols[i]);
  }
  if (foreign != 0) {
    return Decoded::bad_character;
  }
  if (state != 1) {
    return Decoded::bad_checksum;
  }

  unsigned pending = 0;
  unsigned bits = 0;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < data_symbols; ++i) {
    pending = (pending << 5 | symbols[i]) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      data[filled++] = static_cast<std::uint8_t>(pending >> bits);
    }
  }
  // BIP 173: what is left over must be zero, so that a key has one spelling.
  return (pending & ((1u << bits) - 1)) == 0 ? Decoded::good : Decoded::bad_padding;
}

}  // namespace paes::bech32
