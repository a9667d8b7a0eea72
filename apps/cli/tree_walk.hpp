// SPDX-License-Identifier: Apache-2.0
// A walk through everything below a folder that was named: in the order of the names, a folder
// before what is in it. Symbolic links are not followed, and whoever exchanges folders meanwhile
// leads it nowhere else (stream/file/file_place.hpp). The tree keeps nothing open after it.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "stream/file/file_place.hpp"

namespace paes::cli {

struct VisitedEntry {
  const std::string& below;  // the path below the top; empty for the top itself
  int error = 0;             // an errno: nothing more is known about it, or what is in it
  struct stat status = {};
};

enum class Next { on, past_this_folder, stop };

// `tree` must be open. Gives up within a folder of which reading fails, and visits it again with
// the error. Throws Error of a signal.
void walk(const stream::Tree& tree, const std::function<Next(const VisitedEntry& visited)>& visit);

}  // namespace paes::cli
