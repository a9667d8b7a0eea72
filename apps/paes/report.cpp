#include "paes/report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/descriptor.hpp"

namespace paes::cli {

namespace {

bool is_silent = false;
bool printed_json = false;

// One write per line, so that lines of several processes do not interleave. A closed standard error
// leaves nobody to tell.
void write_line(std::string line) {
  if (is_silent) {
    return;
  }
  line += '\n';
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
  (void)std::fflush(stderr);
}

unsigned byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

// How many bytes the character has that `text` begins with; 0 when a terminal might obey it:
// control characters, those above 0x7f included (C1, of which U+009B begins a sequence), and what
// is not UTF-8, in which a terminal set to another encoding may see one.
std::size_t harmless_bytes(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) {
    return lead < 0x20 || lead == 0x7f ? 0 : 1;
  }
  const std::size_t bytes = lead < 0xc2   ? 0
                            : lead < 0xe0 ? 2
                            : lead < 0xf0 ? 3
                            : lead < 0xf5 ? 4
                                          : 0;
  if (bytes > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  return lead == 0xc2 && byte_at(text, 1) < 0xa0 ? 0 : bytes;
}

// JSON leaves DEL and the C1 controls as they are; a terminal that shows the document obeys them.
// Outside of strings the document has no such byte.
std::string escape_controls(const std::string& json) {
  std::string escaped;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const unsigned byte = byte_at(json, i);
    const unsigned next = i + 1 < json.size() ? byte_at(json, i + 1) : 0;
    if (byte == 0x7f) {
      escaped += "\\u007f";
    } else if (byte == 0xc2 && next < 0xa0) {
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}", next);
      ++i;
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = harmless_bytes(text);
    if (bytes == 0) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", byte_at(text, 0));
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return shown;
}

std::string shown_name(const std::string& file) { return file == "-" ? "standard input" : file; }

void silence() noexcept { is_silent = true; }

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
  if (is_silent) {
    return;
  }
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    throw_standard_output_errno();
  }
  check_as_if_closed(STDOUT_FILENO, "standard output");
}

void print_json(const nlohmann::ordered_json& document) {
  printed_json = true;
  // File names need not be UTF-8; JSON must be.
  print_result(escape_controls(
                   document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
               "\n");
}

bool has_printed_json() noexcept { return printed_json; }

nlohmann::ordered_json to_json(const Error& error) {
  nlohmann::ordered_json document = {{"code", static_cast<int>(error.code)},
                                     {"message", error.what()}};
  if (!error.hint.empty()) {
    document["hint"] = error.hint;
  }
  return document;
}

nlohmann::ordered_json failure_document(const std::string& command, const Error& error) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  if (!command.empty()) {
    document["command"] = command;
  }
  document["exit_code"] = static_cast<int>(error.code);
  document["error"] = to_json(error);
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
