// What a run with --resume has not finished, as the journal beside it says without a key: for who
// looks for the output and finds a partial file, or looks into that.
#pragma once

#include <optional>
#include <string>

#include "paes/error.hpp"
#include "stream/journal_layout.hpp"

namespace paes::cli {

struct Unfinished {
  std::string partial;  // the partial file's name
  stream::JournalClaims claims;

  // "8.39 MB of 33.57 MB are done"
  [[nodiscard]] std::string progress() const;
  // How to go on.
  [[nodiscard]] std::string hint() const;
};

// When `file` is a partial file with its journal, or is not there and has both. "-" never is.
[[nodiscard]] std::optional<Unfinished> find_unfinished(const std::string& file);

}  // namespace paes::cli
