// What one call has to itself while it runs: a stream and memory on both sides, all of it allocated
// once. Several slots overlap their copies and work; a call waits for the first that is free.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/memory.hpp"
#include "message/engine.hpp"

namespace paes::cuda {

class Slot {
 public:
  // Takes `number` over, which take_slot() gave.
  Slot(Runtime& runtime, unsigned device, unsigned number, std::size_t piece_bytes);

  // The most that one call may bring: text with the gaps in it, and messages.
  [[nodiscard]] static constexpr std::size_t max_text_bytes(std::size_t piece_bytes) noexcept {
    return piece_bytes + piece_bytes / 64;
  }
  [[nodiscard]] static constexpr std::size_t max_messages(std::size_t piece_bytes) noexcept {
    return piece_bytes / 1024;
  }

  [[nodiscard]] Runtime& runtime() const noexcept { return runtime_; }
  [[nodiscard]] unsigned device() const noexcept { return stream_.get().device; }
  [[nodiscard]] Stream stream() const noexcept { return stream_.get(); }
  [[nodiscard]] unsigned number() const noexcept { return number_.get(); }
  [[nodiscard]] std::uint8_t* text() const noexcept { return text_.data(); }
  // As large: for what cannot be in place, or a call's tweaks, counters, tags and hashes.
  [[nodiscard]] DeviceMemory& other() noexcept { return other_; }
  // On the host: blocks that go along, two for each message.
  [[nodiscard]] Block* host_blocks() const noexcept { return host_blocks_.blocks(); }
  // On the host, for text in memory that is not pinned; allocated when first asked for.
  [[nodiscard]] std::uint8_t* staging();

  // From here on the call changes memory of its caller's.
  void touch() noexcept { touched_ = true; }
  [[nodiscard]] bool is_touched() const noexcept { return touched_; }
  void begin() noexcept { touched_ = false; }
  // Nothing of a call that failed is under way any more.
  void drain() noexcept;
  // What launches of the kernel left of keys in this slot.
  void wipe_keys(const DeviceKernel& kernel) noexcept;

 private:
  Runtime& runtime_;
  OwnedSlotNumber number_;
  std::size_t room_bytes_;
  OwnedStream stream_;
  DeviceMemory text_;
  DeviceMemory other_;
  PinnedMemory host_blocks_;
  std::optional<PinnedMemory> staging_;
  bool touched_ = false;
};

using Note = std::function<void(const std::string&)>;
inline constexpr const char* cpu_does_the_work = "; the CPU does the work";

// All slots of all devices, and how their engine stands.
class Slots {
 public:
  // With out of memory, slots of half the size, and so on; at last none, and every call declined.
  // Fewer where others have slots of the device. Says so through `note`.
  Slots(Runtime& runtime, unsigned for_each_device, std::size_t piece_bytes, Note note);

  // 0: none is left.
  [[nodiscard]] unsigned count() const noexcept;
  [[nodiscard]] std::size_t piece_bytes() const noexcept { return piece_bytes_; }

  // Runs `work` on a slot. False: declined. Rethrows what it throws but OutOfMemory before touch(),
  // after which no further call is taken; after any other error each throws it again.
  bool run(WhenBusy when_busy, const std::function<void(Slot&)>& work);

  // Overwrites what calls left of keys. No call may be under way.
  void wipe_keys(const DeviceKernel& kernel) noexcept;

  // There is no memory for something without which calls cannot be taken.
  void exhaust(const OutOfMemory& error);

 private:
  Slot* take(WhenBusy when_busy);
  void give_back(Slot& slot) noexcept;
  void fail(const Error& error);

  Note note_;
  std::size_t piece_bytes_;
  std::vector<std::unique_ptr<Slot>> all_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot*> free_;  // the one free for longest first, so that devices take turns
  bool exhausted_ = false;
  std::optional<Error> error_;
};

}  // namespace paes::cuda
