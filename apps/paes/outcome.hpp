// What became of one file, and how it is reported: in messages, on the line of -v and in JSON. For
// a file that is not authentic, the report gives the damaged bytes of the plaintext and of the
// file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "paes/error.hpp"
#include "paes/work.hpp"
#include "stream/damage.hpp"

namespace paes::cli {

enum class Status {
  not_begun,  // the run ended before its turn
  failed,
  done,
};

struct Outcome {
  std::string input;
  std::string output;
  std::uint64_t text_bytes = 0;
  double seconds = 0;
  unsigned threads = 0;
  std::string device = "cpu";
  std::size_t grain_bytes = 0;
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
  Status status = Status::not_begun;
  std::optional<Error> error;  // of what has failed

  void fail(const Error& why) {
    status = Status::failed;
    error = why;
  }
};

// The error with the file's name in front, unless it has that already. Errors of the formats do not
// know which file they are about.
[[nodiscard]] Error about(const Outcome& outcome, const Error& error);

[[nodiscard]] std::string timing_of(const Outcome& outcome, const WorkChooser& chooser);

// What docs/schema/transfer.schema.json begins with, and its member "files".
[[nodiscard]] nlohmann::ordered_json head_of_document(const char* command, int exit_code,
                                                      const WorkChooser& chooser,
                                                      const std::vector<Outcome>& outcomes);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Outcome>& outcomes);

// Prints a line for each damaged range if there are several. Throws Error(corrupt) with the number
// of damaged chunks, and with the range if there is only one.
void require_authentic(const std::string& name, const stream::Verification& found,
                       bool prints_lines);

// Adds the member "damage" to one of those files, if it has any.
void add_damage(nlohmann::ordered_json& file, const stream::Verification& found);

}  // namespace paes::cli
