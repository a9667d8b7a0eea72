// SPDX-License-Identifier: Apache-2.0
// Things that threads borrow and give back, so that few are made. The one given back last is handed
// out first, because its memory is still in a cache. In a forked child the pool begins anew: a
// thread of the parent's, which the child lacks, may have been changing it.
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
  // Throws std::bad_alloc, as take does.
  Pool() : shelf_(new Shelf(count_forks())) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    if (Shelf* const shelf = shelf_.load(); shelf->forks == forks()) {
      delete shelf;
    }
  }

  // Null if none is free: the caller makes one, to be given back as well.
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
    // What a child has from its parent is not among those that it has room for.
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

  // The parent's is never freed in a child.
  Shelf& own_shelf() {
    Shelf* shelf = shelf_.load(std::memory_order_acquire);
    if (shelf->forks == forks()) {
      return *shelf;
    }
    auto mine = std::make_unique<Shelf>(forks());
    if (shelf_.compare_exchange_strong(shelf, mine.get(), std::memory_order_acq_rel)) {
      return *mine.release();
    }
    return *shelf;  // another thread's of this child
  }

  std::atomic<Shelf*> shelf_;
};

}  // namespace paes
