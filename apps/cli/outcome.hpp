// SPDX-License-Identifier: Apache-2.0
// What became of one file, and how it is reported: in messages, on the line of -v and in JSON. For
// a file that is not authentic, the report gives the damaged bytes of the plaintext and of the
// file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/work_options.hpp"
#include "paes/error.hpp"
#include "stream/container/damage.hpp"
#include "stream/container/file_format.hpp"
#include "stream/file/file_place.hpp"

namespace paes::cli {

enum class Status {
  not_begun,  // the run ended before its turn
  skipped,
  failed,
  done,
};

// Why a file was skipped. None of it is a failure.
enum class SkipReason {
  not_regular,  // a link, a device, a socket, ...
  encrypted,    // it begins as a format's files do
  no_suffix,    // its name does not end as those of files that are taken
  unfinished,   // another run is writing it, or was killed
  exists,       // its output exists
};
inline constexpr std::size_t reasons_to_skip = 5;

struct Outcome {
  std::string input;
  std::string output;
  std::uint64_t text_bytes = 0;
  double seconds = 0;
  unsigned threads = 0;  // 0: not a transfer, so there are no figures of one
  std::string device = "cpu";
  std::string kernel;  // of the file's format; empty: the one that was chosen
  std::size_t piece_bytes = 0;
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
  Status status = Status::not_begun;
  std::optional<Error> error;  // of what has failed
  std::optional<SkipReason> why_skipped = std::nullopt;
  // The length of a regular file when the files were listed.
  std::optional<std::uint64_t> listed_bytes = std::nullopt;
  // Where it lies, if it was found below a folder; there is no tree if the user has named it. An
  // output's tree is what --output-dir names, or that of its input.
  stream::TreePlace place = {};
  stream::TreePlace output_place = {};
  // False if it holds a plain text, or if its folder was listed and an interrupted rekey has left
  // nothing there.
  bool may_have_leftover = true;
  std::string result;  // for standard output, once all files before this one have ended

  [[nodiscard]] bool was_found() const noexcept { return place.tree != nullptr; }
  // Whether a file with a name is to be written.
  [[nodiscard]] bool has_output() const noexcept {
    return status == Status::not_begun && !output.empty() && output != "-";
  }
  // Who computes a file of this format, if not what was chosen for all.
  void take(const stream::FileFormat& format) {
    kernel = format.kernel;
    if (*format.why_cpu_alone != '\0') {
      device = "cpu";
    }
  }
  void fail(const Error& why) {
    status = Status::failed;
    error = why;
  }
  void skip(SkipReason why) {
    status = Status::skipped;
    why_skipped = why;
  }
};

// How a run of several files ended.
struct Counts {
  std::size_t done = 0;
  std::size_t failed = 0;
  std::size_t not_begun = 0;
  std::size_t skipped[reasons_to_skip] = {};
  std::uint64_t text_bytes = 0;

  [[nodiscard]] std::size_t all_skipped() const noexcept;
};
[[nodiscard]] Counts count(const std::vector<Outcome>& outcomes);
// "paes: encrypt: 10 files, 1.50 GB in 2.000 s, 750.00 MB/s; 3 skipped: 1 encrypted already, ..."
// What is no transfer has no seconds.
[[nodiscard]] std::string summary_of(const char* command, const Counts& counts,
                                     std::optional<double> seconds);
// 0 if all are done or skipped.
[[nodiscard]] int exit_code_of(const std::vector<Outcome>& outcomes);
// One line for all files not begun, if there are any.
void report_not_begun(const std::vector<Outcome>& outcomes);
// {"done", "failed", "not_begun", "skipped": {REASON: number}}
[[nodiscard]] nlohmann::ordered_json to_json(const Counts& counts);

// The error with the file's name in front, unless it has that already. Errors of the formats do not
// know which file they are about.
[[nodiscard]] Error about(const Outcome& outcome, const Error& error);

[[nodiscard]] std::string timing_of(const Outcome& outcome, const WorkChooser& chooser);

// What docs/schema/transfer.schema.json begins with, and its member "files".
[[nodiscard]] nlohmann::ordered_json head_of_document(const char* command, int exit_code,
                                                      const WorkChooser& chooser,
                                                      const std::vector<Outcome>& outcomes,
                                                      std::size_t piece_bytes);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Outcome>& outcomes);

// Prints a line for each damaged range if there are several. Throws Error(corrupt) with the number
// of damaged chunks, and with the range if there is only one.
void require_authentic(const std::string& name, const stream::Verification& found,
                       bool prints_lines);

// Adds the member "damage" to one of those files, if it has any.
void add_damage(nlohmann::ordered_json& file, const stream::Verification& found);

}  // namespace paes::cli
