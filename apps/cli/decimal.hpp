// SPDX-License-Identifier: Apache-2.0
// Numbers on the command line are decimal. CLI11 reads 010 as octal and 0x10 as hexadecimal, as C
// does. Without a warning, that would give a wrong number of threads.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

namespace paes::cli {

// Refuses leading zeros and a leading plus. Also accepts sizes with a unit; it must run before the
// validator that converts them.
inline CLI::Validator decimal() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        if (text.starts_with('+')) {
          return "'" + text + "': numbers are decimal, without a sign in front";
        }
        const std::size_t first = text.find_first_not_of('-');
        if (first == std::string::npos || text[first] != '0') {
          return {};
        }
        const bool is_zero = text.find_first_of("0123456789xX", first + 1) == std::string::npos;
        return is_zero ? std::string()
                       : "'" + text + "': numbers are decimal, without a 0 in front";
      },
      "");
}

// Bytes, with a unit or without: k, M, G, T (kB, ...) are powers of 1000, Ki, Mi, Gi, Ti (KiB, ...)
// of 1024, in whatever case. One rule for every option of every program.
inline CLI::Option* takes_bytes(CLI::Option* option) {
  // CLI11 reads a unit alone as one of that unit, wraps negative numbers, and silently clamps
  // numbers that do not fit 64 bits.
  const CLI::Validator begins_with_digit(
      [](std::string& text) -> std::string {
        constexpr std::size_t most_digits = 19;
        const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        return text.empty() || (digits > 0 && digits <= most_digits)
                   ? std::string()
                   : "'" + text + "': is not a number of bytes";
      },
      "");
  // The table of units is made when a value comes, not at each start.
  const CLI::Validator as_size([](std::string& text) { return CLI::AsSizeValue(true)(text); }, "");
  return option->transform(as_size)->transform(decimal())->transform(begins_with_digit);
}

}  // namespace paes::cli
