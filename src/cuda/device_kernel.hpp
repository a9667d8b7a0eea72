// SPDX-License-Identifier: Apache-2.0
// A device kernel is one row for one cipher, like a row of kernel/kernel.hpp for the processor. The
// host prepares a key as an image and copies it to the device; a launch names the image's address
// there.
//
// The files NAME.cu are compiled twice: by nvcc for their launches, and by the host's compiler for
// their rows. For tests the host's compiler makes launches as well, which emulate a device
// (tests/support/emulated/emulated_grid.hpp).
#pragma once

#include <span>
#include <variant>

#include "core/bytes.hpp"
#include "cuda/job.hpp"
#include "kernel/kernel.hpp"

namespace paes::cuda {

// What a launch needs to know about the device.
struct DeviceShape {
  unsigned multiprocessors;
  std::size_t shared_bytes;  // of shared memory that a thread block may ask for
  unsigned threads = 0;      // of a thread block, a multiple of 32; 0: the kernel's choice
};

// How many launches of this process may run on a device at once, each in its own slot: constant
// memory has a place for the keys of each slot.
inline constexpr unsigned max_slots = 8;

// A slot's keys in constant memory, on cache lines of their own. A launch copies them there, and
// they stay until DeviceRuns::wipe, with which each call of the device ends.
template <class Keys>
struct alignas(256) InSlot {
  Keys keys;
};

// Declares the constant memory of all slots. On the host it is only a name.
#if defined(__CUDACC__)
#define PAES_CONSTANT_KEYS(Keys, name) __constant__ InSlot<Keys> name[max_slots]
#else
#define PAES_CONSTANT_KEYS(Keys, name) inline constexpr InSlot<Keys>* name = nullptr
#endif

struct Launch {
  const void* image;      // of the key, in device memory
  std::size_t key_bytes;  // of the key that the image was made from
  DeviceShape shape;
  unsigned slot;    // below max_slots; launches of one slot follow each other on one stream
  void* stream;     // cudaStream_t
  int ordinal = 0;  // of the current device, as the run-time library counts
};

using AnyJob = std::variant<Job, TweakJob, GcmJob>;

// A kernel's launches. Each returns a cudaError_t, 0 for success.
struct DeviceRuns {
  int (*run)(const Launch&, const Job&);
  int (*run_tweaks)(const Launch&, const TweakJob&);  // null for 3DES
  int (*run_gcm)(const Launch&, const GcmJob&);       // null without GCM
  // Calls the launch that takes this type of job.
  [[nodiscard]] int start(const Launch& launch, const AnyJob& job) const {
    if (const auto* const tweaks = std::get_if<TweakJob>(&job)) {
      return run_tweaks(launch, *tweaks);
    }
    const auto* const gcm = std::get_if<GcmJob>(&job);
    return gcm != nullptr ? run_gcm(launch, *gcm) : run(launch, std::get<Job>(job));
  }
  // Overwrites the keys that launches of the slot left in constant memory. Null if they leave none.
  int (*wipe)(const Launch&);
  // Asks the driver for the kernel's code on the current device; the driver may have to compile it.
  int (*find)();
};

struct DeviceKernel {
  const char* name;
  Cipher cipher;
  const char* summary;
  const char* warning;  // printed whenever it is used, or null
  unsigned blocks;      // of the cipher that a thread transforms at once
  bool takes_gcm;
  std::size_t image_bytes;  // of a key; a multiple of 16
  // Makes the image of a key (of a valid length), in host memory that the owner wipes.
  void (*prepare)(Bytes key, std::uint8_t* image);
  const DeviceRuns* device;  // null where paes was built without nvcc

  [[nodiscard]] bool has(Operation operation) const noexcept {
    return !formula_of(operation).is_chained() &&
           (cipher == Cipher::aes || formula_of(operation).post != Term::tweak);
  }
  [[nodiscard]] bool has_gcm() const noexcept { return takes_gcm; }
};

// Ends a file NAME.cu's launches, and gives its row a name for them.
#if defined(__CUDACC__)
#define PAES_LAUNCHES(name, ...) const DeviceRuns on_device_##name = {__VA_ARGS__}
#elif defined(PAES_HAS_NVCC)
#define PAES_ON_DEVICE(name) &on_device_##name
#else
#define PAES_ON_DEVICE(name) nullptr
#endif

#define PAES_DEVICE_KERNEL(name)                  \
  extern const DeviceKernel device_kernel_##name; \
  extern const DeviceRuns on_device_##name;
#include "cuda/device_kernels.def"
#undef PAES_DEVICE_KERNEL

// Every row of device_kernels.def, best first.
[[nodiscard]] std::span<const DeviceKernel* const> device_kernels() noexcept;

}  // namespace paes::cuda
