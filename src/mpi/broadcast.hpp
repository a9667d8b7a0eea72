// SPDX-License-Identifier: Apache-2.0
// Sends values of one rank (rank 0, unless another is named) to all ranks. Plain values travel as
// they lie in memory: the hosts of a job have the same processors and the same program.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/secret.hpp"
#include "mpi/communicator.hpp"

namespace paes::mpi {

template <typename Plain>
requires std::is_trivially_copyable_v<Plain>
void broadcast(Communicator& communicator, Plain& value, unsigned from = 0) {
  communicator.broadcast({reinterpret_cast<std::uint8_t*>(&value), sizeof value}, from);
}

// Strings and vectors of bytes.
template <typename Growing>
requires requires(Growing& bytes) { bytes.resize(1); }
void broadcast(Communicator& communicator, Growing& bytes, unsigned from = 0) {
  std::uint64_t count = bytes.size();
  broadcast(communicator, count, from);
  bytes.resize(static_cast<std::size_t>(count));
  communicator.broadcast({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()}, from);
}

// Copies rank 0's Secret into those of the other ranks.
inline void broadcast(Communicator& communicator, SecretBytes& secret) {
  std::uint64_t count = secret.size();
  broadcast(communicator, count);
  if (!communicator.is_first()) {
    secret = SecretBytes(static_cast<std::size_t>(count));
  }
  communicator.broadcast(secret);
}

// Gives every rank the values of all ranks, in the order of the ranks.
template <typename Plain>
requires std::is_trivially_copyable_v<Plain>
[[nodiscard]] std::vector<Plain> gathered(Communicator& communicator, const Plain& mine) {
  std::vector<Plain> all(communicator.ranks());
  const MutableBytes bytes = {reinterpret_cast<std::uint8_t*>(all.data()),
                              all.size() * sizeof mine};
  communicator.gather({reinterpret_cast<const std::uint8_t*>(&mine), sizeof mine}, bytes);
  communicator.broadcast(bytes);
  return all;
}

}  // namespace paes::mpi
