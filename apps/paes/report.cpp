#include "paes/report.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "stream/wait.hpp"

namespace paes::cli {

namespace {

// One write per line, so that lines of several processes do not interleave. A closed standard error
// leaves nobody to tell.
void write_line(std::string line) {
  line += '\n';
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return shown;
}

void print_error(const Error& error) {
  write_line("paes: " + printable(error.what()));
  if (!error.hint.empty()) {
    print_hint(error.hint);
  }
}

void print_warning(std::string_view what_why) {
  write_line("paes: warning: " + printable(what_why));
}

void print_hint(std::string_view hint) { write_line("paes: hint: " + printable(hint)); }

void print_note(std::string_view line) { write_line(printable(line)); }

void print_result(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    stream::throw_errno("standard output");
  }
}

void print_json(const nlohmann::ordered_json& document) {
  // File names need not be UTF-8; JSON must be.
  print_result(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
               "\n");
}

nlohmann::ordered_json to_json(const Error& error) {
  nlohmann::ordered_json document = {{"code", static_cast<int>(error.code)},
                                     {"message", error.what()}};
  if (!error.hint.empty()) {
    document["hint"] = error.hint;
  }
  return document;
}

void print_json_failure(const char* command, const std::string& file, const Error& error) {
  print_json({{"command", command}, {"file", file}, {"error", to_json(error)}});
}

std::string human_bytes(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, units[unit]);
}

}  // namespace paes::cli
