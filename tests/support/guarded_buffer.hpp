// SPDX-License-Identifier: Apache-2.0
// Memory between pages that nobody may touch: reading or writing one byte outside ends the test
// with SIGSEGV.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/bytes.hpp"

namespace paes::test {

enum class Guard { before, behind };

class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t capacity)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        usable_((capacity + page_ - 1) / page_ * page_ + page_) {
    void* const mapped = mmap(nullptr, usable_ + 2 * page_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      throw std::bad_alloc();
    }
    base_ = static_cast<std::uint8_t*>(mapped);
    if (mprotect(base_, page_, PROT_NONE) != 0 ||
        mprotect(base_ + page_ + usable_, page_, PROT_NONE) != 0) {
      throw std::bad_alloc();
    }
  }
  ~GuardedBuffer() { munmap(base_, usable_ + 2 * page_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // `bytes` bytes that touch the forbidden page on the given side.
  [[nodiscard]] MutableBytes view(std::size_t bytes, Guard side) const {
    std::uint8_t* const first = base_ + page_;
    return {side == Guard::before ? first : first + usable_ - bytes, bytes};
  }
  MutableBytes filled(Bytes contents, Guard side) const {
    const MutableBytes place = view(contents.size(), side);
    if (!contents.empty()) {
      std::memcpy(place.data(), contents.data(), contents.size());
    }
    return place;
  }

 private:
  std::size_t page_;
  std::size_t usable_;
  std::uint8_t* base_ = nullptr;
};

}  // namespace paes::test
