// SPDX-License-Identifier: Apache-2.0
// A device beside the processor that computes the parallel modes (a GPU), in the view of `message`
// and `stream`. It is not a kernel, because it takes whole pieces, has memory of its own and can
// fail. It is not a schedule, because its callers choose the pieces. Its output equals a kernel's
// to the byte.
//
// Calls are synchronous and may come from any number of threads. A call takes a slot, copies in,
// computes, copies out, waits and releases the slot. If several threads call, the copies of one
// overlap the work of another.
//
// A call returns false if the device declined: it touched nothing, and the caller has a kernel
// compute the piece. The device declines when all slots are taken and the caller does not want to
// wait, when a call needs more memory than piece_bytes() allows, and when it meets a failure that
// passes, such as a lack of memory. A later call may succeed, until the device gives up after many
// failed attempts.
//
// Any other failure throws Error(failure) with the name of the call that failed. The memory passed
// is then undefined, and every later call throws as well. A failure that passes throws only if the
// device had already begun to change the memory; a later call may then succeed.
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

// What the next block of a raw message depends on besides key and text: its counter block in CTR,
// the number of its data unit in XTS, the ciphertext block before in CBC and CFB, the cipher's last
// output in OFB (at the start both are the IV), and nothing in ECB.
using RawStart = std::variant<std::monostate, CounterBlock, UnitNumber, ChainBlock>;

// A key bound to a device, a raw mode and a parallel direction. The destructor wipes the key from
// the device. Destroy it before its device.
class DeviceRaw {
 public:
  DeviceRaw() = default;
  virtual ~DeviceRaw() = default;
  DeviceRaw(const DeviceRaw&) = delete;
  DeviceRaw& operator=(const DeviceRaw&) = delete;

  // Transforms a part of a message, which is never empty. `out` has the length of `in`, and is `in`
  // or does not overlap it. CTR and CFB take any number of bytes, ECB and CBC whole blocks, XTS
  // whole data units.
  [[nodiscard]] virtual bool crypt(const RawStart& start, Bytes in, MutableBytes out,
                                   WhenBusy when_busy) const = 0;
};

// Messages without AAD that begin at equal distances.
struct GcmMessages {
  std::uint8_t* text;  // the first message's
  std::size_t stride_bytes;
  std::size_t count;                 // at least 1
  std::size_t text_bytes;            // any number; all messages but the last have it
  std::size_t last_text_bytes;       // any number up to text_bytes
  const CounterBlock* pre_counters;  // J0 of each message (SP 800-38D, section 7.1, step 2)
  Tag* tags;                         // receives each message's full tag

  // From the first byte of text to the last.
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return (count - 1) * stride_bytes + last_text_bytes;
  }
};

// A key bound to a device for AES-GCM; the rules of DeviceRaw hold.
class DeviceGcm {
 public:
  DeviceGcm() = default;
  virtual ~DeviceGcm() = default;
  DeviceGcm(const DeviceGcm&) = delete;
  DeviceGcm& operator=(const DeviceGcm&) = delete;

  // Runs `seal`, `open` or `verify` on each message, in place. It computes tags but does not
  // compare them: compare before you use text that `open` wrote.
  [[nodiscard]] virtual bool run(GcmOperation operation, const GcmMessages& messages,
                                 WhenBusy when_busy) const = 0;

  // Runs `encrypt`, `decrypt` or `hash` on a part of one message: whole blocks, at least one.
  // `counter` is that of the first block, and its last 32 bits count on. `out` follows the rules of
  // DeviceRaw, and is empty for `hash`. The argument `hash` receives the GHASH of this part's
  // ciphertext alone, started from zero (GhashPart).
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
  // How many calls it can serve at a time. 0 once it has given up and declines everything.
  [[nodiscard]] virtual unsigned slots() const noexcept = 0;
  // The best size of text for a call: long enough to be worth a copy, short enough for copies and
  // work to overlap. A call is declined if its memory, including gaps and tags between messages,
  // exceeds this by more than a 64th.
  [[nodiscard]] virtual std::size_t piece_bytes() const noexcept = 0;

  // Pins memory that many calls will use, so that it needs no staging. It must be whole pages;
  // unpin it before you unmap it. If the system refuses, only the speed suffers.
  virtual void pin(void* memory, std::size_t bytes) noexcept = 0;
  virtual void unpin(void* memory) noexcept = 0;

  // Null if the device lacks the mode, the direction or the unit's length, or has no memory for the
  // key. RawKey has checked `key` and `unit_bytes`, and its rules hold.
  [[nodiscard]] virtual std::unique_ptr<DeviceRaw> bind_raw(Cipher cipher, Mode mode,
                                                            Direction direction, Bytes key,
                                                            std::size_t unit_bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<DeviceGcm> bind_gcm(Bytes key) = 0;
};

// The device that a key is bound to beside its kernel.
struct DeviceUse {
  Device* device = nullptr;
  WhenBusy when_busy = WhenBusy::wait;
};

}  // namespace paes
