// SPDX-License-Identifier: Apache-2.0
// Keys on devices. Every device holds the image that a kernel made of a key, and it is wiped when
// the key goes. The memory stays for the next key, because allocating and freeing it waits for all
// that the device is doing. All images pass through one piece of pinned memory, because a driver
// may keep copies of what it copies from other memory.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/memory.hpp"
#include "cuda/slot.hpp"

namespace paes::cuda {

// The memory and the streams that copy images, and the memory that images have left. Guarded by
// `mutex`.
struct KeyRoom {
  static constexpr std::size_t most_kept = 16;  // per device; below a MiB

  explicit KeyRoom(Runtime& on)
      : runtime(on), staging(on, largest_image()), kept(on.devices().size()) {
    for (unsigned device = 0; device < runtime.devices().size(); ++device) {
      streams.push_back(std::make_unique<OwnedStream>(runtime, device));
      kept[device].reserve(most_kept);
    }
  }
  static std::size_t largest_image() {
    std::size_t bytes = 0;
    for (const DeviceKernel* const kernel : device_kernels()) {
      bytes = std::max(bytes, kernel->image_bytes);
    }
    return bytes;
  }

  // Memory on a device, wiped or new, with room for any image.
  std::unique_ptr<DeviceMemory> take(unsigned device) {
    if (kept[device].empty()) {
      return std::make_unique<DeviceMemory>(runtime, streams[device]->get(), largest_image());
    }
    std::unique_ptr<DeviceMemory> memory = std::move(kept[device].back());
    kept[device].pop_back();
    return memory;
  }
  // Wipes the memory, and keeps it unless there is enough.
  void give(unsigned device, std::unique_ptr<DeviceMemory> memory) noexcept {
    if (kept[device].size() < most_kept && memory->wipe_all()) {
      kept[device].push_back(std::move(memory));  // cannot fail: this was reserved
    }
  }

  Runtime& runtime;
  std::mutex mutex;
  PinnedMemory staging;
  std::vector<std::unique_ptr<OwnedStream>> streams;
  std::vector<std::vector<std::unique_ptr<DeviceMemory>>> kept;  // per device
};

class KeyImage {
 public:
  KeyImage(Runtime& runtime, KeyRoom& room, const DeviceKernel& kernel, Bytes key)
      : room_(room), kernel_(kernel), key_bytes_(key.size()) {
    const std::lock_guard lock(room.mutex);
    const WipeOnExit wiped(room.staging.bytes());
    kernel.prepare(key, room.staging.data());
    try {
      for (unsigned device = 0; device < room.streams.size(); ++device) {
        const Stream stream = room.streams[device]->get();
        images_.push_back(room.take(device));
        runtime.copy_in(stream, images_.back()->data(), room.staging.data(), kernel.image_bytes);
        runtime.wait(stream);
      }
    } catch (const Error&) {
      images_.clear();  // under the mutex, because this uses the streams
      throw;
    }
  }
  ~KeyImage() {
    const std::lock_guard lock(room_.mutex);
    for (unsigned device = 0; device < images_.size(); ++device) {
      room_.give(device, std::move(images_[device]));
    }
  }
  KeyImage(const KeyImage&) = delete;
  KeyImage& operator=(const KeyImage&) = delete;

  void launch(Slot& slot, const AnyJob& job) const {
    slot.launch(kernel_, images_[slot.device()]->data(), key_bytes_, job);
  }

 private:
  KeyRoom& room_;
  const DeviceKernel& kernel_;
  std::size_t key_bytes_;
  std::vector<std::unique_ptr<DeviceMemory>> images_;
};

}  // namespace paes::cuda
