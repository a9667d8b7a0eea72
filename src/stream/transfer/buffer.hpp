// SPDX-License-Identifier: Apache-2.0
// What a thread holds at once: a run of consecutive items, transformed in place in page-aligned
// memory. Every item begins on a cache line, so the bytes of several items are a list of places.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/pool.hpp"
#include "message/device.hpp"
#include "stream/transfer/layout.hpp"

namespace paes::stream {

class Buffer {
 public:
  // Has room for layout.items_a_buffer items, and for no more than `most_items`. If there is a
  // device, the memory is pinned for it, and the device must outlive the buffer.
  explicit Buffer(const Layout& layout, Device* device = nullptr,
                  std::uint64_t most_items = UINT64_MAX);
  ~Buffer();  // wipes the memory
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Where item number `index` of the buffer lies.
  [[nodiscard]] std::uint8_t* item(std::size_t index) noexcept {
    return memory_ + index * stride_bytes_ + room_bytes_;
  }
  [[nodiscard]] std::size_t stride_bytes() const noexcept { return stride_bytes_; }
  [[nodiscard]] MutableBytes contents() noexcept { return {item(0), bytes}; }
  // Where a range of the buffer's bytes lies, counted from its first item, before and after the
  // transform. Valid until the next call.
  [[nodiscard]] std::span<const iovec> in(Range range) { return list(range, in_bytes_); }
  [[nodiscard]] std::span<const iovec> out(Range range) { return list(range, out_bytes_); }

  // Whoever fills the buffer sets these. `bytes` is the length of its content: of the input until
  // the transform has run, then of the output.
  std::uint64_t first_item = 0;
  std::size_t items = 0;
  std::size_t bytes = 0;
  bool is_last = false;  // the text ends with it

 private:
  [[nodiscard]] std::span<const iovec> list(Range range, std::size_t item_bytes);

  std::size_t max_items_;
  std::size_t in_bytes_;
  std::size_t out_bytes_;
  std::size_t room_bytes_;
  std::size_t stride_bytes_;
  std::size_t mapped_bytes_;
  std::uint8_t* memory_;
  Device* device_;
  std::vector<iovec> list_;
};

// Buffers for all threads that ask at the same time.
class BufferPool {
 public:
  // `most_items` is what the largest buffer must have room for.
  explicit BufferPool(const Layout& layout, Device* device = nullptr,
                      std::uint64_t most_items = UINT64_MAX)
      : layout_(layout), device_(device), most_items_(most_items) {}

  // Whether its buffers are right for a transfer with this layout.
  [[nodiscard]] bool fits(const Layout& layout) const noexcept;

  // A buffer borrowed for one scope.
  class Loan {
   public:
    explicit Loan(BufferPool& pool) : pool_(pool), buffer_(pool.take()) {}
    ~Loan() { pool_.free_.give_back(std::move(buffer_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Buffer& operator*() noexcept { return *buffer_; }

   private:
    BufferPool& pool_;
    std::unique_ptr<Buffer> buffer_;
  };

 private:
  std::unique_ptr<Buffer> take();

  const Layout& layout_;
  Device* device_;
  std::uint64_t most_items_;
  Pool<Buffer> free_;
};

}  // namespace paes::stream
