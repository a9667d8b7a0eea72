// SPDX-License-Identifier: Apache-2.0
// How work goes to threads. An executor knows nothing of cryptography or files.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace paes {

class Executor {
 public:
  virtual ~Executor() = default;

  [[nodiscard]] virtual unsigned threads() const noexcept = 0;

  // Starts the threads. Throws Error(failure) if the system cannot start that many. Call it before
  // you make anything that must not be left half done, and with OpenMP before anything else: its
  // run-time library ends the process where a thread cannot start.
  virtual void start() const = 0;

  // Calls fn(index) once for each index below count. After the first exception no further index is
  // handed out; once every running call has returned, it is rethrown here.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const = 0;

  // Calls fn(thread) once on each of threads() threads at the same time. Exceptions are handled as
  // in for_each(). If a body waits for its peers, the caller must tell it when one of them fails.
  virtual void on_each_thread(const std::function<void(unsigned)>& fn) const = 0;
};

// The executor for callers that need no threads. It is never destroyed.
[[nodiscard]] const Executor& serial_executor() noexcept;
[[nodiscard]] std::unique_ptr<Executor> make_serial_executor();

// Enough for any machine, and few enough that a typing error does no harm.
inline constexpr unsigned max_threads = 4096;

// The threads that a caller asks for: 0 means usable_processors(). Throws Error(usage) above
// max_threads.
[[nodiscard]] unsigned checked_threads(unsigned threads);

}  // namespace paes
