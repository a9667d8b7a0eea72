// SPDX-License-Identifier: Apache-2.0
// A device over an emulated device, and what the processor's kernels make of the same parts and
// messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cuda/cuda_device.hpp"
#include "emulated/emulated_runtime.hpp"
#include "kernel/registry.hpp"
#include "message/raw_key.hpp"
#include "raw_start.hpp"
#include "varied_bytes.hpp"

namespace paes::cuda {

using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;
inline constexpr std::size_t piece_bytes = std::size_t{64} << 10;

struct RawCase {
  Cipher cipher;
  Mode mode;
  std::size_t key_bytes;
  std::size_t unit_bytes = 0;
};

// A device whose runtime must have nothing to complain about when it is gone.
class Emulated {
 public:
  explicit Emulated(const EmulatedOptions& options = {}, DeviceOptions device_options = {})
      : runtime_(std::make_shared<EmulatedRuntime>(options)) {
    device_options.piece_bytes = piece_bytes;
    device_ = make_device(runtime_, device_options);
  }
  ~Emulated() {
    device_.reset();
    EXPECT_EQ(runtime_->complaints(), std::vector<std::string>());
  }
  Emulated(const Emulated&) = delete;
  Emulated& operator=(const Emulated&) = delete;

  Device& operator*() { return *device_; }
  Device* operator->() { return device_.get(); }
  EmulatedRuntime& runtime() { return *runtime_; }

 private:
  std::shared_ptr<EmulatedRuntime> runtime_;
  std::unique_ptr<Device> device_;
};

// What the processor makes of a part that begins at `start`.
inline Buffer expected(const RawCase& which, Direction direction, Bytes key, const Block& start,
                       Bytes in) {
  const RawKey raw(which.cipher, which.mode, key, best_kernel(which.cipher), which.unit_bytes);
  Buffer out(in.size());
  RawPosition position{test::raw_start(which.mode, start)};
  raw.crypt(direction, position, in, out, serial_executor(), in.size());
  return out;
}

// The container's shape: messages with gaps between them, the last one shorter.
struct Chunks {
  explicit Chunks(std::size_t count, std::size_t last_bytes)
      : memory(varied_bytes(count * stride, 3)), counters(count), tags(count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(counters[i].bytes, varied_bytes(16, 10 + i).data(), 12);
      store_be32(counters[i].bytes + 12, 1);
    }
    messages = {memory.data(), stride, count, text_bytes, last_bytes, counters.data(), tags.data()};
  }
  static constexpr std::size_t text_bytes = 1024;
  static constexpr std::size_t stride = 1088;
  Buffer memory;
  std::vector<CounterBlock> counters;
  std::vector<Tag> tags;
  GcmMessages messages;
};

inline bool has_gcm() {
  return std::any_of(device_kernels().begin(), device_kernels().end(),
                     [](const DeviceKernel* kernel) { return kernel->has_gcm(); });
}

}  // namespace paes::cuda
