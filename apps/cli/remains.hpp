// SPDX-License-Identifier: Apache-2.0
// What earlier runs have left beside a file, and the hints and warnings about it. There are three
// kinds:
//
// - A rekey that was interrupted leaves FILE.rekey, a copy of the old header and envelope. The file
//   may then hold half an envelope, and the copy puts it right again.
// - A run with --resume that was interrupted leaves the partial file and its journal, which says
//   without a key how much is done.
// - A run that was killed leaves temporary files, which never got their final name.
#pragma once

#include <optional>
#include <string>

#include "paes/error.hpp"
#include "stream/file/file_place.hpp"
#include "stream/file/output.hpp"
#include "stream/resume/journal.hpp"

namespace paes::cli {

// What to do about a copy that rekey left: "... paes rekey --restore ...".
[[nodiscard]] std::string leftover_hint(const std::string& file);
// Prints a warning with that hint if there is such a copy.
void warn_of_leftover(const stream::FilePlace& file);
// The error, with that hint instead of its own if there is such a copy.
[[nodiscard]] Error with_leftover_hint(const stream::FilePlace& file, const Error& error);

struct UnfinishedOutput {
  std::string partial;  // the partial file's name
  stream::JournalClaims claims;

  // "8.39 MB of 33.57 MB are done"
  [[nodiscard]] std::string progress() const;
  // How to go on.
  [[nodiscard]] std::string hint() const;
};

// The unfinished work if `file` is a partial file with a journal, or does not exist but has both
// beside it. Nothing for "-".
[[nodiscard]] std::optional<UnfinishedOutput> find_unfinished(const std::string& file);
// A warning if `output` was written afresh beside a partial file that --resume would have
// continued.
void warn_of_partial(const stream::FilePlace& output);

// One warning and a hint for all temporary files in the output's folder, once in a process.
void warn_of_abandoned(const stream::Output& output);
// False if that has found nothing in the output's folder that the other warnings could be about.
[[nodiscard]] bool may_have_remains(const stream::Output& output);

}  // namespace paes::cli
