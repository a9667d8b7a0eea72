// SPDX-License-Identifier: Apache-2.0
#include "stream/transfer/buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <new>

#include "core/secret.hpp"

namespace paes::stream {

namespace {

constexpr std::size_t line_bytes = 64;

std::size_t rounded_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

Buffer::Buffer(const Layout& layout, Device* device, std::uint64_t most_items)
    : max_items_(static_cast<std::size_t>(
          std::min<std::uint64_t>(layout.items_a_buffer, std::max<std::uint64_t>(most_items, 1)))),
      in_bytes_(layout.in_bytes),
      out_bytes_(layout.out_bytes),
      room_bytes_(rounded_up(layout.room_bytes, line_bytes)),
      stride_bytes_(rounded_up(std::max(in_bytes_, out_bytes_), line_bytes) + 2 * room_bytes_),
      // Devices pin whole pages.
      mapped_bytes_(
          rounded_up(max_items_ * stride_bytes_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)))),
      device_(device) {
  list_.reserve(max_items_);
  void* memory =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  // Plaintext does not belong in a core dump. If the system cannot leave it out, it is still wiped.
  (void)madvise(memory, mapped_bytes_, MADV_DONTDUMP);
  memory_ = static_cast<std::uint8_t*>(memory);
  if (device_ != nullptr) {
    device_->pin(memory_, mapped_bytes_);
  }
}

Buffer::~Buffer() {
  wipe(memory_, mapped_bytes_);
  if (device_ != nullptr) {
    device_->unpin(memory_);
  }
  (void)munmap(memory_, mapped_bytes_);
}

std::span<const iovec> Buffer::list(Range range, std::size_t item_bytes) {
  list_.clear();
  if (max_items_ == 1) {
    item_bytes = static_cast<std::size_t>(range.end);  // padding may have made it longer
  }
  while (range.first < range.end) {
    const auto index = static_cast<std::size_t>(range.first / item_bytes);
    const auto skipped = static_cast<std::size_t>(range.first % item_bytes);
    const auto part =
        static_cast<std::size_t>(std::min<std::uint64_t>(range.count(), item_bytes - skipped));
    assert((index + 1) * stride_bytes_ <= mapped_bytes_);
    list_.push_back({item(index) + skipped, part});
    range.first += part;
  }
  return list_;
}

bool BufferPool::fits(const Layout& layout) const noexcept {
  return layout.items_a_buffer == layout_.items_a_buffer && layout.in_bytes == layout_.in_bytes &&
         layout.out_bytes == layout_.out_bytes && layout.room_bytes == layout_.room_bytes;
}

std::unique_ptr<Buffer> BufferPool::take() {
  std::unique_ptr<Buffer> buffer = free_.take();
  return buffer ? std::move(buffer) : std::make_unique<Buffer>(layout_, device_, most_items_);
}

}  // namespace paes::stream
