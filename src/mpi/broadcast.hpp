// Values of rank 0 on all ranks. Plain ones travel as they lie in memory: the hosts of a job have
// the same processors and the same program.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "mpi/communicator.hpp"

namespace paes::mpi {

template <typename Plain>
requires std::is_trivially_copyable_v<Plain>
void broadcast(Communicator& communicator, Plain& value) {
  communicator.broadcast({reinterpret_cast<std::uint8_t*>(&value), sizeof value});
}

inline void broadcast(Communicator& communicator, std::string& text) {
  std::uint64_t bytes = text.size();
  broadcast(communicator, bytes);
  text.resize(static_cast<std::size_t>(bytes));
  communicator.broadcast({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
}

}  // namespace paes::mpi
