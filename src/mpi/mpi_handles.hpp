// SPDX-License-Identifier: Apache-2.0
// What the two files that call MPI share: its handles and its errors. A file that includes this is
// compiled once for each MPI library.
#pragma once

#include <mpi.h>

#include <mutex>
#include <string>

namespace paes::mpi {

// MPI's text for an error code, in one line.
[[nodiscard]] std::string text_of(int code);

struct MpiHandles {
  MPI_Comm world = MPI_COMM_NULL;
  // Every implementation allows one call at a time, so the threads of a rank that use files take
  // turns with the thread that talks to other ranks.
  std::mutex calls;
  bool lost = false;

  void check(int code);  // throws LostRanksError
};

}  // namespace paes::mpi
