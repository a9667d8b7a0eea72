// What the two files that call MPI share: its handles, and its errors. Whoever includes this is
// compiled once for each implementation of MPI.
#pragma once

#include <mpi.h>

#include <functional>
#include <mutex>
#include <string>

#include "mpi/communicator.hpp"

namespace paes::mpi {

// What MPI says of an error code, in one line.
[[nodiscard]] std::string text_of(int code);

struct Communicator::Handles {
  MPI_Comm world = MPI_COMM_NULL;
  // Every implementation allows one call at a time. So the threads of a rank that use files take
  // turns with the thread that talks to other ranks.
  std::mutex calls;
  bool lost = false;

  void check(int code);  // throws Lost
  // Starts an operation and waits for its end. MPI moves data only while it is polled, so a wait
  // for much data never sleeps.
  enum class Waits { for_ranks, for_data };
  void run(Communicator& communicator, const std::function<int(MPI_Request*)>& operation,
           Waits waits = Waits::for_ranks);
};

}  // namespace paes::mpi
