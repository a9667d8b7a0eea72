// SPDX-License-Identifier: Apache-2.0
#include "cli/report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/process.hpp"
#include "cli/shown_text.hpp"
#include "core/descriptor.hpp"
#include "core/write_all.hpp"

namespace paes::cli {

namespace {

bool is_silent = false;
bool printed_json = false;

// The progress line and the messages mostly share a terminal, and they come from several threads.
std::mutex terminal_mutex;
bool has_progress_line = false;

// Without stdio, which drops what it holds when a descriptor is not ready.
bool put(int descriptor, std::string_view text) noexcept {
  return write_all(descriptor, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                   stop_descriptor());
}

// Call it with the mutex locked. The cursor is at the line's beginning already. If a narrower
// window has folded the line, all of it is erased.
void erase_progress_line() {
  if (has_progress_line) {
    (void)put(STDERR_FILENO, "\r\033[J");
    has_progress_line = false;
  }
}

// One write per line, so that lines of several processes do not interleave. A closed standard error
// leaves nobody to tell.
void write_line(std::string line) {
  if (is_silent) {
    return;
  }
  line += '\n';
  const std::lock_guard lock(terminal_mutex);
  erase_progress_line();
  (void)put(STDERR_FILENO, line);
}

// JSON leaves harmful characters in its strings as they are, and a terminal that shows the document
// would obey them. Outside its strings the document has none except line ends.
std::string escape_harmful(std::string_view json) {
  std::string escaped;
  while (!json.empty()) {
    const Character character = first_character(json);
    if (is_harmless(character.code) || character.code == '\n') {
      escaped += json.substr(0, character.bytes);
    } else if (character.code < 0x10000) {
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}",
                     static_cast<std::uint32_t>(character.code));
    } else {
      const auto above = static_cast<std::uint32_t>(character.code) - 0x10000;
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10),
                     0xdc00 + (above & 0x3ff));
    }
    json.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return escaped;
}

void print_hint(std::string_view hint) { write_line("paes: hint: " + printable(hint)); }

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(character.bytes, 1));
    if (character.bytes != 0 && is_harmless(character.code)) {
      shown += bytes;
    } else {
      for (const char byte : bytes) {
        fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    text.remove_prefix(bytes.size());
  }
  return shown;
}

std::string shown_name(const std::string& file) { return file == "-" ? "standard input" : file; }

Error about(const std::string& name, const Error& error) {
  const std::string text = error.what();
  return text.rfind(name, 0) == 0 ? error : Error(error.code, name + ": " + text, error.hint);
}

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

void print_warning_with_hint(std::string_view what_why, std::string_view hint) {
  print_warning(what_why);
  print_hint(hint);
}

void print_note(std::string_view line) { write_line(printable(line)); }

void print_result(std::string_view text) {
  if (is_silent) {
    return;
  }
  const std::lock_guard lock(terminal_mutex);
  erase_progress_line();
  if (!put(STDOUT_FILENO, text)) {
    throw_standard_output_errno();
  }
  check_as_if_closed(STDOUT_FILENO, "standard output");
}

void print_json(const nlohmann::ordered_json& document) {
  printed_json = true;
  // File names need not be UTF-8; JSON must be.
  print_result(escape_harmful(
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

void show_progress_line(const std::string& text) {
  // The rest of the line is erased after the text is drawn, so that nothing flickers. The cursor
  // goes back to the beginning, where it stays even if the window becomes narrower and folds the
  // line. Without DECAWM nothing is folded if the window became narrower since the text was made.
  const std::string drawn = "\r\033[?7l" + text + "\033[J\r\033[?7h";
  const std::lock_guard lock(terminal_mutex);
  (void)put(STDERR_FILENO, drawn);
  has_progress_line = true;
}

void clear_progress_line() {
  const std::lock_guard lock(terminal_mutex);
  erase_progress_line();
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
