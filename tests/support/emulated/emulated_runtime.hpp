// SPDX-License-Identifier: Apache-2.0
// Devices in the host's memory, for tests. Launches go to the kernels' emulation. Work is done only
// when a caller waits for it, so a caller that does not wait gets nothing. Copies must stay within
// what was allocated and pinned, and memory must be wiped before it is freed. For each slot of a
// device, each kernel has constant memory, which must be wiped before the key in it goes. Any call
// can be made to fail.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/runtime.hpp"
#include "emulated/emulation.hpp"

namespace paes::cuda {

struct EmulatedOptions {
  unsigned devices = 1;
  std::size_t memory_bytes = std::size_t{1} << 30;  // per device
  DeviceShape shape = {2, std::size_t{227} << 10, 32};
  bool pins = true;  // false: the system refuses to pin memory
};

class EmulatedRuntime final : public Runtime {
 public:
  enum class Fault {
    once,           // a single call fails
    context_lost,   // this call and all later ones fail
    out_of_memory,  // a single call fails as if memory were short
    passing,        // a single call fails with another error that passes
  };

  explicit EmulatedRuntime(const EmulatedOptions& options = {});
  ~EmulatedRuntime() override;

  // Makes the call with this number fail. Calls that can fail are counted from 1.
  void fail_at(std::uint64_t call, Fault fault);
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_.load(); }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_.load(); }
  // What an owner did wrong, one line each: memory freed before it was wiped, or not freed; copies
  // outside of what was allocated; work that nobody waited for; a slot that two streams share; and
  // constant memory that still has a key's copy when the key goes or its slot is given back.
  [[nodiscard]] std::vector<std::string> complaints() const;
  // How many calls for memory on a device have succeeded.
  [[nodiscard]] std::uint64_t allocations() const;
  // Whether memory on any device contains these bytes at a multiple of 16.
  [[nodiscard]] bool has_on_device(Bytes bytes) const;
  // The number of launches on each device.
  [[nodiscard]] std::vector<std::uint64_t> launches() const;

  [[nodiscard]] std::span<const DeviceProperties> devices() const noexcept override {
    return devices_;
  }
  [[nodiscard]] void* allocate(unsigned device, std::size_t bytes) override;
  void free(unsigned device, void* memory) noexcept override;
  [[nodiscard]] void* allocate_pinned(std::size_t bytes) override;
  void free_pinned(void* memory) noexcept override;
  [[nodiscard]] bool pin(void* memory, std::size_t bytes) noexcept override;
  void unpin(void* memory) noexcept override;
  [[nodiscard]] Stream open_stream(unsigned device) override;
  void close_stream(Stream stream) noexcept override;
  void copy_in(Stream stream, void* device_memory, const void* host, std::size_t bytes) override;
  void copy_out(Stream stream, void* host, const void* device_memory, std::size_t bytes) override;
  void fill_zero(Stream stream, void* device_memory, std::size_t bytes) override;
  void launch(Stream stream, const DeviceKernel& kernel, Launch launch, const AnyJob& job) override;
  void wait(Stream stream) override;
  [[nodiscard]] std::optional<unsigned> take_slot(unsigned device) override;
  void give_slot(unsigned device, unsigned slot) noexcept override;
  void wipe_keys(Stream stream, const DeviceKernel& kernel, unsigned slot) override;

 private:
  struct Region {
    std::size_t bytes;
    unsigned device;  // or `host`
  };
  static constexpr unsigned host = ~0U;
  using Regions = std::map<std::uint8_t*, Region>;
  struct Queue {
    std::vector<std::function<void()>> work;
  };

  void begin(const char* what);
  [[nodiscard]] static bool has(const Regions& regions, const void* memory, std::size_t bytes,
                                unsigned device);
  [[nodiscard]] bool check_copy(const char* what, Stream stream, const void* device_memory,
                                const void* host_memory, std::size_t bytes);
  void copy(const char* what, Stream stream, void* to, const void* from, const void* device_memory,
            const void* host_memory, std::size_t bytes);
  void enter(Stream stream, std::function<void()> work);
  void release(Regions& regions, void* memory, const char* what) noexcept;
  // A kernel's constant memory for a slot, and the place from which a launch last filled it.
  struct Constant {
    EmulatedConstant memory;
    const void* image = nullptr;
  };
  // What the device keeps for a slot, and which stream's launches use it.
  struct SlotState {
    bool is_taken = false;
    void* stream = nullptr;  // with launches that nobody has waited for
    std::map<const DeviceKernel*, Constant> constants;
  };

  // The launch in the form that the kernel's emulation takes.
  [[nodiscard]] Launch begin_launch(Stream stream, const DeviceKernel& kernel, Launch launch);
  [[nodiscard]] Constant& constant_of(Stream stream, const DeviceKernel& kernel, unsigned slot);
  // True if a slot's constant memory still has what was copied from there.
  [[nodiscard]] bool has_copy(unsigned device, const std::uint8_t* memory, std::size_t bytes) const;
  [[nodiscard]] static bool has_keys(const SlotState& state);
  void* allocate_in(Regions& regions, unsigned device, std::size_t bytes);

  std::vector<DeviceProperties> devices_;
  bool pins_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<bool> has_failed_{false};
  std::uint64_t fails_at_ = UINT64_MAX;
  Fault fault_ = Fault::once;

  mutable std::mutex mutex_;
  Regions on_devices_;
  Regions pinned_;      // allocated
  Regions registered_;  // pinned where it was
  std::vector<std::size_t> used_bytes_;
  std::vector<std::uint64_t> launches_;
  std::vector<std::array<SlotState, max_slots>> slots_;
  std::vector<std::string> complaints_;
  unsigned open_streams_ = 0;
  std::uint64_t allocations_ = 0;
};

}  // namespace paes::cuda
