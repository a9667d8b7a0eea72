// What all parts of one keystream engine share, and what clients read for each chunk. Nothing in it
// changes often.
#pragma once

#include <atomic>
#include <memory>

#include "keystream/budget.hpp"
#include "keystream/fork_mark.hpp"
#include "keystream/slots.hpp"

namespace paes::keystream {

struct Shared {
  Shared(std::size_t budget_bytes, std::size_t chunk, bool workers)
      : chunk_bytes(chunk), has_workers(workers), budget(std::make_shared<Budget>(budget_bytes)) {}

  // A chunk's whole memory, all of which is wiped.
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return Slots::slot_bytes(chunk_bytes); }

  const std::size_t chunk_bytes;
  const bool has_workers;
  const ForkMark mark;
  const std::shared_ptr<Budget> budget;  // keys may outlive the engine
  // Counts the calls that found no memory free. It is the clock of "least recently used".
  alignas(64) std::atomic<std::uint64_t> age{1};
};

}  // namespace paes::keystream
