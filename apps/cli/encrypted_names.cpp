// SPDX-License-Identifier: Apache-2.0
#include "cli/encrypted_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "cli/report.hpp"

namespace paes::cli {

std::vector<std::string> encrypted_suffixes() {
  std::vector<std::string> all;
  for (const stream::FileFormat* const format : stream::file_formats()) {
    all.emplace_back(format->suffix);
  }
  return all;
}

const stream::FileFormat* format_of_name(const std::string& name) {
  const std::size_t name_bytes = name.size() - (name.rfind('/') + 1);  // npos + 1 is 0
  for (const stream::FileFormat* const format : stream::file_formats()) {
    const std::string_view suffix = format->suffix;
    if (name.ends_with(suffix) && name_bytes != suffix.size()) {
      return format;
    }
  }
  return nullptr;
}

bool takes_name(InputKind kind, const std::string& name) {
  const stream::FileFormat* const format = format_of_name(name);
  return kind == InputKind::plain ||
         (format != nullptr && format->is_bare() == (kind == InputKind::bare));
}

std::string encrypted_name(const std::string& input, const stream::FileFormat& format) {
  return input == "-" ? "-" : input + format.suffix;
}

std::string decrypted_name(const std::string& input) {
  if (input == "-") {
    return input;
  }
  const stream::FileFormat* const format = format_of_name(input);
  if (format == nullptr) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: has no suffix {} to leave out", input,
                            fmt::join(encrypted_suffixes(), " or ")),
                "name the output with -o");
  }
  return input.substr(0, input.size() - std::string_view(format->suffix).size());
}

}  // namespace paes::cli
