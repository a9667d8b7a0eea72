// What MPI libraries say of an error, as the one line that an error of ours is. Open MPI says it in
// one; MPICH prints the stack of its calls below.
#pragma once

#include <string>

namespace paes::mpi {

// What failed and, of a stack, the innermost call's cause: "WHAT: CAUSE".
[[nodiscard]] std::string one_line(const std::string& text);

}  // namespace paes::mpi
