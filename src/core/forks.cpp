#include "core/forks.hpp"

#include <pthread.h>

#include <atomic>
#include <new>

namespace paes {

namespace {

std::atomic<std::uint32_t> counted{0};

void count_one() { counted.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint32_t count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, count_one);
  if (registered != 0) {
    throw std::bad_alloc();
  }
  return forks();
}

std::uint32_t forks() noexcept { return counted.load(std::memory_order_relaxed); }

}  // namespace paes
