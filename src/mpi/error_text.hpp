// SPDX-License-Identifier: Apache-2.0
// Turns the error text of an MPI library into one line, the form of our errors. Open MPI's text is
// one line already; MPICH adds a stack of calls.
#pragma once

#include <string>

namespace paes::mpi {

// What failed and, if there is a stack of calls, the innermost cause: "WHAT: CAUSE".
[[nodiscard]] std::string one_line(const std::string& text);

}  // namespace paes::mpi
