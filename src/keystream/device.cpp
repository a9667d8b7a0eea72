#include "keystream/device.hpp"

#include <new>

#include "paes/error.hpp"
namespace paes::keystream {

namespace {

// How often a device that was found too slow is tried again.
constexpr unsigned asked_before_try = 64;

// Reserved before it is allocated.
Pages pages_of(std::size_t bytes, Budget& budget) {
  if (!budget.reserve(bytes)) {
    throw Error(ErrorCode::failure, "keystream: the budget has no room for a device's memory");
  }
  try {
    return Pages(bytes);
  } catch (const std::bad_alloc&) {
    budget.release(bytes);
    throw Error(ErrorCode::failure, "keystream: no memory for a device");
  }
}

}  // namespace

Device::Device(std::shared_ptr<Engine> engine, std::size_t chunk_bytes,
               std::shared_ptr<Budget> budget)
    : engine_(std::move(engine)),
      chunk_bytes_(chunk_bytes),
      budget_(std::move(budget)),
      pages_(pages_of(most_chunks * chunk_bytes, *budget_)) {
  engine_->pin(pages_.data(), pages_.size());
}

Device::~Device() {
  engine_->unpin(pages_.data());
  budget_->release(pages_.size());
}

bool Device::pays(const Costs& costs) noexcept {
  return !has_failed_.load(std::memory_order_relaxed) &&
         (costs.on_device.ns() < costs.ns(Way::direct) ||
          asked_.fetch_add(1, std::memory_order_relaxed) % asked_before_try == 0);
}

bool Device::run(const EngineRaw& key, const CounterBlock& start, std::size_t chunks) noexcept {
  const MutableBytes memory(pages_.data(), chunks * chunk_bytes_);
  try {
    return key.crypt(start, memory, memory, WhenBusy::decline);
  } catch (const std::exception&) {
    has_failed_.store(true, std::memory_order_relaxed);
    return false;
  }
}

}  // namespace paes::keystream
