// SPDX-License-Identifier: Apache-2.0
// Everything paes says: one line a message on standard error, `paes: WHAT: WHY`, and JSON on
// standard output. File names come from outside, so characters that a terminal obeys or hides are
// escaped (shown_text.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/refuse.hpp"
#include "paes/error.hpp"

namespace paes::cli {

// The text, with \xNN for bytes that are not UTF-8 and for characters that are not harmless.
[[nodiscard]] std::string printable(std::string_view text);

// What to call a file that was named on the command line: "standard input" for "-".
[[nodiscard]] std::string shown_name(const std::string& file);

// The error with the file's name, unless it begins with it. Errors of the formats know no names.
[[nodiscard]] Error about(const std::string& name, const Error& error);

// From now on nothing is said, on either stream. Where several processes do one thing together,
// only one of them speaks.
void silence() noexcept;

void print_error(const Error& error);  // with its hint line, if it has a hint
void print_warning(std::string_view what_why);
void print_warning_with_hint(std::string_view what_why, std::string_view hint);
void print_note(std::string_view line);  // plain, on standard error

// Text or JSON for standard output. Throws Error(failure) when it cannot be written, and
// ClosedOutput when nobody reads it.
void print_result(std::string_view text);
void print_json(const nlohmann::ordered_json& document);

// Whether print_json was called. With --json standard output gets exactly one document.
[[nodiscard]] bool has_printed_json() noexcept;

// The one line that changes, on a terminal at standard error. Any message or result first takes it
// away. The text must be printable and fit.
void show_progress_line(const std::string& text);
void clear_progress_line();

// {"code", "message", "hint"}, the same in every document.
[[nodiscard]] nlohmann::ordered_json to_json(const Error& error);

// The document of a command that had nothing to report before it failed, as
// docs/schema/failure.schema.json has it: {"command", "exit_code", "error"}. `command` may be
// empty.
[[nodiscard]] nlohmann::ordered_json failure_document(const std::string& command,
                                                      const Error& error);

// Returns what `work` returns. If `work` throws and `with_json` is set, prints {"command", "file",
// "error"} and rethrows.
template <class Task>
auto work_on_file(const char* command, const std::string& file, bool with_json, const Task& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (with_json) {
      print_json({{"command", command}, {"file", file}, {"error", to_json(error)}});
    }
    throw;
  }
}

// "1.50 GB", decimal units.
[[nodiscard]] std::string human_bytes(double bytes);

}  // namespace paes::cli
