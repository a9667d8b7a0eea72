// SPDX-License-Identifier: Apache-2.0
// ASCII armor of an age v1 file (c2sp.org/age, "ASCII armor"): strict PEM with padded canonical
// Base 64 in lines of 64 columns, and nothing but whitespace around it. It holds ciphertext, so
// looking characters up in tables is safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"

namespace paes::age {

inline constexpr std::string_view armor_begin = "-----BEGIN AGE ENCRYPTED FILE-----";
inline constexpr std::string_view armor_end = "-----END AGE ENCRYPTED FILE-----";
inline constexpr std::size_t armor_columns = 64;
inline constexpr std::size_t armor_line_bytes = 48;
// Allowed before and after the armor.
inline constexpr std::size_t max_armor_whitespace = 1024;

// Whether a file begins like armor, judged by its first max_armor_head_bytes, or all of it.
inline constexpr std::size_t max_armor_head_bytes = max_armor_whitespace + armor_begin.size();
[[nodiscard]] bool is_armored(Bytes first_bytes) noexcept;

// The length of the armor around a file.
[[nodiscard]] constexpr std::uint64_t armored_bytes(std::uint64_t file_bytes) noexcept {
  const std::uint64_t characters = (file_bytes + 2) / 3 * 4;
  const std::uint64_t lines = (characters + armor_columns - 1) / armor_columns;
  return armor_begin.size() + 1 + characters + lines + armor_end.size() + 1;
}

// Turns a file into armor, in pieces of any size.
class ArmorWriter {
 public:
  // Appends to `text` the armor that is complete so far.
  void add(Bytes file, std::string& text);
  // Ends the file.
  void end(std::string& text);

 private:
  // Takes as many bytes as the line has room for, and returns their number.
  std::size_t fill_line(Bytes file) noexcept;

  bool has_begun_ = false;
  std::array<std::uint8_t, armor_line_bytes> line_ = {};
  std::size_t line_bytes_ = 0;  // in the line that is not full yet
};

// Turns armor into the file, in pieces of any size. Throws Error(corrupt) "armor: WHY".
class ArmorReader {
 public:
  // Appends to `file` the bytes of the text's whole lines.
  void add(Bytes text, std::vector<std::uint8_t>& file);
  // Ends the text.
  void end(std::vector<std::uint8_t>& file);

 private:
  enum class Place { before, inside, last_line_read, after };
  void take_line(std::string_view line, std::vector<std::uint8_t>& file);
  void take_whitespace(std::string_view line);
  void decode_line(std::string_view line, std::vector<std::uint8_t>& file);

  Place place_ = Place::before;
  std::size_t whitespace_ = 0;  // so far in this place
  std::string partial_;         // a line that is not complete yet
};

}  // namespace paes::age
