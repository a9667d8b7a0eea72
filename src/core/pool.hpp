// SPDX-License-Identifier: Apache-2.0
// Objects that threads borrow and give back, so that few are made. The most recently returned one
// is handed out first, because its memory is still in a cache. A forked child starts with an empty
// pool: a thread that the child lacks may have been changing the parent's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/forks.hpp"

namespace paes {

template <typename Thing>
class Pool {
 public:
  // Throws std::bad_alloc, like take().
  Pool() : shelf_(new Shelf(count_forks())) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    if (Shelf* const shelf = shelf_.load(); shelf->forks == forks()) {
      delete shelf;
    }
  }

  // Null if none is free. The caller then makes one and gives it back to the pool afterwards.
  [[nodiscard]] std::unique_ptr<Thing> take() {
    Shelf& shelf = own_shelf();
    const std::lock_guard lock(shelf.mutex);
    if (shelf.free.empty()) {
      shelf.free.reserve(++shelf.made);  // so that giving back cannot fail
      return nullptr;
    }
    std::unique_ptr<Thing> thing = std::move(shelf.free.back());
    shelf.free.pop_back();
    return thing;
  }

  void give_back(std::unique_ptr<Thing> thing) noexcept {
    Shelf& shelf = *shelf_.load(std::memory_order_acquire);
    if (shelf.forks != forks()) {
      return;
    }
    const std::lock_guard lock(shelf.mutex);
    // A child has room only for objects that it made itself, not for those of its parent.
    if (shelf.free.size() < shelf.free.capacity()) {
      shelf.free.push_back(std::move(thing));
    }
  }

 private:
  struct Shelf {
    explicit Shelf(std::uint32_t forks_before) : forks(forks_before) {}

    const std::uint32_t forks;
    std::mutex mutex;  // guards the next two
    std::vector<std::unique_ptr<Thing>> free;
    std::size_t made = 0;
  };

  // A child never frees its parent's shelf.
  Shelf& own_shelf() {
    Shelf* shelf = shelf_.load(std::memory_order_acquire);
    if (shelf->forks == forks()) {
      return *shelf;
    }
    auto mine = std::make_unique<Shelf>(forks());
    if (shelf_.compare_exchange_strong(shelf, mine.get(), std::memory_order_acq_rel)) {
      return *mine.release();
    }
    return *shelf;  // another thread of this child made it
  }

  std::atomic<Shelf*> shelf_;
};

}  // namespace paes
