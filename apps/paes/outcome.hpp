// What became of one file, and how it is said: in the messages, on the line of -v and in JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "paes/error.hpp"
#include "paes/work.hpp"

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

// Errors from the formats do not know which of several files they are about; those of inputs and
// outputs name them.
[[nodiscard]] Error about(const Outcome& outcome, const Error& error);

[[nodiscard]] std::string timing_of(const Outcome& outcome, const WorkChooser& chooser);

// A member of "files" in docs/schema/transfer.schema.json.
[[nodiscard]] nlohmann::ordered_json to_json(const Outcome& outcome);

}  // namespace paes::cli
