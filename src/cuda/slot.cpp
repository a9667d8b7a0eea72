// SPDX-License-Identifier: Apache-2.0
#include "cuda/slot.hpp"

#include <algorithm>
#include <cassert>

namespace paes::cuda {

namespace {

// In smaller pieces, starting a copy takes longer than its bytes.
constexpr std::size_t least_piece_bytes = std::size_t{64} << 10;

std::size_t room_bytes(std::size_t piece_bytes) {
  constexpr std::size_t unit = 256;
  // XTS can have a tweak for each block. The number of the first unit lies before them.
  return (Slot::max_text_bytes(piece_bytes) + unit - 1) / unit * unit + unit;
}

// Smaller pieces would not help.
class NoSlots final : public OutOfMemory {
 public:
  NoSlots()
      : OutOfMemory("cuda: this process uses all " + std::to_string(max_slots) +
                    " slots of the device already") {}
};

std::vector<std::unique_ptr<Slot>> make_slots(Runtime& runtime, unsigned for_each_device,
                                              std::size_t piece_bytes) {
  std::vector<std::unique_ptr<Slot>> slots;
  for (unsigned round = 0; round < for_each_device; ++round) {
    for (unsigned device = 0; device < runtime.devices().size(); ++device) {
      if (const std::optional<unsigned> number = runtime.take_slot(device)) {
        slots.push_back(std::make_unique<Slot>(runtime, device, *number, piece_bytes));
      }
    }
  }
  if (slots.empty()) {
    throw NoSlots();
  }
  return slots;
}

std::string in_kib(std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }

}  // namespace

Slot::Slot(Runtime& runtime, unsigned device, unsigned number, std::size_t piece_bytes)
    : runtime_(runtime),
      number_(runtime, device, number),
      room_bytes_(room_bytes(piece_bytes)),
      stream_(runtime, device),
      text_(runtime, stream_.get(), room_bytes_),
      other_(runtime, stream_.get(), room_bytes_),
      host_blocks_(runtime, 2 * max_messages(piece_bytes) * sizeof(Block)) {
  assert(number < max_slots);
}

std::uint8_t* Slot::staging() {
  if (!staging_) {
    staging_.emplace(runtime_, room_bytes_);
  }
  return staging_->data();
}

void Slot::finish() {
  if (launched_ != nullptr) {
    runtime_.wipe_keys(stream_.get(), *launched_, number());
  }
  runtime_.wait(stream_.get());
  launched_ = nullptr;
}

DeviceSlots::DeviceSlots(Runtime& runtime, unsigned for_each_device, std::size_t piece_bytes,
                         Note note)
    : note_(std::move(note)), piece_bytes_(piece_bytes) {
  assert(for_each_device > 0);
  while (all_.empty()) {
    try {
      all_ = make_slots(runtime, for_each_device, piece_bytes_);
    } catch (const NoSlots&) {
      throw;
    } catch (const OutOfMemory&) {
      if (piece_bytes_ / 2 < least_piece_bytes) {
        throw;
      }
      piece_bytes_ /= 2;
    }
  }
  if (piece_bytes_ != piece_bytes && note_) {
    note_("cuda: device memory is short, so pieces have " + in_kib(piece_bytes_) + ", not " +
          in_kib(piece_bytes));
  }
  for (const auto& slot : all_) {
    free_.push_back(slot.get());
  }
}

unsigned DeviceSlots::count() const noexcept {
  const std::lock_guard lock(mutex_);
  return failed_tries_ == most_tries ? 0 : static_cast<unsigned>(all_.size());
}

unsigned DeviceSlots::failed_tries() const noexcept {
  const std::lock_guard lock(mutex_);
  return failed_tries_;
}

void DeviceSlots::fail_try(unsigned failed_before, const PassingError& error) {
  bool notes = false;
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    // Failures in several slots at the same time count as one try.
    if (failed_tries_ != failed_before || failed_tries_ == most_tries) {
      return;
    }
    ++failed_tries_;
    to_decline_ = (std::uint64_t{1} << (failed_tries_ - 1)) - 1;
    is_last = failed_tries_ == most_tries;
    notes = !std::exchange(is_noted_, true) || is_last;
  }
  changed_.notify_all();
  if (note_ && notes) {
    note_(std::string(error.what()) + (is_last ? cpu_does_the_work : cpu_stands_in));
  }
}

void DeviceSlots::succeed() noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_tries_ != most_tries) {
    failed_tries_ = 0;
    to_decline_ = 0;
  }
}

void DeviceSlots::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) {
      error_ = error;
    }
  }
  changed_.notify_all();
}

// The caller holds the mutex.
bool DeviceSlots::declines_unasked() noexcept {
  if (failed_tries_ == most_tries) {
    return true;
  }
  if (to_decline_ == 0) {
    return false;
  }
  --to_decline_;
  return true;
}

Slot* DeviceSlots::take(WhenBusy when_busy) {
  std::unique_lock lock(mutex_);
  if (when_busy == WhenBusy::wait) {
    changed_.wait(lock, [&] { return !free_.empty() || failed_tries_ == most_tries || error_; });
  }
  if (error_) {
    throw Error(error_->code, error_->what(), error_->hint);
  }
  if (free_.empty() || declines_unasked()) {
    return nullptr;
  }
  Slot* const slot = free_.front();
  free_.pop_front();
  slot->begin(failed_tries_);
  return slot;
}

void DeviceSlots::give_back(Slot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(&slot);
  }
  changed_.notify_one();
}

bool DeviceSlots::run(WhenBusy when_busy, const std::function<void(Slot&)>& work) {
  Slot* const slot = take(when_busy);
  if (slot == nullptr) {
    return false;
  }
  struct GiveBack {
    DeviceSlots& slots;
    Slot& slot;
    ~GiveBack() { slots.give_back(slot); }
  } const giver{*this, *slot};
  try {
    work(*slot);
    succeed();
    return true;
  } catch (const PassingError& error) {
    slot->drain();
    fail_try(slot->failed_before(), error);
    if (slot->is_touched()) {
      throw;  // what the caller's memory now holds is unknown, so no kernel can do the work instead
    }
    return false;
  } catch (const Error& error) {
    slot->drain();
    fail(error);
    throw;
  } catch (...) {
    // From the rethrow on, the call's memory belongs to its caller again.
    slot->drain();
    throw;
  }
}

}  // namespace paes::cuda
