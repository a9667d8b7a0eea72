// SPDX-License-Identifier: Apache-2.0
#include "keystream/device_source.hpp"

#include <new>

#include "paes/error.hpp"

namespace paes::keystream {

namespace {

// A device that was found too slow is tried again once in this many opportunities.
constexpr unsigned asked_before_try = 64;

Pages pages_for(const Reservation& memory, std::size_t bytes) {
  if (!memory.is_granted()) {
    throw Error(ErrorCode::failure, "keystream: the budget has no room for a device's memory");
  }
  try {
    return Pages(bytes);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::failure, "keystream: no memory for a device");
  }
}

}  // namespace

DeviceSource::DeviceSource(std::shared_ptr<Device> device, std::size_t chunk_bytes,
                           const std::shared_ptr<Budget>& budget)
    : device_(std::move(device)),
      chunk_bytes_(chunk_bytes),
      memory_(budget, Pages::whole(most_chunks * chunk_bytes)),
      pages_(pages_for(memory_, most_chunks * chunk_bytes)) {
  device_->pin(pages_.data(), pages_.size());
}

bool DeviceSource::pays(const Costs& costs) noexcept {
  return !has_failed_.load(std::memory_order_relaxed) &&
         (costs.on_device.ns() < costs.ns(Way::direct) ||
          asked_.fetch_add(1, std::memory_order_relaxed) % asked_before_try == 0);
}

bool DeviceSource::run(const DeviceRaw& key, const CounterBlock& start,
                       std::size_t chunks) noexcept {
  const MutableBytes memory(pages_.data(), chunks * chunk_bytes_);
  try {
    return key.crypt(start, memory, memory, WhenBusy::decline);
  } catch (const std::exception&) {
    has_failed_.store(true, std::memory_order_relaxed);
    return false;
  }
}

}  // namespace paes::keystream
