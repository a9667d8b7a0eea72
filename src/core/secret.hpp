// SPDX-License-Identifier: Apache-2.0
// Memory for key material: never copied by accident, locked and kept out of core dumps as far as
// the system allows, and wiped before it is freed. A secret that outlives one function lives in a
// Secret or a SecretBytes; a short-lived copy on the stack is wiped with `wipe`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "core/bytes.hpp"

namespace paes {

// Overwrites memory in a way that the compiler may not drop.
void wipe(void* memory, std::size_t bytes) noexcept;
inline void wipe(MutableBytes memory) noexcept { wipe(memory.data(), memory.size()); }

// Wipes its memory at the end of the scope, on every path.
class WipeOnExit {
 public:
  explicit WipeOnExit(MutableBytes memory) noexcept : memory_(memory) {}
  ~WipeOnExit() { wipe(memory_); }
  WipeOnExit(const WipeOnExit&) = delete;
  WipeOnExit& operator=(const WipeOnExit&) = delete;

 private:
  MutableBytes memory_;
};

namespace detail {
// Whole pages: zeroed, out of core dumps, locked if RLIMIT_MEMLOCK allows it. Throws
// std::bad_alloc.
void* allocate_secret(std::size_t bytes);
void release_secret(void* memory, std::size_t bytes) noexcept;  // wipes, unlocks, unmaps
// Keeps whole pages out of core dumps, and locks them if RLIMIT_MEMLOCK allows it.
void protect_secret(void* memory, std::size_t bytes) noexcept;
}  // namespace detail

// While this exists, the pages of freed secrets are wiped and kept, locked, for new ones. For work
// that makes many short-lived secrets: each change of the address space stops all threads. The
// process must not fork meanwhile, because children do not inherit locks. Only one may exist at a
// time.
class SecretPagesKept {
 public:
  SecretPagesKept() noexcept;
  ~SecretPagesKept();  // frees the pages
  SecretPagesKept(const SecretPagesKept&) = delete;
  SecretPagesKept& operator=(const SecretPagesKept&) = delete;
};

// True if the system has refused to lock some secret (RLIMIT_MEMLOCK). That secret is still wiped
// and kept out of core dumps, but could reach swap.
[[nodiscard]] bool secret_locking_fell_short() noexcept;
// Makes secret_locking_fell_short() true, for secrets that others allocate and could not lock.
void note_unlocked_secret() noexcept;

// One trivially copyable object. Movable, not copyable.
template <typename T>
class Secret {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Secret() : object_(new (detail::allocate_secret(sizeof(T))) T{}) {}
  ~Secret() { reset(); }
  Secret(Secret&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      reset();
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  T& operator*() noexcept { return *object_; }
  const T& operator*() const noexcept { return *object_; }
  T* operator->() noexcept { return object_; }
  const T* operator->() const noexcept { return object_; }

 private:
  void reset() noexcept {
    if (object_ != nullptr) {
      detail::release_secret(object_, sizeof(T));
    }
  }
  T* object_;
};

// A byte string whose length is known only at run time. Movable, not copyable.
class SecretBytes {
 public:
  SecretBytes() noexcept = default;
  explicit SecretBytes(std::size_t bytes);  // zeroed
  explicit SecretBytes(Bytes contents);
  ~SecretBytes();
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  std::uint8_t* data() noexcept { return data_; }
  [[nodiscard]] const std::uint8_t* data() const noexcept { return data_; }
  operator Bytes() const noexcept { return {data_, size_}; }   // NOLINT: a view, as of vector
  operator MutableBytes() noexcept { return {data_, size_}; }  // NOLINT
  void truncate(std::size_t bytes) noexcept;                   // wipes what it cuts off

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Fills `out` from the system's generator. libcrypto's would cost every start a millisecond, and
// keeps state that forks and snapshots can duplicate. Throws Error if the system has none.
void random_bytes(MutableBytes out);

// While this exists, random_bytes() of this thread asks the system once for the keys and nonces of
// one file. It must end with that file: if somebody copies the running machine, both copies draw
// the bytes that are left. A forked child does not draw them. Each byte is wiped when it is drawn,
// or at the end. Throws std::bad_alloc.
class RandomBytesAtOnce {
 public:
  RandomBytesAtOnce();
  ~RandomBytesAtOnce();
  RandomBytesAtOnce(const RandomBytesAtOnce&) = delete;
  RandomBytesAtOnce& operator=(const RandomBytesAtOnce&) = delete;

 private:
  friend void random_bytes(MutableBytes out);
  void draw(MutableBytes out);

  // More than a file for one recipient takes. The system answers for up to 256 in one piece.
  std::array<std::uint8_t, 128> bytes_;
  std::size_t left_ = 0;  // of bytes_, at its end
  std::uint32_t forks_;
  RandomBytesAtOnce* const outer_;
};

}  // namespace paes
