// SPDX-License-Identifier: Apache-2.0
#include "stream/transfer/transfer.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

#include "core/secret.hpp"
#include "paes/error.hpp"

namespace paes::stream {

namespace {

// Makes the threads do a step of the buffers in the order of the buffers' numbers.
class Turn {
 public:
  // Waits for buffer `index`'s turn, does the step and passes the turn on, unless stopped.
  template <typename Step>
  void take(std::uint64_t index, const std::atomic<bool>& stopped, Step&& step) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return next_ == index || stopped.load(); });
    if (stopped.load()) {
      return;
    }
    lock.unlock();  // no other thread can have the turn until it moves on
    step();
    lock.lock();
    ++next_;
    lock.unlock();
    moved_.notify_all();
  }

  // Call it after `stopped` has become true.
  void wake_all() noexcept {
    { const std::lock_guard lock(mutex_); }  // no thread is between looking and waiting then
    moved_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t next_ = 0;
};

// What is kept of a pipe between two buffers: at most a cipher's block.
constexpr std::size_t most_kept_bytes = 16;

// Reads the items of a pipe, whose length is known only at its end.
class PipeReader {
 public:
  PipeReader(const Source& source, const Layout& layout) : source_(source), layout_(layout) {}
  ~PipeReader() {
    wipe(ahead_);
    wipe(before_);
  }
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;

  // Fills the buffer with the next items. False if there are none left.
  bool read(Buffer& buffer) {
    if (has_ended_) {
      return false;
    }
    const std::size_t whole = layout_.items_a_buffer * layout_.in_bytes;
    std::memcpy(buffer.item(0) - layout_.before_bytes, before_.data(), layout_.before_bytes);
    std::memcpy(buffer.item(0), ahead_.data(), ahead_bytes_);
    std::size_t filled = ahead_bytes_ + read(buffer.in({ahead_bytes_, whole}));
    ahead_bytes_ = 0;
    has_ended_ = filled < whole;
    bool is_all = has_ended_;
    if (!has_ended_ && layout_.last == LastItem::may_be_whole) {
      const iovec ahead = {ahead_.data(), layout_.ahead_bytes};
      ahead_bytes_ = read(std::span(&ahead, 1));
      has_ended_ = ahead_bytes_ == 0;
      is_all = ahead_bytes_ < layout_.ahead_bytes;
    }
    if (layout_.check_length) {
      layout_.check_length(read_bytes_, is_all);
    }
    count_items(buffer, filled);
    if (!has_ended_ && layout_.before_bytes != 0) {
      std::memcpy(before_.data(), buffer.item(0) + filled - layout_.before_bytes,
                  layout_.before_bytes);
    }
    return true;
  }

 private:
  std::size_t read(std::span<const iovec> to) {
    const std::size_t got = source_.read_at(layout_.in_offset + read_bytes_, to);
    read_bytes_ += got;
    return got;
  }

  void count_items(Buffer& buffer, std::size_t filled) {
    buffer.first_item = next_item_;
    buffer.is_last = has_ended_;
    std::size_t items = filled / layout_.in_bytes;
    const std::size_t rest = filled - items * layout_.in_bytes;
    const bool ends_short = layout_.last == LastItem::is_short || next_item_ + items == 0;
    if (rest != 0 || (has_ended_ && ends_short)) {
      if (rest < layout_.min_in_bytes) {
        layout_.on_cut();
        filled -= rest;
      } else {
        ++items;
      }
    }
    buffer.items = items;
    buffer.bytes = filled;
    next_item_ += items;
  }

  const Source& source_;
  const Layout& layout_;
  bool has_ended_ = false;
  std::uint64_t read_bytes_ = 0;
  std::uint64_t next_item_ = 0;
  std::array<std::uint8_t, most_kept_bytes> ahead_ = {};
  std::size_t ahead_bytes_ = 0;
  std::array<std::uint8_t, most_kept_bytes> before_ = {};
};

class Transfer {
 public:
  Transfer(Source& source, Sink* sink, const Layout& layout, const Transform& transform,
           Range items, const Work& work, Continuation* continuation)
      : source_(source),
        sink_(sink),
        layout_(layout),
        transform_(transform),
        items_(items),
        work_(work),
        continuation_(continuation),
        writes_in_order_(sink != nullptr && !sink->is_seekable()),
        pipe_(source, layout),
        // A short text takes a short buffer, all of which is wiped in the end.
        own_pool_(layout, transform.device, source.is_seekable() ? items.count() : UINT64_MAX),
        pool_(work.buffers != nullptr && work.buffers->fits(layout) ? *work.buffers : own_pool_) {}

  MovedBytes run() {
    if (!source_.is_seekable() || transform_.is_ordered || writes_in_order_) {
      work_.executor.get().on_each_thread([this](unsigned) { work_in_turns(); });
      if (error_) {
        std::rethrow_exception(error_);
      }
    } else {
      work_.executor.get().for_each(static_cast<std::size_t>(buffers()), [this](std::size_t index) {
        check(work_.cancel);
        BufferPool::Loan buffer(pool_);
        move_one(index, *buffer);
      });
    }
    return {written_bytes_.load(), text_bytes_.load()};
  }

 private:
  [[nodiscard]] std::uint64_t buffers() const noexcept {
    return (items_.count() + layout_.items_a_buffer - 1) / layout_.items_a_buffer;
  }

  [[nodiscard]] Range items_of(std::uint64_t index) const noexcept {
    const std::uint64_t first = items_.first + index * layout_.items_a_buffer;
    return {first, std::min<std::uint64_t>(items_.end, first + layout_.items_a_buffer)};
  }

  // Both ends are seekable, and no step waits for another thread.
  void move_one(std::uint64_t index, Buffer& buffer) {
    const Range items = items_of(index);
    if (continuation_ != nullptr && continuation_->is_done(items, buffer)) {
      add_progress(layout_.text_bytes_of(items));
      return;
    }
    read(items, buffer);
    transform(buffer);
    if (continuation_ != nullptr) {
      continuation_->check(buffer);
    }
    write(buffer);
    if (continuation_ != nullptr) {
      continuation_->has_written(items);
    }
  }

  // Each thread reads the next buffer, transforms it and writes it. The transform and the writes
  // take turns if they must be in order. There is one buffer per thread, and reads, transforms and
  // writes of different threads overlap, even if the transform is ordered.
  void work_in_turns() noexcept {
    try {
      BufferPool::Loan buffer(pool_);
      std::uint64_t index = 0;
      while (read_next(index, *buffer)) {
        in_turn(transform_.is_ordered, transform_turn_, index, [&] { transform(*buffer); });
        if (!has_stopped_.load()) {
          in_turn(writes_in_order_, write_turn_, index, [&] { write(*buffer); });
        }
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }

  template <typename Step>
  void in_turn(bool is_ordered, Turn& turn, std::uint64_t index, Step&& step) {
    if (is_ordered) {
      turn.take(index, has_stopped_, step);
    } else {
      step();
    }
  }

  bool read_next(std::uint64_t& index, Buffer& buffer) {
    std::unique_lock lock(read_mutex_);
    if (has_ended_ || has_stopped_.load()) {
      return false;
    }
    check(work_.cancel);
    index = next_index_++;
    if (!source_.is_seekable()) {
      has_ended_ = !pipe_.read(buffer);
      return !has_ended_;
    }
    has_ended_ = index == buffers();
    lock.unlock();
    if (index < buffers()) {
      read(items_of(index), buffer);
      return true;
    }
    return false;
  }

  void read(Range items, Buffer& buffer) {
    const Range bytes = layout_.in_of(items);
    buffer.first_item = items.first;
    buffer.items = static_cast<std::size_t>(items.count());
    buffer.bytes = static_cast<std::size_t>(bytes.count());
    buffer.is_last = items.end == layout_.all_items().end;
    const std::uint64_t offset = layout_.in_offset + bytes.first;
    if (layout_.before_bytes != 0 && items.first != 0) {
      const std::size_t before = layout_.before_bytes;
      source_.read_at(offset - before, {buffer.item(0) - before, before + buffer.bytes});
    } else if (buffer.bytes != 0) {
      source_.read_at(offset, buffer.in({0, buffer.bytes}));
    }
  }

  void transform(Buffer& buffer) {
    const std::uint64_t in_bytes = buffer.bytes;
    transform_.run(buffer);
    const std::uint64_t text_bytes = std::min<std::uint64_t>(in_bytes, buffer.bytes);
    add(text_bytes_, text_bytes);
    const std::uint64_t half = text_bytes / 2;
    add_progress(transform_.pass == Pass::only           ? text_bytes
                 : transform_.pass == Pass::first_of_two ? half
                                                         : text_bytes - half);
  }

  // Writes the wanted part of the buffer.
  void write(Buffer& buffer) {
    if (sink_ == nullptr) {
      return;
    }
    const std::uint64_t begin = buffer.first_item * layout_.out_bytes;
    const std::uint64_t from = std::max(begin, layout_.wanted.first);
    const std::uint64_t to = std::min(begin + buffer.bytes, layout_.wanted.end);
    if (from < to) {
      sink_->write_at(layout_.out_offset + from - layout_.wanted.first,
                      buffer.out({from - begin, to - begin}));
      add(written_bytes_, to - from);
    }
  }

  void fail(std::exception_ptr error) noexcept {
    {
      const std::lock_guard lock(error_mutex_);
      if (has_stopped_.load()) {
        return;  // this thread failed because another did
      }
      error_ = std::move(error);
      has_stopped_.store(true);
    }
    transform_turn_.wake_all();
    write_turn_.wake_all();
    source_.stop_waiting();
    if (sink_ != nullptr) {
      sink_->stop_waiting();
    }
  }

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t bytes) noexcept {
    counter.fetch_add(bytes, std::memory_order_relaxed);
  }
  void add_progress(std::uint64_t bytes) const noexcept {
    if (work_.progress != nullptr) {
      add(*work_.progress, bytes);
    }
  }

  Source& source_;
  Sink* sink_;
  const Layout& layout_;
  const Transform& transform_;
  Range items_;
  const Work& work_;
  Continuation* continuation_;
  bool writes_in_order_;
  PipeReader pipe_;
  BufferPool own_pool_;
  BufferPool& pool_;
  std::mutex read_mutex_;
  std::uint64_t next_index_ = 0;
  bool has_ended_ = false;
  Turn transform_turn_;
  Turn write_turn_;
  std::mutex error_mutex_;
  std::atomic<bool> has_stopped_{false};
  std::exception_ptr error_;
  std::atomic<std::uint64_t> written_bytes_{0};
  std::atomic<std::uint64_t> text_bytes_{0};
};

}  // namespace

std::size_t buffer_bytes(const Work& work) {
  constexpr std::size_t unit = std::size_t{16} << 10;
  const Device* const device = work.device_use.device;
  const std::size_t most = device == nullptr ? max_piece_bytes : max_device_piece_bytes;
  if (work.piece_bytes > most) {
    throw Error(ErrorCode::usage, "piece: " + std::to_string(work.piece_bytes) +
                                      " is above the limit of " + std::to_string(most));
  }
  const std::size_t units = (work.piece_bytes + unit - 1) / unit;
  const std::size_t liked = device == nullptr ? units : device->piece_bytes() / unit;
  return std::max<std::size_t>(std::min(units, liked), 1) * unit;
}

MovedBytes transfer(Source& source, Sink* sink, const Layout& layout, const Transform& transform,
                    Range items, const Work& work, Continuation* continuation) {
  const bool has_offsets = source.is_seekable() && sink != nullptr && sink->is_seekable();
  const bool fits_pipe = layout.before_bytes <= most_kept_bytes &&
                         layout.ahead_bytes <= most_kept_bytes &&
                         (layout.min_in_bytes == 0 || layout.on_cut != nullptr);
  if ((!source.is_seekable() && !fits_pipe) ||
      (continuation != nullptr && (!has_offsets || transform.is_ordered)) ||
      (source.is_seekable() && !layout.total_bytes) ||
      (layout.before_bytes != 0 && layout.items_a_buffer != 1)) {
    throw std::logic_error("transfer: a layout that does not fit its ends");
  }
  return Transfer(source, sink, layout, transform, items, work, continuation).run();
}

}  // namespace paes::stream
