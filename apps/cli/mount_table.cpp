// SPDX-License-Identifier: Apache-2.0
#include "cli/mount_table.hpp"

#include <charconv>
#include <fstream>

#include "core/descriptor.hpp"

namespace paes::cli {

namespace {

// The next field, which ends at a space.
std::string_view take_field(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return field;
}

// Spaces, tabs, line feeds and backslashes stand there as three octal digits after a backslash.
std::string unescaped(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    unsigned code = 0;
    const char* const digits = field.data() + i + 1;
    if (field[i] == '\\' && field.size() - i > 3 &&
        std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3 && code < 256) {
      text += static_cast<char>(code);
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

std::optional<unsigned> number_of(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

std::optional<uid_t> user_in(std::string_view options) {
  constexpr std::string_view name = "user_id=";
  for (std::size_t at = 0; at < options.size();) {
    const std::string_view option = options.substr(at, options.find(',', at) - at);
    if (option.starts_with(name)) {
      return number_of(option.substr(name.size()));
    }
    at += option.size() + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MountedPlace> parse_mounted_place(std::string_view line) {
  MountedPlace place;
  const std::optional<unsigned> id = number_of(take_field(line));
  (void)take_field(line);  // the mount that it is in
  place.device = take_field(line);
  place.root = unescaped(take_field(line));
  place.path = unescaped(take_field(line));
  (void)take_field(line);  // the options of this place
  for (std::string_view field = take_field(line); field != "-"; field = take_field(line)) {
    if (line.empty()) {
      return std::nullopt;
    }
  }
  place.type = unescaped(take_field(line));
  place.source = unescaped(take_field(line));
  place.user = user_in(take_field(line));
  if (!id || place.path.empty() || place.type.empty()) {
    return std::nullopt;
  }
  place.id = *id;
  return place;
}

std::vector<MountedPlace> read_mount_table() {
  constexpr const char* path = "/proc/self/mountinfo";
  std::ifstream file(path);
  if (!file) {
    throw_errno(path);
  }
  std::vector<MountedPlace> table;
  for (std::string line; std::getline(file, line);) {
    if (std::optional<MountedPlace> place = parse_mounted_place(line)) {
      table.push_back(*std::move(place));
    }
  }
  return table;
}

const MountedPlace* find_mounted(const std::vector<MountedPlace>& table, std::string_view path) {
  const MountedPlace* found = nullptr;
  for (const MountedPlace& place : table) {
    found = place.path == path ? &place : found;
  }
  return found;
}

bool lies_within(std::string_view path, std::string_view folder) {
  return folder == "/" || path == folder ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

}  // namespace paes::cli
