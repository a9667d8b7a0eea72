// SPDX-License-Identifier: Apache-2.0
// A device as a source of keystream: one call (message/device.hpp) makes many chunks of counter
// mode, in memory that is pinned once. Only workers use it, for windows that are wide enough, and
// the worker that calls it sleeps meanwhile.
//
// It has not been measured on a GPU yet.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "core/secret.hpp"
#include "keystream/budget.hpp"
#include "keystream/costs.hpp"
#include "keystream/pages.hpp"
#include "message/device.hpp"

namespace paes::keystream {

class DeviceSource {
 public:
  // Fewer are not worth a call.
  static constexpr std::size_t least_chunks = 32;
  // A megabyte of chunks of the usual size: long enough for a bus, short enough for a worker.
  static constexpr std::size_t most_chunks = 256;

  // Throws Error(failure) if the budget or the system has no memory for it.
  DeviceSource(std::shared_ptr<Device> device, std::size_t chunk_bytes,
               const std::shared_ptr<Budget>& budget);
  ~DeviceSource() { device_->unpin(pages_.data()); }
  DeviceSource(const DeviceSource&) = delete;
  DeviceSource& operator=(const DeviceSource&) = delete;

  [[nodiscard]] const std::shared_ptr<Device>& device() const noexcept { return device_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return pages_.size(); }
  [[nodiscard]] std::size_t unlocked_bytes() const noexcept {
    return pages_.is_locked() ? 0 : pages_.size();
  }
  // Whether it works, and is expected to make a chunk faster than a kernel. A slow device is tried
  // again from time to time.
  [[nodiscard]] bool pays(const Costs& costs) noexcept;

  // Makes the keystream of `count` chunks, at most most_chunks, from counter block `start` on.
  // Calls take(index, keystream) for each, and wipes its own memory. False if the device is busy,
  // or has failed and is not asked again.
  template <typename Take>
  [[nodiscard]] bool make(const DeviceRaw& key, const CounterBlock& start, std::size_t chunks,
                          Costs& costs, const Take& take) noexcept;

 private:
  [[nodiscard]] bool run(const DeviceRaw& key, const CounterBlock& start,
                         std::size_t chunks) noexcept;

  const std::shared_ptr<Device> device_;
  const std::size_t chunk_bytes_;
  const Reservation memory_;
  std::mutex mutex_;  // one worker at a time: the others compute
  Pages pages_;       // all zero between calls
  std::atomic<unsigned> asked_{0};
  std::atomic<bool> has_failed_{false};
};

template <typename Take>
bool DeviceSource::make(const DeviceRaw& key, const CounterBlock& start, std::size_t chunks,
                        Costs& costs, const Take& take) noexcept {
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
