// The memory that an engine may have: one number, which keystream, keys, contexts and their records
// draw from before they allocate, from any thread.
#pragma once

#include <atomic>
#include <cstddef>

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

}  // namespace paes::keystream
