// SPDX-License-Identifier: Apache-2.0
// Locked memory for what libraries allocate while they hold keys. A library whose allocations go
// through the program (libcrypto, see crypto/libcrypto.hpp) asks here first. Within a
// SecretAllocations it gets memory that is locked, kept out of core dumps and wiped when freed.
// Elsewhere it gets none: locked memory is scarce, and most of what libraries allocate is not
// secret.
#pragma once

#include <cstddef>

namespace paes {

// While one exists, what libraries allocate on this thread is secret.
class SecretAllocations {
 public:
  SecretAllocations() noexcept { ++depth; }
  ~SecretAllocations() { --depth; }
  SecretAllocations(const SecretAllocations&) = delete;
  SecretAllocations& operator=(const SecretAllocations&) = delete;

  [[nodiscard]] static bool are_wanted() noexcept { return depth != 0; }

 private:
  static thread_local int depth;
};

namespace secret_heap {

// Null outside SecretAllocations, for more than 32 KiB at once, and when the heap is full.
[[nodiscard]] void* allocate(std::size_t bytes) noexcept;
[[nodiscard]] bool owns(const void* memory) noexcept;
// The size of an allocated block: at least the bytes that were asked for.
[[nodiscard]] std::size_t size_of(const void* memory) noexcept;
void release(void* memory) noexcept;

}  // namespace secret_heap

}  // namespace paes
