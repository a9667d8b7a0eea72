// SPDX-License-Identifier: Apache-2.0
// Memory for keystream: one slot per chunk. Slots come in slabs, each of which is taken from the
// system and given back as a whole. A free slot is all zero, and kernels turn the zeros into
// keystream in place.
#pragma once

#include <memory>
#include <vector>

#include "keystream/budget.hpp"
#include "keystream/pages.hpp"

namespace paes::keystream {

struct Slab {
  Slab(Reservation reserved, std::size_t bytes) : memory(std::move(reserved)), pages(bytes) {}
  const Reservation memory;
  const Pages pages;
  std::vector<std::uint8_t*> free;
};

// Not thread-safe: the precomputer's mutex guards it.
class Slots {
 public:
  Slots(std::size_t chunk_bytes, std::shared_ptr<Budget> budget) noexcept;

  struct Slot {
    std::uint8_t* bytes = nullptr;  // null if no slot is free and the budget has no room for more
    Slab* slab = nullptr;
  };
  [[nodiscard]] Slot take() noexcept;
  void give_back(Slot slot) noexcept;
  // Gives a slab whose slots are all free back to the system. False if there is none.
  bool shrink() noexcept;

  [[nodiscard]] std::size_t bytes() const noexcept { return slabs_.size() * slab_bytes_; }
  [[nodiscard]] std::size_t unlocked_bytes() const noexcept;

  static constexpr std::size_t slots_in_slab = 16;
  // A slot is a cache line longer than a chunk. So each slot begins a line later in its page, and
  // the slots of a context do not all compete for the same sets of a cache. The line also has room
  // for what precedes a message's keystream (seal.cpp).
  static constexpr std::size_t line_bytes = 64;
  [[nodiscard]] static constexpr std::size_t slot_bytes(std::size_t chunk_bytes) noexcept {
    return chunk_bytes + line_bytes;
  }

 private:
  [[nodiscard]] bool add_slab() noexcept;

  const std::size_t slot_bytes_;
  const std::size_t slab_bytes_;
  const std::shared_ptr<Budget> budget_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Slab*> with_free_;  // those with a free slot
};

}  // namespace paes::keystream
