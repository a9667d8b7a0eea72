// SPDX-License-Identifier: Apache-2.0
// On what kind of machines the ranks of a job run. Hosts have names of their own; containers and
// network namespaces may be several hosts on one machine.
#pragma once

#include <cstddef>
#include <string>

namespace paes::cli {

struct JobMachines {
  std::size_t hosts;       // by their names
  std::size_t machines;    // running systems
  std::size_t cores;       // processors of all machines that at least one rank may run on
  bool is_oversubscribed;  // some machine has more of the ranks' threads than such processors
  std::size_t devices;     // that ranks named
};

// Collective; only rank 0's result is right. This rank has `threads` threads. `device` is a name
// that no other device in the world has, or empty.
[[nodiscard]] JobMachines find_job_machines(unsigned threads, const std::string& device);

}  // namespace paes::cli
