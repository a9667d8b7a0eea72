#include "cuda/slot.hpp"

#include <algorithm>
#include <cassert>

namespace paes::cuda {

namespace {

// Below this a copy's start costs more than its bytes.
constexpr std::size_t least_piece_bytes = std::size_t{64} << 10;

std::size_t room_bytes(std::size_t piece_bytes) {
  constexpr std::size_t unit = 256;
  // One more for what lies before a text's tweaks, of which there can be one a block.
  return (Slot::max_text_bytes(piece_bytes) + unit - 1) / unit * unit + unit;
}

// No smaller piece would help.
class NoSlots final : public OutOfMemory {
 public:
  NoSlots() : OutOfMemory("cuda: others have all slots of the device") {}
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

void Slot::wipe_keys(const DeviceKernel& kernel) noexcept {
  // As in DeviceMemory: once more, because the first error may be another's.
  for (int tries = 0; tries < 2; ++tries) {
    try {
      runtime_.wipe_keys(stream_.get(), kernel, number());
      runtime_.wait(stream_.get());
      return;
    } catch (const Error&) {
      continue;
    }
  }
}

void Slot::drain() noexcept {
  try {
    runtime_.wait(stream_.get());
  } catch (const Error&) {
    // The context is lost, and nothing of it runs any more.
  }
}

Slots::Slots(Runtime& runtime, unsigned for_each_device, std::size_t piece_bytes, Note note)
    : note_(std::move(note)), piece_bytes_(piece_bytes) {
  while (all_.empty() && !exhausted_) {
    try {
      all_ = make_slots(runtime, for_each_device, piece_bytes_);
    } catch (const NoSlots& error) {
      exhaust(error);
    } catch (const OutOfMemory& error) {
      if (piece_bytes_ / 2 < least_piece_bytes) {
        exhaust(error);
      } else {
        piece_bytes_ /= 2;
      }
    }
  }
  if (!exhausted_ && piece_bytes_ != piece_bytes && note_) {
    note_("cuda: device memory is short, so pieces have " + in_kib(piece_bytes_) + ", not " +
          in_kib(piece_bytes));
  }
  for (const auto& slot : all_) {
    free_.push_back(slot.get());
  }
}

unsigned Slots::count() const noexcept {
  const std::lock_guard lock(mutex_);
  return exhausted_ ? 0 : static_cast<unsigned>(all_.size());
}

void Slots::wipe_keys(const DeviceKernel& kernel) noexcept {
  for (const auto& slot : all_) {
    slot->wipe_keys(kernel);
  }
}

void Slots::exhaust(const OutOfMemory& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(exhausted_, true)) {
      return;
    }
  }
  changed_.notify_all();
  if (note_) {
    note_(std::string(error.what()) + cpu_does_the_work);
  }
}

void Slots::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) {
      error_ = error;
    }
  }
  changed_.notify_all();
}

Slot* Slots::take(WhenBusy when_busy) {
  std::unique_lock lock(mutex_);
  if (when_busy == WhenBusy::wait) {
    changed_.wait(lock, [&] { return !free_.empty() || exhausted_ || error_; });
  }
  if (error_) {
    throw Error(error_->code, error_->what(), error_->hint);
  }
  if (exhausted_ || free_.empty()) {
    return nullptr;
  }
  Slot* const slot = free_.front();
  free_.pop_front();
  slot->begin();
  return slot;
}

void Slots::give_back(Slot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(&slot);
  }
  changed_.notify_one();
}

bool Slots::run(WhenBusy when_busy, const std::function<void(Slot&)>& work) {
  Slot* const slot = take(when_busy);
  if (slot == nullptr) {
    return false;
  }
  struct GiveBack {
    Slots& slots;
    Slot& slot;
    ~GiveBack() { slots.give_back(slot); }
  } const giver{*this, *slot};
  try {
    work(*slot);
    return true;
  } catch (const OutOfMemory& error) {
    slot->drain();
    if (!slot->is_touched()) {
      exhaust(error);
      return false;
    }
    fail(error);
    throw;
  } catch (const Error& error) {
    slot->drain();
    fail(error);
    throw;
  } catch (...) {
    // The call's memory is its caller's again as soon as this is thrown on.
    slot->drain();
    throw;
  }
}

}  // namespace paes::cuda
