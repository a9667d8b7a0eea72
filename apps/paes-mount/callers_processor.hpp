// Where threads that answer should run. A request wakes a thread, and the answer wakes the caller.
// The system likes to wake either on a processor that does nothing, which has to come out of its
// sleep first: that takes several times as long as most requests. While one caller makes short
// requests one after another, as ls does and whoever makes or reads small files, the threads are
// therefore kept to the caller's processor, which is free whenever it waits.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>

namespace paes::mount {

// The processor on which a thread of any process ran last; any_processor: not known.
[[nodiscard]] int processor_of(pid_t thread) noexcept;
inline constexpr int any_processor = -1;

// Any number of threads may use it.
class CallersProcessor {
 public:
  using ProcessorOf = int (*)(pid_t) noexcept;
  explicit CallersProcessor(ProcessorOf processor_of = mount::processor_of) noexcept
      : processor_of_(processor_of) {}

  // A request was received. Where those that answer should run from now on.
  [[nodiscard]] int after(const void* request, std::size_t bytes) noexcept;

 private:
  ProcessorOf processor_of_;
  std::atomic<pid_t> caller_{0};
  std::atomic<unsigned> requests_{0};  // of the caller, without another's between them
  std::atomic<int> processor_{any_processor};
};

// The processors of the thread that makes it.
class OwnProcessors {
 public:
  OwnProcessors() noexcept;
  // Keeps the thread to a processor, if it may run there; any_processor: to those that it began
  // with.
  void keep_to(int processor) noexcept;

 private:
  cpu_set_t all_{};
  bool are_known_ = false;
  int kept_to_ = any_processor;
};

}  // namespace paes::mount
