#include "keystream/fork_mark.hpp"

#include <pthread.h>

#include <atomic>
#include <new>

namespace paes::keystream {

namespace {

// Each child that fork() makes adds one.
std::atomic<std::uint32_t> fork_generation{0};

void count_fork() { fork_generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

ForkMark::ForkMark() : page_(1) {
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  if (registered != 0) {
    throw std::bad_alloc();
  }
  generation_ = fork_generation.load(std::memory_order_relaxed);
  *page_.data() = 1;
}

bool ForkMark::is_intact() const noexcept {
  return *static_cast<const volatile std::uint8_t*>(page_.data()) == 1 &&
         fork_generation.load(std::memory_order_relaxed) == generation_;
}

}  // namespace paes::keystream
