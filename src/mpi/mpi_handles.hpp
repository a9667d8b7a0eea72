// SPDX-License-Identifier: Apache-2.0
// What the two files that call MPI share: its handles, and its errors. Whoever includes this is
// compiled once for each implementation of MPI.
#pragma once

#include <mpi.h>

#include <mutex>
#include <string>

namespace paes::mpi {

// What MPI says of an error code, in one line.
[[nodiscard]] std::string text_of(int code);

struct MpiHandles {
  MPI_Comm world = MPI_COMM_NULL;
  // Every implementation allows one call at a time. So the threads of a rank that use files take
  // turns with the thread that talks to other ranks.
  std::mutex calls;
  bool lost = false;

  void check(int code);  // throws Lost
};

}  // namespace paes::mpi
