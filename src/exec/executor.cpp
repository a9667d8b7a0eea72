// SPDX-License-Identifier: Apache-2.0
#include "exec/executor.hpp"

#include <new>
#include <string>

#include "exec/processors.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

class SerialExecutor final : public Executor {
 public:
  [[nodiscard]] unsigned threads() const noexcept override { return 1; }
  void start() const override {}
  void for_each(std::size_t count, const std::function<void(std::size_t)>& fn) const override {
    for (std::size_t index = 0; index < count; ++index) {
      fn(index);
    }
  }
  void on_each_thread(const std::function<void(unsigned)>& fn) const override { fn(0); }
};

}  // namespace

const Executor& serial_executor() noexcept {
  // Never destroyed: threads that nobody joins may still use it when the program ends.
  alignas(SerialExecutor) static std::byte memory[sizeof(SerialExecutor)];
  static const Executor& serial = *new (memory) SerialExecutor;
  return serial;
}

std::unique_ptr<Executor> make_serial_executor() { return std::make_unique<SerialExecutor>(); }

unsigned checked_threads(unsigned threads) {
  if (threads > max_threads) {
    throw Error(ErrorCode::usage, "threads: " + std::to_string(threads) +
                                      " is above the limit of " + std::to_string(max_threads));
  }
  return threads == 0 ? usable_processors() : threads;
}

}  // namespace paes
