// SPDX-License-Identifier: Apache-2.0
#include "cli/shown_text.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace paes::cli {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The categories Cc, Cf, Zl and Zp of Unicode 15, letters and marks that show nothing, and the
// whole block of tags. Without U+200C and U+200D, which join: names in Persian and emoji need them.
constexpr Range harmful[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},
    {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180e, 0x180e},   {0x200b, 0x200b},   {0x200e, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

// Marks that every terminal puts on the letter before: those in names that macOS has decomposed
// (European letters, kana, Hangul), and those of Hebrew, Arabic, Devanagari and Thai.
constexpr Range no_columns[] = {
    {0x0300, 0x036f}, {0x0483, 0x0487}, {0x0591, 0x05bd}, {0x05bf, 0x05bf}, {0x05c1, 0x05c2},
    {0x05c4, 0x05c5}, {0x05c7, 0x05c7}, {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670},
    {0x06d6, 0x06dc}, {0x06df, 0x06e4}, {0x06e7, 0x06e8}, {0x06ea, 0x06ed}, {0x0900, 0x0902},
    {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1161, 0x11ff}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200c, 0x200d},
    {0x20d0, 0x20f0}, {0x3099, 0x309a}, {0xfe00, 0xfe0e}, {0xfe20, 0xfe2f}};

// East Asian wide and fullwidth, whole blocks at a time, and symbols that may be emoji.
constexpr Range two_columns[] = {
    {0x1100, 0x1160},   {0x231a, 0x231b},  {0x2329, 0x232a}, {0x23e9, 0x23f3},   {0x25fd, 0x25fe},
    {0x2600, 0x27bf},   {0x2b1b, 0x2b1c},  {0x2b50, 0x2b55}, {0x2e80, 0x303e},   {0x3041, 0x4dbf},
    {0x4e00, 0xa4cf},   {0xa960, 0xa97f},  {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe10, 0xfe19},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x16fe0, 0x18dff}, {0x1aff0, 0x1b2ff},
    {0x1f000, 0x1faff}, {0x20000, 0x3fffd}};

bool is_in(std::span<const Range> ranges, char32_t code) noexcept {
  const auto* const found = std::partition_point(ranges.data(), ranges.data() + ranges.size(),
                                                 [&](const Range& r) { return r.last < code; });
  return found != ranges.data() + ranges.size() && found->first <= code;
}

}  // namespace

Character first_character(std::string_view text) noexcept {
  constexpr char32_t least_of_length[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = lead < 0x80   ? 1
                            : lead < 0xc0 ? 0
                            : lead < 0xe0 ? 2
                            : lead < 0xf0 ? 3
                            : lead < 0xf8 ? 4
                                          : 0;
  if (bytes == 0 || bytes > text.size()) {
    return {};
  }
  char32_t code = bytes == 1 ? lead : lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80) {
      return {};
    }
    code = code << 6 | (next & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least_of_length[bytes] || is_surrogate || code > 0x10ffff) {
    return {};
  }
  return {code, bytes};
}

bool is_harmless(char32_t code) noexcept { return !is_in(harmful, code); }

std::size_t columns_of(char32_t code) noexcept {
  return is_in(no_columns, code) ? 0 : is_in(two_columns, code) ? 2 : 1;
}

std::size_t columns_of(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    columns += columns_of(character.code);
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return columns;
}

std::string end_within(std::string_view text, std::size_t columns) {
  constexpr std::string_view dots = "...";
  std::size_t left = columns_of(text);
  if (left <= columns) {
    return std::string(text);
  }
  if (columns < dots.size()) {
    return std::string(dots.substr(0, columns));
  }
  // Marks go with the letter before them.
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t own = columns_of(character.code);
    if (left + dots.size() <= columns && own != 0) {
      break;
    }
    left -= own;
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return std::string(dots) + std::string(text);
}

}  // namespace paes::cli
