// SPDX-License-Identifier: Apache-2.0
// Steps that all ranks take together. A step has succeeded only if it did on every rank, so no rank
// goes on where another has failed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "mpi/communicator.hpp"
#include "stream/transfer/cancel.hpp"
#include "stream/transfer/transfer.hpp"

namespace paes::mpi {

// An error that all ranks have agreed upon, and throw.
class AgreedError : public Error {
 public:
  using Error::Error;
};

// Collective. Runs the step and returns if it succeeded on every rank. Otherwise throws the same
// AgreedError on all ranks: the error of the lowest rank that failed, whose number is in the text
// unless it is 0.
void together(Communicator& communicator, const std::function<void()>& step);
// Collective. Runs a step on rank 0 alone, and returns or throws AgreedError on all ranks.
void on_first(Communicator& communicator, const std::function<void()>& step);

// What long work gets on each rank.
struct RankProgress {
  const Cancel& stop;                      // requested by a signal, or when another rank has failed
  std::atomic<std::uint64_t>& done_bytes;  // to count up

  // The caller's work, with `stop` and `done_bytes` in place of its own.
  [[nodiscard]] stream::Work in_place_of(const stream::Work& work) const {
    stream::Work inside = work;
    inside.cancel = &stop;
    inside.progress = &done_bytes;
    return inside;
  }
};

// Collective. Runs long work on all ranks, in a thread of its own while this thread talks to the
// other ranks. If one rank fails, all others stop within one buffer. Returns or throws AgreedError
// on all ranks. `shown` counts the bytes done by all ranks; it may be null.
void together(Communicator& communicator, std::atomic<std::uint64_t>* shown,
              const std::function<void(const RankProgress& progress)>& work);

}  // namespace paes::mpi
