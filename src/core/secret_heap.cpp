// SPDX-License-Identifier: Apache-2.0
#include "core/secret_heap.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "core/forks.hpp"
#include "core/secret.hpp"

namespace paes {

thread_local int SecretAllocations::depth = 0;

namespace secret_heap {

namespace {

// Blocks have sizes of powers of two and are never joined or split, because contexts of keys come
// in few sizes. Pages are locked when first needed.
constexpr std::size_t heap_bytes = std::size_t{4} << 20;
constexpr std::size_t locked_at_once = std::size_t{64} << 10;
constexpr std::size_t least_block_bytes = 64;
constexpr std::size_t most_block_bytes = std::size_t{32} << 10;
constexpr unsigned sizes = 10;
static_assert(least_block_bytes << (sizes - 1) == most_block_bytes);

// What precedes each block. The memory after it is aligned like malloc's.
struct alignas(16) Head {
  unsigned size;  // index of the size
};
struct Free {
  Free* next;
};

std::mutex mutex;
[[maybe_unused]] const int registered = free_in_children<mutex>();
std::atomic<std::uint8_t*> heap{nullptr};
std::size_t used_bytes = 0;
std::size_t locked_bytes = 0;
Free* free_blocks[sizes] = {};

Head* head_of(void* memory) noexcept { return static_cast<Head*>(memory) - 1; }
std::size_t bytes_of(unsigned size) noexcept { return least_block_bytes << size; }

// The caller holds the mutex. Null if the heap is full.
std::uint8_t* take_new(std::size_t bytes) noexcept {
  std::uint8_t* memory = heap.load(std::memory_order_relaxed);
  if (memory == nullptr) {
    void* const mapped = mmap(nullptr, heap_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      return nullptr;
    }
    memory = static_cast<std::uint8_t*>(mapped);
    heap.store(memory, std::memory_order_release);
  }
  if (bytes > heap_bytes - used_bytes) {
    return nullptr;
  }
  while (used_bytes + bytes > locked_bytes) {
    detail::protect_secret(memory + locked_bytes, locked_at_once);
    locked_bytes += locked_at_once;
  }
  used_bytes += bytes;
  return memory + used_bytes - bytes;
}

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  if (!SecretAllocations::are_wanted() || bytes > most_block_bytes - sizeof(Head)) {
    return nullptr;
  }
  unsigned size = 0;
  while (size + 1 < sizes && bytes_of(size) < bytes + sizeof(Head)) {
    ++size;
  }
  const std::lock_guard lock(mutex);
  if (Free* const block = free_blocks[size]; block != nullptr) {
    free_blocks[size] = block->next;
    block->next = nullptr;
    return block;
  }
  std::uint8_t* const block = take_new(bytes_of(size));
  return block != nullptr ? new (block) Head{size} + 1 : nullptr;
}

bool owns(const void* memory) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  const auto first = reinterpret_cast<std::uintptr_t>(heap.load(std::memory_order_acquire));
  return first != 0 && at >= first && at - first < heap_bytes;
}

std::size_t size_of(const void* memory) noexcept {
  return bytes_of((static_cast<const Head*>(memory) - 1)->size) - sizeof(Head);
}

void release(void* memory) noexcept {
  wipe(memory, size_of(memory));
  const unsigned size = head_of(memory)->size;
  const std::lock_guard lock(mutex);
  free_blocks[size] = new (memory) Free{free_blocks[size]};
}

}  // namespace secret_heap

}  // namespace paes
