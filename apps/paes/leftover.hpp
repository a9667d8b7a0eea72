// The copy of the old header and envelope that rekey keeps beside a file while it writes the new
// ones. One that is found later means that a rekey was interrupted: the file may then hold half an
// envelope, and the copy puts it right again.
#pragma once

#include <string>

#include "paes/error.hpp"

namespace paes::cli {

// FILE.rekey, beside the file itself and not beside a symbolic link to it.
[[nodiscard]] std::string leftover_path(const std::string& file);
[[nodiscard]] bool has_leftover(const std::string& file);

// "paes rekey --restore ...": what to do about it.
[[nodiscard]] std::string leftover_hint(const std::string& file);

// A warning and the hint, if there is one. "-" has none.
void warn_of_leftover(const std::string& file);

// The error with that hint in the place of its own, if there is one.
[[nodiscard]] Error with_leftover_hint(const std::string& file, const Error& error);

}  // namespace paes::cli
