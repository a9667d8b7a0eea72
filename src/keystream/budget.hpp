// SPDX-License-Identifier: Apache-2.0
// A limit that any thread can draw from. One limits the memory of a keystream engine: keystream,
// keys, contexts and their records reserve their part before they allocate. Another limits the
// blocks that a 3DES key may encrypt.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace paes::keystream {

class Budget {
 public:
  explicit Budget(std::size_t bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] bool reserve(std::size_t bytes) noexcept {
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > bytes_ - used) {
        return false;
      }
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void release(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used_bytes() const noexcept {
    return used_.load(std::memory_order_relaxed);
  }

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> used_{0};
};

// A part of the budget, given back on destruction.
class Reservation {
 public:
  Reservation() = default;
  Reservation(std::shared_ptr<Budget> budget, std::size_t bytes) noexcept
      : budget_(budget->reserve(bytes) ? std::move(budget) : nullptr), bytes_(bytes) {}
  ~Reservation() {
    if (budget_ != nullptr) {
      budget_->release(bytes_);
    }
  }
  Reservation(Reservation&&) noexcept = default;
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // False if the budget had no room.
  [[nodiscard]] bool is_granted() const noexcept { return budget_ != nullptr; }

 private:
  std::shared_ptr<Budget> budget_;
  std::size_t bytes_ = 0;
};

}  // namespace paes::keystream
