// What a device kernel is: one row of functions for one cipher, as kernel/kernel.hpp has for the
// processor. Keys are prepared on the host, as an image that is copied to the device; a launch
// names the image's address there. The same row's `emulate` computes the same on the host, through
// the same device functions, a thread after the other.
#pragma once

#include <span>

#include "core/bytes.hpp"
#include "cuda/job.hpp"
#include "kernel/kernel.hpp"

namespace paes::cuda {

// The device, as far as a launch depends on it.
struct DeviceShape {
  unsigned multiprocessors;
  std::size_t shared_bytes;  // of shared memory that a thread block may ask for
  unsigned threads = 0;      // of a thread block, a multiple of 32; 0: as the kernel wants it
};

// So many launches may be under way on a device at once, each in a slot of its own: constant memory
// has a place for the keys of each, whoever of this process launches.
inline constexpr unsigned max_slots = 8;

// A slot's keys in constant memory; no two slots' share a line of a cache. A launch copies them
// there and they stay until wipe(): nobody else may find them, so each call of the device ends with
// that.
template <class Keys>
struct alignas(256) InSlot {
  Keys keys;
};

struct Launch {
  const void* image;      // of the key, in device memory
  std::size_t key_bytes;  // of the key that the image was made from
  DeviceShape shape;
  unsigned slot;  // below max_slots; launches of one slot follow each other on one stream
  void* stream;   // cudaStream_t
  // In the emulation, what stands for the slot's constant memory: constant_bytes of the kernel. If
  // it is null, keys are read where the image has them.
  void* constant = nullptr;
};

// A kernel's launches: each answers with a cudaError_t, 0 for success. The same functions, compiled
// for the host, are its emulation: image and addresses are then the host's, `constant` stands for
// `slot`, `stream` means nothing, everything is done when they return, and they return 0.
struct DeviceRuns {
  int (*run)(const Launch&, const Job&);
  int (*run_tweaks)(const Launch&, const TweakJob&);  // null for 3DES
  int (*run_gcm)(const Launch&, const GcmJob&);       // null without GCM
  // Overwrites what launches of the slot left of keys in constant memory; null: they leave nothing.
  int (*wipe)(const Launch&);
  // Asks the driver for the kernel's code for the current device, which it may have to compile.
  int (*find)();
};

struct DeviceKernel {
  const char* name;
  Cipher cipher;
  const char* summary;
  const char* warning;         // printed whenever it is used, or null
  unsigned blocks;             // of the cipher that a thread transforms at once
  std::size_t image_bytes;     // of a key; a multiple of 16
  std::size_t constant_bytes;  // of a slot's keys in constant memory; 0: none are there
  // From a key of a length that the cipher has to its image, in host memory that its owner wipes.
  void (*prepare)(Bytes key, std::uint8_t* image);
  DeviceRuns emulated;
  const DeviceRuns* device;  // null where paes was built without nvcc

  [[nodiscard]] bool has(Operation operation) const noexcept {
    return !formula_of(operation).is_chained() &&
           (cipher == Cipher::aes || formula_of(operation).post != Term::tweak);
  }
  [[nodiscard]] bool has_gcm() const noexcept { return emulated.run_gcm != nullptr; }
};

// What the emulation's object names as a row's `device`.
#if defined(PAES_HAS_NVCC)
#define PAES_ON_DEVICE(name) &on_device_##name
#else
#define PAES_ON_DEVICE(name) nullptr
#endif

// Every row of device_kernels.def, best first.
[[nodiscard]] std::span<const DeviceKernel* const> device_kernels() noexcept;

}  // namespace paes::cuda
