// A device as a source of keystream: many chunks of counter mode with one call
// (message/engine.hpp), through memory that is pinned once. Only workers use it, for windows wide
// enough; its caller sleeps meanwhile.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "core/secret.hpp"
#include "keystream/budget.hpp"
#include "keystream/costs.hpp"
#include "keystream/pages.hpp"
#include "message/engine.hpp"

namespace paes::keystream {

class Device {
 public:
  // Fewer are not worth a call.
  static constexpr std::size_t least_chunks = 32;
  // A megabyte, in the usual chunks: long enough for a bus, short enough for a worker.
  static constexpr std::size_t most_chunks = 256;

  // Throws Error(failure) when the budget or the system has no memory for it.
  Device(std::shared_ptr<Engine> engine, std::size_t chunk_bytes, std::shared_ptr<Budget> budget);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const std::shared_ptr<Engine>& engine() const noexcept { return engine_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return pages_.size(); }
  [[nodiscard]] std::size_t unlocked_bytes() const noexcept {
    return pages_.is_locked() ? 0 : pages_.size();
  }
  // Whether it is expected to make a chunk in less time than a kernel, and works. From time to time
  // it is tried again.
  [[nodiscard]] bool pays(const Costs& costs) noexcept;

  // Keystream of so many chunks, up to most_chunks, from counter block `start` on. Calls
  // take(index, keystream) for each, and wipes what it was made in. False: the device is busy, or
  // has failed and is not asked again.
  template <typename Take>
  [[nodiscard]] bool make(const EngineRaw& key, const CounterBlock& start, std::size_t chunks,
                          Costs& costs, const Take& take) noexcept;

 private:
  [[nodiscard]] bool run(const EngineRaw& key, const CounterBlock& start,
                         std::size_t chunks) noexcept;

  const std::shared_ptr<Engine> engine_;
  const std::size_t chunk_bytes_;
  const std::shared_ptr<Budget> budget_;
  std::mutex mutex_;  // one worker at a time: the others compute
  Pages pages_;       // all zero between calls
  std::atomic<unsigned> asked_{0};
  std::atomic<bool> has_failed_{false};
};

template <typename Take>
bool Device::make(const EngineRaw& key, const CounterBlock& start, std::size_t chunks, Costs& costs,
                  const Take& take) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return false;
  }
  const Stopwatch watch;
  const bool is_made = run(key, start, chunks);
  for (std::size_t i = 0; is_made && i < chunks; ++i) {
    take(i, Bytes(pages_.data() + i * chunk_bytes_, chunk_bytes_));
  }
  wipe(pages_.data(), chunks * chunk_bytes_);
  if (is_made) {
    costs.on_device.add(watch.elapsed_ns() / static_cast<double>(chunks));
  }
  return is_made;
}

}  // namespace paes::keystream
