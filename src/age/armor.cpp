#include "age/armor.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "format/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes::age {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_symbol = 0xff;  // has bits that no symbol has

constexpr std::array<std::uint8_t, 256> symbols = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_symbol);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

Error refused(const char* why) { return {ErrorCode::corrupt, std::string("armor: ") + why}; }

bool is_whitespace(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

bool is_blank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(), is_whitespace);
}

// A line of the armor, with padding if it is the last, and its line feed.
void append_line(Bytes bytes, std::string& text) {
  std::size_t i = 0;
  char line[armor_columns + 1];
  char* to = line;
  const auto put = [&](std::uint32_t group, unsigned characters) {
    for (unsigned c = 0; c < 4; ++c) {
      *to++ = c < characters ? alphabet[group >> (18 - 6 * c) & 63] : '=';
    }
  };
  for (; i + 3 <= bytes.size(); i += 3) {
    put(std::uint32_t{bytes[i]} << 16 | std::uint32_t{bytes[i + 1]} << 8 | bytes[i + 2], 4);
  }
  if (bytes.size() - i == 1) {
    put(std::uint32_t{bytes[i]} << 16, 2);
  } else if (bytes.size() - i == 2) {
    put(std::uint32_t{bytes[i]} << 16 | std::uint32_t{bytes[i + 1]} << 8, 3);
  }
  *to++ = '\n';
  text.append(line, static_cast<std::size_t>(to - line));
}

}  // namespace

bool may_be_armored(Bytes first_bytes) noexcept {
  std::string_view text = libcrypto::text_of(first_bytes);
  while (!text.empty() && is_whitespace(text.front())) {
    text.remove_prefix(1);
  }
  // After whitespace only a part of the line may have come.
  const std::size_t least = text.size() < first_bytes.size() ? 0 : armor_begin.size();
  return text.size() >= least && armor_begin.starts_with(text.substr(0, armor_begin.size()));
}

void ArmorWriter::add(Bytes file, std::string& text) {
  if (!has_begun_) {
    text.append(armor_begin).append("\n");
    has_begun_ = true;
  }
  if (!line_.empty()) {
    const std::size_t more = std::min(file.size(), armor_line_bytes - line_.size());
    line_.insert(line_.end(), file.begin(), file.begin() + static_cast<std::ptrdiff_t>(more));
    file = file.subspan(more);
    if (line_.size() == armor_line_bytes) {
      append_line(line_, text);
      line_.clear();
    }
  }
  while (file.size() >= armor_line_bytes) {
    append_line(file.first(armor_line_bytes), text);
    file = file.subspan(armor_line_bytes);
  }
  line_.insert(line_.end(), file.begin(), file.end());
}

void ArmorWriter::end(std::string& text) {
  add({}, text);
  if (!line_.empty()) {
    append_line(line_, text);
    line_.clear();
  }
  text.append(armor_end).append("\n");
}

void ArmorReader::add(Bytes text, std::vector<std::uint8_t>& file) {
  std::string_view rest = libcrypto::text_of(text);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view part = rest.substr(0, end);
    // Nothing that may be accepted has a longer line than the whitespace around the armor.
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
    throw refused("there is more than whitespace around it");
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
  const std::size_t padding = line.ends_with("==") ? 2 : line.ends_with('=') ? 1 : 0;
  const std::size_t had = file.size();
  file.resize(had + line.size() / 4 * 3);
  std::uint8_t* to = file.data() + had;
  std::uint8_t seen = 0;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < line.size(); i += 4) {
    const bool is_padded = padding != 0 && i + 4 == line.size();
    group = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      const std::uint8_t symbol = is_padded && c >= 4 - padding
                                      ? std::uint8_t{0}
                                      : symbols[static_cast<unsigned char>(line[i + c])];
      seen |= symbol;
      group = group << 6 | (symbol & 63U);
    }
    *to++ = static_cast<std::uint8_t>(group >> 16);
    *to++ = static_cast<std::uint8_t>(group >> 8);
    *to++ = static_cast<std::uint8_t>(group);
  }
  const std::uint32_t left_over = padding == 0 ? 0 : group & ((1U << (8 * padding)) - 1);
  if (seen > 63 || left_over != 0) {
    throw refused("a line is not canonical Base 64");
  }
  file.resize(file.size() - padding);
  if (line.size() < armor_columns || padding != 0) {
    place_ = Place::last_line_read;
  }
}

}  // namespace paes::age
