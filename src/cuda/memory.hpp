// SPDX-License-Identifier: Apache-2.0
// What CudaDevice owns of a runtime: streams, numbers of slots, and memory. All are given back at
// the end, on every path, and memory is wiped first.
#pragma once

#include <utility>

#include "core/secret.hpp"
#include "cuda/runtime.hpp"

namespace paes::cuda {

// Calls `work`, and again after an error, because the error may be an earlier call's, which the
// second try does not see. If the error stays, the context is lost: nothing of it runs any more,
// and its memory cannot be read. Returns true if a try succeeded.
template <class Task>
bool try_twice(const Task& work) noexcept {
  for (int tries = 0; tries < 2; ++tries) {
    try {
      work();
      return true;
    } catch (const Error&) {
      continue;
    }
  }
  return false;
}

class OwnedStream {
 public:
  OwnedStream(Runtime& runtime, unsigned device)
      : runtime_(runtime), stream_(runtime.open_stream(device)) {}
  ~OwnedStream() { runtime_.close_stream(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  [[nodiscard]] Stream get() const noexcept { return stream_; }

 private:
  Runtime& runtime_;
  Stream stream_;
};

// The number of a slot. A device has few of them.
class OwnedSlotNumber {
 public:
  // Takes over the number from take_slot().
  OwnedSlotNumber(Runtime& runtime, unsigned device, unsigned number) noexcept
      : runtime_(runtime), device_(device), number_(number) {}
  ~OwnedSlotNumber() { runtime_.give_slot(device_, number_); }
  OwnedSlotNumber(const OwnedSlotNumber&) = delete;
  OwnedSlotNumber& operator=(const OwnedSlotNumber&) = delete;

  [[nodiscard]] unsigned get() const noexcept { return number_; }

 private:
  Runtime& runtime_;
  unsigned device_;
  unsigned number_;
};

// Memory on the device of `stream`. The stream wipes the memory, so it must outlive it.
class DeviceMemory {
 public:
  DeviceMemory(Runtime& runtime, Stream stream, std::size_t bytes)
      : runtime_(runtime),
        stream_(stream),
        bytes_(bytes),
        data_(static_cast<std::uint8_t*>(runtime.allocate(stream.device, bytes))) {}
  ~DeviceMemory() {
    (void)wipe_all();
    runtime_.free(stream_.device, data_);
  }
  // Returns true on success.
  [[nodiscard]] bool wipe_all() noexcept {
    return try_twice([this] {
      runtime_.fill_zero(stream_, data_, bytes_);
      runtime_.wait(stream_);
    });
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
  [[nodiscard]] Block* blocks() const noexcept { return reinterpret_cast<Block*>(data_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  Runtime& runtime_;
  Stream stream_;
  std::size_t bytes_;
  std::uint8_t* data_;
};

// Memory on the host, for copies.
class PinnedMemory {
 public:
  PinnedMemory(Runtime& runtime, std::size_t bytes)
      : runtime_(runtime),
        bytes_(bytes),
        data_(static_cast<std::uint8_t*>(runtime.allocate_pinned(bytes))) {}
  ~PinnedMemory() {
    wipe(data_, bytes_);
    runtime_.free_pinned(data_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
  [[nodiscard]] Block* blocks() const noexcept { return reinterpret_cast<Block*>(data_); }
  [[nodiscard]] MutableBytes bytes() const noexcept { return {data_, bytes_}; }

 private:
  Runtime& runtime_;
  std::size_t bytes_;
  std::uint8_t* data_;
};

}  // namespace paes::cuda
