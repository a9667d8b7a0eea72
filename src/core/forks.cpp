// SPDX-License-Identifier: Apache-2.0
#include "core/forks.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

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

ForkMark::ForkMark()
    : page_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), forks_(count_forks()) {
  void* const memory =
      mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  is_wiped_ = madvise(memory, page_bytes_, MADV_WIPEONFORK) == 0;
  page_ = static_cast<std::uint8_t*>(memory);
  *page_ = 1;
}

ForkMark::~ForkMark() { (void)munmap(page_, page_bytes_); }

bool ForkMark::is_intact() const noexcept {
  return *static_cast<const volatile std::uint8_t*>(page_) == 1 && forks() == forks_;
}

}  // namespace paes
