// SPDX-License-Identifier: Apache-2.0
// A device beside the processor that computes the parallel modes (a GPU), as `message` and `stream`
// see it. It is no kernel, because it takes whole pieces, has memory of its own and can fail. It is
// no schedule, because its callers choose the pieces. Its output equals a kernel's to the byte.
//
// Calls are synchronous and may come from any number of threads. A call takes a slot, copies in,
// computes, copies out, waits and gives the slot back. If several threads call, the copies of one
// overlap the work of another. False means that the device declined: it touched nothing, and the
// caller has a kernel compute the piece. It declines when all slots are taken and the caller would
// not wait, when the memory of a call is more than piece_bytes() allows, and when a failure passes,
// such as no memory for the call. A later call may succeed, until the device gives up after many
// vain attempts. Any other failure throws Error(failure) with the name of the call that failed. The
// memory passed is then undefined, and every later call throws as well. A failure that passes
// throws only where the device had begun to change the memory, and then a later call may succeed,
// too.
#pragma once

#include <memory>
#include <variant>

#include "cipher/mode/gcm_blocks.hpp"
#include "cipher/mode/mode.hpp"
#include "core/bytes.hpp"
#include "kernel/kernel.hpp"

namespace paes {

// What a call does when no slot is free.
enum class WhenBusy : unsigned {
  wait,
  decline,  // so that processor and device share the work, and whichever is free takes the next
};

// What the next block of a message in a raw mode depends on besides key and text: in CTR its
// counter block, in XTS the number of its data unit, in CBC, CFB and OFB the block before, or the
// IV; in ECB nothing.
using RawStart = std::variant<std::monostate, CounterBlock, UnitNumber, ChainBlock>;

// A key bound to a device, a raw mode and a direction that is parallel. The destructor wipes it
// from the device. It must be destroyed before its device.
class DeviceRaw {
 public:
  DeviceRaw() = default;
  virtual ~DeviceRaw() = default;
  DeviceRaw(const DeviceRaw&) = delete;
  DeviceRaw& operator=(const DeviceRaw&) = delete;

  // A part of a message; `out` has the length of `in`, and is `in` or does not overlap it. CTR and
  // CFB take any number of bytes, ECB and CBC whole blocks, XTS whole data units. `in` is never
  // empty.
  [[nodiscard]] virtual bool crypt(const RawStart& start, Bytes in, MutableBytes out,
                                   WhenBusy when_busy) const = 0;
};

// Messages without AAD that begin at equal distances.
struct GcmMessages {
  std::uint8_t* text;  // of the first
  std::size_t stride_bytes;
  std::size_t count;                 // at least 1
  std::size_t text_bytes;            // of each but the last; any number
  std::size_t last_text_bytes;       // any number up to text_bytes
  const CounterBlock* pre_counters;  // J0 of each (SP 800-38D, section 7.1, step 2)
  Tag* tags;                         // comes back: the full tag of each

  // From the first byte of text to the last.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return (count - 1) * stride_bytes + last_text_bytes;
  }
};

// A key bound to a device for AES-GCM; otherwise as DeviceRaw.
class DeviceGcm {
 public:
  DeviceGcm() = default;
  virtual ~DeviceGcm() = default;
  DeviceGcm(const DeviceGcm&) = delete;
  DeviceGcm& operator=(const DeviceGcm&) = delete;

  // `seal`, `open` or `verify` of each message, in place. It computes tags and compares none: a
  // caller must compare before it uses text that `open` wrote.
  [[nodiscard]] virtual bool run(GcmOperation operation, const GcmMessages& messages,
                                 WhenBusy when_busy) const = 0;

  // `encrypt`, `decrypt` or `hash` of a part of one message: whole blocks, at least one. `counter`
  // is that of the first, and its last 32 bits count on. `out` is as in DeviceRaw, and empty for
  // `hash`. `hash` becomes the GHASH of this part's ciphertext alone, from zero (GhashPart).
  [[nodiscard]] virtual bool run(GcmOperation operation, const CounterBlock& counter, Bytes in,
                                 MutableBytes out, HashValue& hash, WhenBusy when_busy) const = 0;
};

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual const char* name() const noexcept = 0;
  // How many calls it can serve at a time. 0 once it has given up, when it declines everything.
  [[nodiscard]] virtual unsigned slots() const noexcept = 0;
  // The text that a call should have: long enough to be worth a copy, short enough for copies and
  // work to overlap. A call is declined when its memory, gaps and tags between messages included,
  // exceeds this by more than a 64th.
  [[nodiscard]] virtual std::size_t piece_bytes() const noexcept = 0;

  // Pins memory that many calls will use, so that it needs no staging. It must be whole pages, and
  // must be unpinned before it is unmapped. If the system refuses, only the speed changes.
  virtual void pin(void* memory, std::size_t bytes) noexcept = 0;
  virtual void unpin(void* memory) noexcept = 0;

  // Null when the device lacks the mode, the direction or the unit's length, or has no memory for
  // the key. Key and `unit_bytes` are as in RawKey, which has checked them.
  [[nodiscard]] virtual std::unique_ptr<DeviceRaw> bind_raw(Cipher cipher, Mode mode,
                                                            Direction direction, Bytes key,
                                                            std::size_t unit_bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<DeviceGcm> bind_gcm(Bytes key) = 0;
};

// What a key is bound to beside its kernel.
struct DeviceUse {
  Device* device = nullptr;
  WhenBusy when_busy = WhenBusy::wait;
};

}  // namespace paes
