// SPDX-License-Identifier: Apache-2.0
#include "core/secret.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "core/forks.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

std::atomic<bool> locking_fell_short{false};

std::size_t whole_pages(std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

// Free pages, by how many belong together. Larger secrets are rare.
constexpr std::size_t most_pages_kept_together = 4;
// A list through the pages themselves, so that keeping them allocates nothing.
struct FreePages {
  FreePages* next;
};
std::mutex kept_mutex;
[[maybe_unused]] const int registered = free_in_children<kept_mutex>();
bool are_pages_kept = false;
FreePages* kept_pages[most_pages_kept_together] = {};

// The list for free pages of this length; null if they are too long to keep.
FreePages** kept_list(std::size_t mapped_bytes) noexcept {
  const std::size_t pages = mapped_bytes / whole_pages(1);
  return pages <= most_pages_kept_together ? &kept_pages[pages - 1] : nullptr;
}

void* take_kept(std::size_t mapped_bytes) noexcept {
  FreePages** const list = kept_list(mapped_bytes);
  const std::lock_guard lock(kept_mutex);
  if (list == nullptr || *list == nullptr) {
    return nullptr;
  }
  FreePages* const pages = *list;
  *list = pages->next;
  pages->next = nullptr;  // all zero again
  return pages;
}

bool keep(void* memory, std::size_t mapped_bytes) noexcept {
  FreePages** const list = kept_list(mapped_bytes);
  const std::lock_guard lock(kept_mutex);
  if (list == nullptr || !are_pages_kept) {
    return false;
  }
  *list = new (memory) FreePages{*list};
  return true;
}

}  // namespace

SecretPagesKept::SecretPagesKept() noexcept {
  const std::lock_guard lock(kept_mutex);
  are_pages_kept = true;
}

SecretPagesKept::~SecretPagesKept() {
  const std::lock_guard lock(kept_mutex);
  are_pages_kept = false;
  for (std::size_t pages = 1; pages <= most_pages_kept_together; ++pages) {
    FreePages*& list = kept_pages[pages - 1];
    while (list != nullptr) {
      (void)munmap(std::exchange(list, list->next), pages * whole_pages(1));
    }
  }
}

void wipe(void* memory, std::size_t bytes) noexcept {
  if (bytes != 0) {  // explicit_bzero takes no null pointer, which an empty range may have
    explicit_bzero(memory, bytes);
  }
}

void note_unlocked_secret() noexcept { locking_fell_short.store(true); }

bool secret_locking_fell_short() noexcept { return locking_fell_short.load(); }

namespace detail {

void* allocate_secret(std::size_t bytes) {
  const std::size_t mapped = whole_pages(bytes);
  if (void* const kept = take_kept(mapped); kept != nullptr) {
    return kept;
  }
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  protect_secret(memory, mapped);
  return memory;
}

void protect_secret(void* memory, std::size_t bytes) noexcept {
  // Both are hardening: the secret stays usable on an old system that refuses them.
  (void)madvise(memory, bytes, MADV_DONTDUMP);
  if (mlock(memory, bytes) != 0) {
    note_unlocked_secret();
  }
}

void release_secret(void* memory, std::size_t bytes) noexcept {
  wipe(memory, bytes);
  if (!keep(memory, whole_pages(bytes))) {
    (void)munmap(memory, whole_pages(bytes));  // unlocks as well
  }
}

}  // namespace detail

SecretBytes::SecretBytes(std::size_t bytes) : size_(bytes), capacity_(bytes) {
  if (bytes != 0) {
    data_ = static_cast<std::uint8_t*>(detail::allocate_secret(bytes));
  }
}

SecretBytes::SecretBytes(Bytes contents) : SecretBytes(contents.size()) {
  std::copy(contents.begin(), contents.end(), data_);
}

SecretBytes::~SecretBytes() {
  if (data_ != nullptr) {
    detail::release_secret(data_, capacity_);
  }
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

void SecretBytes::truncate(std::size_t bytes) noexcept {
  assert(bytes <= size_);
  wipe(data_ + bytes, size_ - bytes);
  size_ = bytes;
}

namespace {

thread_local RandomBytesAtOnce* random_bytes_at_once = nullptr;

void ask_for_random_bytes(MutableBytes out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw Error(ErrorCode::failure,
                  std::string("random bytes: the system gives none: ") + std::strerror(errno));
    }
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace

RandomBytesAtOnce::RandomBytesAtOnce()
    : forks_(count_forks()), outer_(std::exchange(random_bytes_at_once, this)) {}

RandomBytesAtOnce::~RandomBytesAtOnce() {
  random_bytes_at_once = outer_;
  wipe(bytes_);
}

void RandomBytesAtOnce::draw(MutableBytes out) {
  if (left_ < out.size() || forks_ != forks()) {
    left_ = 0;
    ask_for_random_bytes(bytes_);
    left_ = bytes_.size();
    forks_ = forks();
  }
  std::uint8_t* const next = bytes_.data() + bytes_.size() - left_;
  std::copy_n(next, out.size(), out.data());
  wipe(next, out.size());
  left_ -= out.size();
}

void random_bytes(MutableBytes out) {
  RandomBytesAtOnce* const drawn = random_bytes_at_once;
  if (drawn != nullptr && out.size() <= drawn->bytes_.size()) {
    drawn->draw(out);
  } else {
    ask_for_random_bytes(out);
  }
}

}  // namespace paes
