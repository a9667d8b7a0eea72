// SPDX-License-Identifier: Apache-2.0
// What one running call has to itself: a stream, and memory on both sides, all allocated once. The
// copies of one slot overlap the work of another, and a call waits for the first free slot.
#pragma once

#include <cassert>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/memory.hpp"
#include "message/device.hpp"

namespace paes::cuda {

class Slot {
 public:
  // Takes over the `number` from take_slot().
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
  // For output that cannot be in place, tweaks, counters, tags and hashes; as large as text().
  [[nodiscard]] DeviceMemory& other() noexcept { return other_; }
  // On the host: a call's unit number, counters, tags and hashes. Two blocks per message.
  [[nodiscard]] Block* host_blocks() const noexcept { return host_blocks_.blocks(); }
  // On the host: text whose own memory is not pinned. Allocated when first needed.
  [[nodiscard]] std::uint8_t* staging();

  // From here on the call changes its caller's memory.
  void touch() noexcept { touched_ = true; }
  [[nodiscard]] bool is_touched() const noexcept { return touched_; }
  void begin(unsigned failed_tries) noexcept {
    touched_ = false;
    failed_before_ = failed_tries;
  }
  // DeviceSlots::failed_tries() when the call began.
  [[nodiscard]] unsigned failed_before() const noexcept { return failed_before_; }
  // All launches of a call use the same kernel.
  void launch(const DeviceKernel& kernel, const void* image, std::size_t key_bytes,
              const AnyJob& job) {
    assert(launched_ == nullptr || launched_ == &kernel);
    launched_ = &kernel;
    runtime_.launch(stream(), kernel, {image, key_bytes, {}, number(), nullptr}, job);
  }
  // Wipes the key from constant memory, and waits for all work that the call has entered.
  void finish();
  // Does what finish() does, after a failure.
  void drain() noexcept {
    (void)try_twice([this] { finish(); });
  }

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
  unsigned failed_before_ = 0;
  const DeviceKernel* launched_ = nullptr;  // the kernel that left the key in constant memory
};

using Note = std::function<void(const std::string&)>;
inline constexpr const char* cpu_does_the_work = "; the CPU does the work";
inline constexpr const char* cpu_stands_in = "; the CPU does the work until a later try succeeds";

// All slots of all devices. Also decides whether calls can still be taken.
//
// Other programs come and go, so memory that one call lacks may be there for a later one. A call
// that meets such an error (PassingError) is declined. After each failed try, about twice as many
// calls as before are declined until one tries again. Once most_tries tries have failed in a row,
// every call is declined.
class DeviceSlots {
 public:
  static constexpr unsigned most_tries = 16;

  // If memory is short, halves the pieces until there is a slot, and says so through `note`. Throws
  // OutOfMemory if there is none. There are fewer slots than asked for if other users in this
  // process have some of the device's.
  DeviceSlots(Runtime& runtime, unsigned for_each_device, std::size_t piece_bytes, Note note);

  // 0 once every call is declined.
  [[nodiscard]] unsigned count() const noexcept;
  [[nodiscard]] std::size_t piece_bytes() const noexcept { return piece_bytes_; }

  // Runs `work` on a slot. If `work` throws PassingError before touch(), the call is declined and
  // returns false. After touch() the error is rethrown, and also counts as a failed try. Any other
  // Error is rethrown, and every later call throws it again.
  bool run(WhenBusy when_busy, const std::function<void(Slot&)>& work);

  // Counts a failed try to get something else that calls need. `failed_before` is what
  // failed_tries() was before the try.
  [[nodiscard]] unsigned failed_tries() const noexcept;
  void fail_try(unsigned failed_before, const PassingError& error);

 private:
  Slot* take(WhenBusy when_busy);
  [[nodiscard]] bool declines_unasked() noexcept;
  void give_back(Slot& slot) noexcept;
  void succeed() noexcept;
  void fail(const Error& error);

  Note note_;
  std::size_t piece_bytes_;
  std::vector<std::unique_ptr<Slot>> all_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot*> free_;        // longest free first, so that devices take turns
  unsigned failed_tries_ = 0;     // in a row
  std::uint64_t to_decline_ = 0;  // calls before the next try
  bool is_noted_ = false;
  std::optional<Error> error_;
};

}  // namespace paes::cuda
