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
  // One call at a time is what every implementation allows; threads of a rank that use files and
  // the thread that keeps in touch with the others take turns.
  std::mutex calls;
  bool lost = false;

  void check(int code);  // throws Lost
  // Starts an operation and waits for its end. MPI moves data when it is asked how far it is, so a
  // wait for much of it takes no naps.
  enum class Waits { for_ranks, for_data };
  void run(Communicator& communicator, const std::function<int(MPI_Request*)>& operation,
           Waits waits = Waits::for_ranks);
};

}  // namespace paes::mpi
