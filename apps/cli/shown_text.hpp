// SPDX-License-Identifier: Apache-2.0
// How to show foreign text on a terminal: which bytes are UTF-8, which characters a terminal obeys
// or hides, and how many columns the rest takes. Independent of the locale: paes writes UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace paes::cli {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with UTF-8
};

// Strict UTF-8 (Unicode, table 3-7): nothing overlong, no surrogates, nothing above U+10FFFF.
[[nodiscard]] Character first_character(std::string_view text) noexcept;

// False for control characters, line separators, and characters that turn text around or show
// nothing.
[[nodiscard]] bool is_harmless(char32_t code) noexcept;

// Columns of a terminal. Where terminals differ about a character this is the larger number.
[[nodiscard]] std::size_t columns_of(char32_t code) noexcept;
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;

// The whole text, or "..." and as much of its end as fits into so many columns.
[[nodiscard]] std::string end_within(std::string_view text, std::size_t columns);

}  // namespace paes::cli
