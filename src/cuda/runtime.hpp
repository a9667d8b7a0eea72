// SPDX-License-Identifier: Apache-2.0
// What CudaDevice needs from a run-time library for GPUs: memory, streams, copies and launches. One
// implementation calls CUDA (cuda_runtime.hpp). The other, for tests
// (tests/support/emulated/emulated_runtime.hpp), keeps everything on the host and fails on demand,
// so that the device is tested where there is no GPU.
//
// Functions that are not noexcept throw Error(failure) with the name of the call that failed and
// its reason, or a PassingError if a later call may succeed. Any thread may call.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cuda/device_kernel.hpp"
#include "paes/error.hpp"

namespace paes::cuda {

// A failure that is due to the moment or to other programs. Nothing on the device was lost, and a
// later call may succeed. After any other Error the device cannot be used any more.
class PassingError : public Error {
 public:
  explicit PassingError(const std::string& what_why, const std::string& hint_text = "")
      : Error(ErrorCode::failure, what_why, hint_text) {}
};

// A passing failure that has a remedy: give less work to the device, or none.
class OutOfMemory : public PassingError {
 public:
  using PassingError::PassingError;
};

struct DeviceProperties {
  std::string name;
  std::string architecture;  // sm_90
  std::size_t memory_bytes;
  DeviceShape shape;
  int ordinal = 0;        // as the run-time library counts, including devices that are of no use
  std::string uuid = {};  // 16 bytes that no other device has; empty where nothing is known
};

// Work runs in the order in which it was entered. The work of several streams overlaps.
struct Stream {
  unsigned device = 0;
  void* handle = nullptr;
};

class Runtime {
 public:
  Runtime() = default;
  virtual ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Never empty. A device's number is its place in this list.
  [[nodiscard]] virtual std::span<const DeviceProperties> devices() const noexcept = 0;

  // Memory on the device, at a multiple of 256. The owner wipes it before freeing it.
  [[nodiscard]] virtual void* allocate(unsigned device, std::size_t bytes) = 0;
  virtual void free(unsigned device, void* memory) noexcept = 0;
  // Memory on the host, for copies to and from any device.
  [[nodiscard]] virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(void* memory) noexcept = 0;
  // Prepares existing memory for copies. False if the system refuses.
  [[nodiscard]] virtual bool pin(void* memory, std::size_t bytes) noexcept = 0;
  virtual void unpin(void* memory) noexcept = 0;

  [[nodiscard]] virtual Stream open_stream(unsigned device) = 0;
  virtual void close_stream(Stream stream) noexcept = 0;

  // These only enter work into the stream. Host memory must be pinned, and must not change until
  // wait() has returned. An error may come from work that was entered before.
  virtual void copy_in(Stream stream, void* device_memory, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(Stream stream, void* host, const void* device_memory,
                        std::size_t bytes) = 0;
  virtual void fill_zero(Stream stream, void* device_memory, std::size_t bytes) = 0;
  // `launch` is what the kernel wants, except for stream and device shape, which are set here.
  virtual void launch(Stream stream, const DeviceKernel& kernel, Launch launch,
                      const AnyJob& job) = 0;
  // Waits until all work of the stream is done. It sleeps and does not spin.
  virtual void wait(Stream stream) = 0;

  // A number below max_slots for the launches of one stream; no other stream of this process has it
  // on this device. It says where in constant memory launches copy keys. Empty if all numbers are
  // taken.
  [[nodiscard]] virtual std::optional<unsigned> take_slot(unsigned device) = 0;
  virtual void give_slot(unsigned device, unsigned slot) noexcept = 0;
  // Enters work into the stream that overwrites what its launches of the kernel left in the slot.
  virtual void wipe_keys(Stream stream, const DeviceKernel& kernel, unsigned slot) = 0;
};

}  // namespace paes::cuda
