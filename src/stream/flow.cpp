#include "stream/flow.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>

namespace paes::stream {

namespace {

// Threads take the read turn, transform, and write in the order in which they read. Memory stays at
// one batch a thread, and with several threads reading, the cipher and writing overlap.
class Turns {
 public:
  Turns(const Flow& flow, const Cancel* cancel) : flow_(flow), cancel_(cancel) {}

  void work(BatchPool& pool) noexcept {
    try {
      BatchPool::Loan batch(pool);
      std::uint64_t index = 0;
      while (take(index, *batch)) {
        flow_.transform(*batch);
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

  void put(std::uint64_t index, Batch& batch) {
    if (!flow_.write) {
      return;
    }
    if (!flow_.ordered_write) {
      flow_.write(batch);
      return;
    }
    std::unique_lock lock(write_mutex_);
    write_turn_.wait(lock, [&] { return next_write_ == index || stopped_.load(); });
    if (stopped_.load()) {
      return;
    }
    lock.unlock();  // nobody else writes before the turn moves on
    flow_.write(batch);
    lock.lock();
    ++next_write_;
    lock.unlock();
    write_turn_.notify_all();
  }

  void fail(std::exception_ptr error) noexcept {
    {
      const std::lock_guard lock(write_mutex_);
      if (stopped_.load()) {
        return;  // this one failed because another did
      }
      error_ = std::move(error);
      stopped_.store(true);
    }
    write_turn_.notify_all();
    if (flow_.stop_waiting) {
      flow_.stop_waiting();
    }
  }

  const Flow& flow_;
  const Cancel* cancel_;
  std::mutex read_mutex_;
  std::uint64_t next_read_ = 0;
  bool ended_ = false;
  std::mutex write_mutex_;
  std::condition_variable write_turn_;
  std::uint64_t next_write_ = 0;
  std::atomic<bool> stopped_{false};
  std::exception_ptr error_;
};

}  // namespace

void run(const Flow& flow, const Executor& executor, std::size_t batch_chunks,
         const Cancel* cancel) {
  BatchPool pool(batch_chunks);
  if (flow.ordered_read || flow.ordered_write) {
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
