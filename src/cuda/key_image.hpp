// Keys on devices. The image that a kernel makes of a key is in the memory of every device, and is
// wiped when the key goes. All images pass through one piece of pinned memory, because a driver
// may keep copies of what it copies from other memory.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/memory.hpp"
#include "cuda/slot.hpp"

namespace paes::cuda {

// The memory through which images are copied, and the streams that copy them.
struct KeyRoom {
  explicit KeyRoom(Runtime& runtime) : staging(runtime, largest_image()) {
    for (unsigned device = 0; device < runtime.devices().size(); ++device) {
      streams.push_back(std::make_unique<OwnedStream>(runtime, device));
    }
  }
  static std::size_t largest_image() {
    std::size_t bytes = 0;
    for (const DeviceKernel* const kernel : device_kernels()) {
      bytes = std::max(bytes, kernel->image_bytes);
    }
    return bytes;
  }

  std::mutex mutex;
  PinnedMemory staging;
  std::vector<std::unique_ptr<OwnedStream>> streams;
};

// A key's image on every device.
class KeyImage {
 public:
  KeyImage(Runtime& runtime, KeyRoom& room, const DeviceKernel& kernel, Bytes key)
      : room_(room), kernel_(kernel), key_bytes_(key.size()) {
    const std::lock_guard lock(room.mutex);
    const WipeOnExit wiped(room.staging.bytes());
    kernel.prepare(key, room.staging.data());
    try {
      for (const auto& stream : room.streams) {
        images_.push_back(
            std::make_unique<DeviceMemory>(runtime, stream->get(), kernel.image_bytes));
        runtime.copy_in(stream->get(), images_.back()->data(), room.staging.data(),
                        kernel.image_bytes);
        runtime.wait(stream->get());
      }
    } catch (const Error&) {
      images_.clear();  // under the mutex, because this uses the streams
      throw;
    }
  }
  ~KeyImage() {
    const std::lock_guard lock(room_.mutex);
    images_.clear();
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
