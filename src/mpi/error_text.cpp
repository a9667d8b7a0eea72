// SPDX-License-Identifier: Apache-2.0
#include "mpi/error_text.hpp"

#include <string_view>

namespace paes::mpi {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Cuts the call from "CALL(LINE)....: CAUSE". Its name and line are for readers of MPICH.
std::string_view without_call(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) {
    return line;
  }
  const std::string_view call = line.substr(0, line.find_last_not_of('.', colon - 1) + 1);
  const bool is_call = call.ends_with(')') && call.find(' ') == std::string_view::npos;
  return is_call ? trimmed(line.substr(colon + 2)) : line;
}

}  // namespace

std::string one_line(const std::string& text) {
  const std::string_view all = trimmed(text);
  const std::size_t end = all.find('\n');
  std::string_view what = trimmed(all.substr(0, end));
  if (end == std::string_view::npos) {
    return std::string(what);
  }
  // MPICH's text: "WHAT, error stack:", then the calls from the outermost to the innermost.
  constexpr std::string_view stack = "error stack:";
  if (what.ends_with(stack)) {
    what = trimmed(what.substr(0, what.size() - stack.size()));
    what = trimmed(what.substr(0, what.find_last_not_of(',') + 1));
  }
  const std::string_view cause = without_call(trimmed(all.substr(all.rfind('\n') + 1)));
  if (what.empty() || cause.starts_with(what)) {
    return std::string(cause);
  }
  return std::string(what) + ": " + std::string(cause);
}

}  // namespace paes::mpi
