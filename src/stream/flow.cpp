#include "stream/flow.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>

namespace paes::stream {

namespace {

// Lets the threads do a step of the batches in the order of their numbers.
class Turn {
 public:
  // Waits for the number's turn, does the step and passes the turn on. Nothing once stopped.
  template <typename Step>
  void take(std::uint64_t index, const std::atomic<bool>& stopped, Step&& step) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return next_ == index || stopped.load(); });
    if (stopped.load()) {
      return;
    }
    lock.unlock();  // nobody else has the turn before it moves on
    step();
    lock.lock();
    ++next_;
    lock.unlock();
    moved_.notify_all();
  }

  // After `stopped` has become true.
  void wake_all() noexcept {
    { const std::lock_guard lock(mutex_); }  // so that nobody is between looking and waiting
    moved_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t next_ = 0;
};

// Threads take the read turn, transform, and write in the order in which they read. Memory stays at
// one batch a thread, and with several threads reading, the cipher and writing overlap, also where
// the cipher itself must go in order.
class Turns {
 public:
  Turns(const Flow& flow, const Cancel* cancel) : flow_(flow), cancel_(cancel) {}

  void work(BatchPool& pool) noexcept {
    try {
      BatchPool::Loan batch(pool);
      std::uint64_t index = 0;
      while (take(index, *batch)) {
        transform(index, *batch);
        put(index, *batch);
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void rethrow() {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  bool take(std::uint64_t& index, Batch& batch) {
    std::unique_lock lock(read_mutex_);
    if (ended_ || stopped_.load()) {
      return false;
    }
    check(cancel_);
    index = next_read_++;
    if (flow_.ordered_read) {
      ended_ = !flow_.read(index, batch);
      return !ended_;
    }
    ended_ = index == flow_.count;
    lock.unlock();
    return index < flow_.count && flow_.read(index, batch);
  }

  void transform(std::uint64_t index, Batch& batch) {
    if (flow_.ordered_transform) {
      transform_turn_.take(index, stopped_, [&] { flow_.transform(batch); });
    } else {
      flow_.transform(batch);
    }
  }

  void put(std::uint64_t index, Batch& batch) {
    if (!flow_.write || stopped_.load()) {
      return;
    }
    if (flow_.ordered_write) {
      write_turn_.take(index, stopped_, [&] { flow_.write(batch); });
    } else {
      flow_.write(batch);
    }
  }

  void fail(std::exception_ptr error) noexcept {
    {
      const std::lock_guard lock(error_mutex_);
      if (stopped_.load()) {
        return;  // this one failed because another did
      }
      error_ = std::move(error);
      stopped_.store(true);
    }
    transform_turn_.wake_all();
    write_turn_.wake_all();
    if (flow_.stop_waiting) {
      flow_.stop_waiting();
    }
  }

  const Flow& flow_;
  const Cancel* cancel_;
  std::mutex read_mutex_;
  std::uint64_t next_read_ = 0;
  bool ended_ = false;
  Turn transform_turn_;
  Turn write_turn_;
  std::mutex error_mutex_;
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;
};

}  // namespace

void run(const Flow& flow, const Executor& executor, std::size_t batch_chunks,
         const Cancel* cancel) {
  BatchPool pool(batch_chunks, flow.shape, flow.engine);
  if (flow.ordered_read || flow.ordered_transform || flow.ordered_write) {
    Turns turns(flow, cancel);
    executor.on_each_thread([&](unsigned) { turns.work(pool); });
    turns.rethrow();
    return;
  }
  executor.for_each(static_cast<std::size_t>(flow.count), [&](std::size_t index) {
    check(cancel);
    BatchPool::Loan batch(pool);
    if (flow.read(index, *batch)) {
      flow.transform(*batch);
      if (flow.write) {
        flow.write(*batch);
      }
    }
  });
}

}  // namespace paes::stream
