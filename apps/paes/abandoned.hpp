// What a run that was killed left beside an output: files that never got a name of their own.
#pragma once

#include "stream/output.hpp"

namespace paes::cli {

// One warning and a hint for all such files in the output's folder, once in a process.
void warn_of_abandoned(const stream::Output& output);

}  // namespace paes::cli
