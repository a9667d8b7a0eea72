// Finds what a function leaves on the stack. The function runs on a stack of its own, which is
// searched afterwards.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "core/bytes.hpp"
#include "sanitized.hpp"

namespace paes::test {

// Sanitizers keep local variables elsewhere, and builds without optimisation keep a copy of every
// register: there is nothing to learn from either.
inline bool keeps_stack() {
#if !defined(__OPTIMIZE__)
  return false;
#else
  return !is_sanitized;
#endif
}

// Those of the `wanted` that are anywhere on the stack on which `work` has run.
inline std::vector<Bytes> left_on_stack(const std::vector<Bytes>& wanted,
                                        const std::function<void()>& work) {
  constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  void* const stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  EXPECT_NE(stack, MAP_FAILED);
  pthread_attr_t attributes;
  (void)pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, stack_bytes), 0);
  pthread_t thread = {};
  const auto run = [](void* function) -> void* {
    (*static_cast<const std::function<void()>*>(function))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)),
            0);
  (void)pthread_join(thread, nullptr);
  (void)pthread_attr_destroy(&attributes);
  std::vector<Bytes> found;
  for (const Bytes secret : wanted) {
    if (memmem(stack, stack_bytes, secret.data(), secret.size()) != nullptr) {
      found.push_back(secret);
    }
  }
  (void)munmap(stack, stack_bytes);
  return found;
}

inline bool is_left_on_stack(Bytes wanted, const std::function<void()>& work) {
  return !left_on_stack({wanted}, work).empty();
}

// Whether the search works at all: leaves `wanted` deep enough in the stack that the end of the
// thread does not overwrite it.
inline bool finds_what_is_left(Bytes wanted) {
  return is_left_on_stack(wanted, [&] {
    std::uint8_t deep[4096];
    std::copy(wanted.begin(), wanted.end(), deep);
    asm volatile("" : : "r"(deep) : "memory");
  });
}

}  // namespace paes::test
