// What earlier runs have left beside a file, and what is said about it. There are three kinds:
//
// - A rekey that was interrupted leaves FILE.rekey, a copy of the old header and envelope. The file
//   may then hold half an envelope, and the copy puts it right again.
// - A run with --resume that was interrupted leaves the partial file and its journal, which says
//   without a key how much is done.
// - A run that was killed leaves temporary files, which never got a name of their own.
#pragma once

#include <optional>
#include <string>

#include "paes/error.hpp"
#include "stream/journal.hpp"
#include "stream/output.hpp"

namespace paes::cli {

// "paes rekey --restore ...": what to do about a copy that rekey left.
[[nodiscard]] std::string leftover_hint(const std::string& file);
// A warning and the hint, if there is one.
void warn_of_leftover(const std::string& file);
// The error with that hint in the place of its own, if there is one.
[[nodiscard]] Error with_leftover_hint(const std::string& file, const Error& error);

struct Unfinished {
  std::string partial;  // the partial file's name
  stream::JournalClaims claims;

  // "8.39 MB of 33.57 MB are done"
  [[nodiscard]] std::string progress() const;
  // How to go on.
  [[nodiscard]] std::string hint() const;
};

// For anyone who looks into a partial file that has its journal, or looks for a file that is not
// there and has both. "-" never is.
[[nodiscard]] std::optional<Unfinished> find_unfinished(const std::string& file);
// A warning if `output` was written afresh beside a partial file that --resume would have
// continued.
void warn_of_partial(const std::string& output);

// One warning and a hint for all temporary files in the output's folder, once in a process.
void warn_of_abandoned(const stream::Output& output);

}  // namespace paes::cli
