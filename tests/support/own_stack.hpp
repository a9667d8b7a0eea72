// SPDX-License-Identifier: Apache-2.0
// Finds what a function leaves on the stack. The function runs on a separate stack, which is
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

// Clang's run-time library has it where lines are counted.
extern "C" [[gnu::weak]] int __llvm_profile_write_file();

namespace paes::test {

// Sanitizers keep local variables elsewhere, builds without optimisation keep a copy of every
// register, and those that count lines keep counts, so the search tells nothing with them.
inline bool keeps_stack() {
#if !defined(__OPTIMIZE__)
  return false;
#else
  return !is_sanitized && __llvm_profile_write_file == nullptr;
#endif
}

inline constexpr std::size_t own_stack_bytes = std::size_t{256} << 10;

// Runs `work` on a separate stack, then `look` with that stack, which holds what `work` left.
inline void on_own_stack(const std::function<void(MutableBytes)>& work,
                         const std::function<void(MutableBytes)>& look = nullptr) {
  void* const stack = mmap(nullptr, own_stack_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  EXPECT_NE(stack, MAP_FAILED);
  const MutableBytes memory(static_cast<std::uint8_t*>(stack), own_stack_bytes);
  pthread_attr_t attributes;
  (void)pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, own_stack_bytes), 0);
  pthread_t thread = {};
  std::function<void()> run_work = [&] { work(memory); };
  const auto run = [](void* function) -> void* {
    (*static_cast<std::function<void()>*>(function))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, run, &run_work), 0);
  (void)pthread_join(thread, nullptr);
  (void)pthread_attr_destroy(&attributes);
  if (look) {
    look(memory);
  }
  (void)munmap(stack, own_stack_bytes);
}

// Those of the `wanted` that are anywhere on the stack on which `work` has run.
inline std::vector<Bytes> left_on_stack(const std::vector<Bytes>& wanted,
                                        const std::function<void()>& work) {
  std::vector<Bytes> found;
  on_own_stack(
      [&](MutableBytes /*stack*/) { work(); },
      [&](MutableBytes stack) {
        for (const Bytes secret : wanted) {
          if (memmem(stack.data(), stack.size(), secret.data(), secret.size()) != nullptr) {
            found.push_back(secret);
          }
        }
      });
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
