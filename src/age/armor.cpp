// SPDX-License-Identifier: Apache-2.0
#include "age/armor.hpp"

#include <algorithm>

#include "crypto/libcrypto.hpp"
#include "encoding/encodings.hpp"
#include "paes/error.hpp"

namespace paes::age {

namespace {

Error refused(const char* why) { return {ErrorCode::corrupt, std::string("armor: ") + why}; }

bool is_whitespace(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

bool is_blank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(), is_whitespace);
}

// A line of the armor and its line feed.
void append_line(Bytes bytes, std::string& text) {
  base64::append_public(bytes, text);
  text.push_back('\n');
}

}  // namespace

bool is_armored(Bytes first_bytes) noexcept {
  const std::string_view text = libcrypto::text_of(first_bytes);
  const auto begin = std::find_if_not(text.begin(), text.end(), is_whitespace);
  return text.substr(static_cast<std::size_t>(begin - text.begin())).starts_with(armor_begin);
}

void ArmorWriter::add(Bytes file, std::string& text) {
  if (!has_begun_) {
    text.append(armor_begin).append("\n");
    has_begun_ = true;
  }
  if (line_bytes_ != 0) {
    file = file.subspan(fill_line(file));
    if (line_bytes_ == armor_line_bytes) {
      append_line(line_, text);
      line_bytes_ = 0;
    }
  }
  while (file.size() >= armor_line_bytes) {
    append_line(file.first(armor_line_bytes), text);
    file = file.subspan(armor_line_bytes);
  }
  fill_line(file);
}

std::size_t ArmorWriter::fill_line(Bytes file) noexcept {
  const std::size_t more = std::min(file.size(), line_.size() - line_bytes_);
  std::copy_n(file.begin(), more, line_.begin() + static_cast<std::ptrdiff_t>(line_bytes_));
  line_bytes_ += more;
  return more;
}

void ArmorWriter::end(std::string& text) {
  add({}, text);
  if (line_bytes_ != 0) {
    append_line(Bytes(line_).first(line_bytes_), text);
    line_bytes_ = 0;
  }
  text.append(armor_end).append("\n");
}

void ArmorReader::add(Bytes text, std::vector<std::uint8_t>& file) {
  std::string_view rest = libcrypto::text_of(text);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view part = rest.substr(0, end);
    // No valid line is longer than the whitespace around the armor.
    if (partial_.size() + part.size() > max_armor_whitespace) {
      throw refused("a line is too long");
    }
    if (end == std::string_view::npos) {
      partial_.append(part);
      return;
    }
    if (partial_.empty()) {
      take_line(part, file);
    } else {
      partial_.append(part);
      take_line(partial_, file);
      partial_.clear();
    }
    rest.remove_prefix(end + 1);
  }
}

void ArmorReader::end(std::vector<std::uint8_t>& file) {
  if (!partial_.empty()) {
    take_line(partial_, file);
    partial_.clear();
  }
  if (place_ != Place::after) {
    throw refused(place_ == Place::before ? "there is none" : "its last line is missing");
  }
}

void ArmorReader::take_whitespace(std::string_view line) {
  whitespace_ += line.size() + 1;
  if (!is_blank(line) || whitespace_ > max_armor_whitespace + 1) {
    throw refused("around it, or on its first line, is something else");
  }
}

void ArmorReader::take_line(std::string_view line, std::vector<std::uint8_t>& file) {
  const std::string_view content =
      !line.empty() && line.back() == '\r' ? line.substr(0, line.size() - 1) : line;
  if (place_ == Place::before && content == armor_begin) {
    place_ = Place::inside;
    whitespace_ = 0;
  } else if (place_ == Place::before || place_ == Place::after) {
    take_whitespace(line);
  } else if (content == armor_end) {
    place_ = Place::after;
  } else if (place_ == Place::inside) {
    decode_line(content, file);
  } else {
    throw refused("a line in the middle is shorter than 64 characters");
  }
}

void ArmorReader::decode_line(std::string_view line, std::vector<std::uint8_t>& file) {
  if (line.empty() || line.size() > armor_columns || line.size() % 4 != 0) {
    throw refused("a line has a wrong length");
  }
  if (!base64::append_decoded_public(line, file)) {
    throw refused("a line is not canonical Base 64");
  }
  if (line.size() < armor_columns || line.ends_with('=')) {
    place_ = Place::last_line_read;
  }
}

}  // namespace paes::age
