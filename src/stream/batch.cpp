#include "stream/batch.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <new>

#include "core/secret.hpp"

namespace paes::stream {

namespace {

// What is pinned for an engine are whole pages.
std::size_t whole_pages(std::size_t bytes) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace

Batch::Batch(std::size_t max_chunks, ChunkShape shape, Engine* engine)
    : max_chunks_(max_chunks),
      shape_(shape),
      mapped_bytes_(whole_pages(max_chunks * stride_bytes())),
      engine_(engine) {
  list_.reserve(max_chunks);
  void* memory =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  // Plaintext has no business in a core dump; where the system cannot leave it out, it is still
  // wiped.
  (void)madvise(memory, mapped_bytes_, MADV_DONTDUMP);
  memory_ = static_cast<std::uint8_t*>(memory);
  if (engine_ != nullptr) {
    engine_->pin(memory_, mapped_bytes_);
  }
}

Batch::~Batch() {
  wipe(memory_, mapped_bytes_);
  if (engine_ != nullptr) {
    engine_->unpin(memory_);
  }
  (void)munmap(memory_, mapped_bytes_);
}

std::span<const iovec> Batch::list(std::size_t bytes_wanted, std::size_t step) {
  list_.clear();
  for (std::size_t index = 0; bytes_wanted != 0; ++index) {
    assert(index < max_chunks_);
    const std::size_t part = std::min(bytes_wanted, step);
    list_.push_back({chunk(index), part});
    bytes_wanted -= part;
  }
  return list_;
}

std::unique_ptr<Batch> BatchPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Batch> batch = std::move(free_.back());
      free_.pop_back();
      return batch;
    }
    free_.reserve(++made_);  // so that giving back cannot fail
  }
  return std::make_unique<Batch>(max_chunks_, shape_, engine_);
}

void BatchPool::give_back(std::unique_ptr<Batch> batch) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(batch));
}

}  // namespace paes::stream
