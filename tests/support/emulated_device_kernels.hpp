// SPDX-License-Identifier: Apache-2.0
// Device kernels as rows of the kernel table, only for tests. Each run becomes a launch that the
// host emulates on copies of the data, like the copies to a device and back. So the device
// functions must pass every test of the processor's kernels, without a device. Devices do not run
// chained modes. Here CBC and CFB encryption go block by block, because a key must support both
// directions of a mode; OFB is missing.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "core/secret.hpp"
#include "cuda/device_kernel.hpp"
#include "device_rows.hpp"
#include "emulated/emulation.hpp"

namespace paes::test {

// Memory like the device's: aligned to 16 bytes, and no longer than requested, so that sanitizers
// see accesses beyond it.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : data_(new (std::align_val_t{16}) std::uint8_t[bytes]) {
    std::memset(data_.get(), 0xdd, bytes);
  }
  DeviceMemory(const void* from, std::size_t bytes) : DeviceMemory(bytes) {
    if (bytes != 0) {
      std::memcpy(data_.get(), from, bytes);
    }
  }
  [[nodiscard]] std::uint8_t* data() const { return data_.get(); }
  [[nodiscard]] Block* blocks() const { return reinterpret_cast<Block*>(data_.get()); }

 private:
  struct Delete {
    void operator()(std::uint8_t* data) const { operator delete[](data, std::align_val_t{16}); }
  };
  std::unique_ptr<std::uint8_t[], Delete> data_;
};

// Shapes that only tests use. They are small, so that even a few blocks fill a grid more than once.
struct EmulatedShape {
  const char* suffix;
  cuda::DeviceShape shape;
};
inline constexpr std::size_t large_shared_bytes = 227 * 1024;
inline constexpr EmulatedShape emulated_shapes[] = {
    {"", {2, large_shared_bytes, 32}},
    // A device with little shared memory.
    {"_small", {1, 64 * 1024, 32}},
};

struct EmulatedKeys {
  const cuda::DeviceKernel* kernel;
  DeviceMemory image;
  std::size_t key_bytes;
  cuda::DeviceShape shape;
  HashSubkey hash_key = {};

  [[nodiscard]] cuda::Launch launch() const { return {image.data(), key_bytes, shape, 0, nullptr}; }
};

inline const EmulatedKeys& emulated_keys(const KernelKeys& keys) {
  const EmulatedKeys* held = nullptr;
  std::memcpy(&held, keys.bytes, sizeof held);
  return *held;
}

inline void release_emulated(KernelKeys& keys) noexcept {
  const EmulatedKeys* const held = &emulated_keys(keys);
  wipe(held->image.data(), held->kernel->image_bytes);
  delete held;
}

template <Operation Which>
void run_emulated(const KernelKeys& keys, const Piece& piece) noexcept {
  const Text& text = piece.text;
  const EmulatedKeys& held = emulated_keys(keys);
  const std::size_t size = block_bytes_of(held.kernel->cipher);
  constexpr bool has_before = formula_of(Which).has_before();
  const DeviceMemory in(text.in, text.bytes);
  const DeviceMemory other(text.bytes);
  // In place and not in place, in turns.
  const bool in_place = !has_before && text.bytes / size % 2 == 0;
  cuda::Job job = {Which, in.data(), in_place ? in.data() : other.data(), text.bytes};
  std::unique_ptr<DeviceMemory> tweaks;
  if constexpr (Which == Operation::ctr) {
    job.counter = std::bit_cast<Block>(*piece.counter);
    job.counter_bits = 32;
  } else if constexpr (has_before) {
    job.before = std::bit_cast<Block>(*piece.before);
  } else if constexpr (formula_of(Which).post == Term::tweak) {
    const auto blocks = static_cast<std::uint32_t>(text.bytes / block_bytes);
    tweaks = std::make_unique<DeviceMemory>(cuda::tweak_count(blocks, 0) * block_bytes);
    const DeviceMemory first(piece.tweak, block_bytes);
    job.tweaks = tweaks->blocks();
    cuda::Emulation::of(*held.kernel)
        .run_tweaks(held.launch(), {first.blocks(), true, 0, blocks, tweaks->blocks()});
  }
  cuda::Emulation::of(*held.kernel).run(held.launch(), job);
  if (text.bytes != 0) {
    std::memcpy(text.out, job.out, text.bytes);
  }
}

template <Operation Which>
void run_emulated_chains(const KernelKeys& keys, std::span<Chain> chains) noexcept {
  const EmulatedKeys& held = emulated_keys(keys);
  const std::size_t size = block_bytes_of(held.kernel->cipher);
  const DeviceMemory block(size);
  for (Chain& chain : chains) {
    for (std::size_t at = 0; at < chain.text.bytes; at += size) {
      const auto add_input = [&] {
        for (std::size_t i = 0; i < size; ++i) {
          block.data()[i] ^= chain.text.in[at + i];
        }
      };
      std::memcpy(block.data(), chain.feedback.bytes, size);
      if (Which == Operation::cbc_encrypt) {
        add_input();
      }
      cuda::Emulation::of(*held.kernel)
          .run(held.launch(), cuda::Job{Operation::ecb_encrypt, block.data(), block.data(), size});
      if (Which == Operation::cfb_encrypt) {
        add_input();
      }
      std::memcpy(chain.text.out + at, block.data(), size);
      std::memcpy(chain.feedback.bytes, block.data(), size);
    }
  }
}

inline Block run_emulated_gcm(const KernelKeys& keys, const GcmOnDevice& what) noexcept {
  const EmulatedKeys& held = emulated_keys(keys);
  const Text& text = what.text;
  const bool is_message = cuda::takes_messages(what.operation);
  const DeviceMemory in(text.in, text.bytes);
  const DeviceMemory other(text.bytes);
  const DeviceMemory aad_hash(what.aad_hash, is_message ? block_bytes : 0);
  const DeviceMemory scratch(cuda::gcm_scratch_count(text.bytes) * block_bytes);
  const DeviceMemory result(block_bytes);
  const DeviceMemory counter(what.counter, what.counter == nullptr ? 0 : block_bytes);
  cuda::GcmJob job = {};
  job.operation = what.operation;
  job.in = in.data();
  job.out = !what.has_out()                     ? nullptr
            : text.bytes / block_bytes % 2 == 0 ? in.data()
                                                : other.data();
  job.count = 1;
  job.text_bytes = job.last_text_bytes = text.bytes;
  job.counters = what.counter == nullptr ? nullptr : counter.blocks();
  job.aad_hash = is_message ? aad_hash.blocks() : nullptr;
  job.aad_bytes = what.aad_bytes;
  job.tags = result.blocks();
  job.scratch = scratch.blocks();
  cuda::Emulation::of(*held.kernel).run_gcm(held.launch(), job);
  if (what.has_out() && text.bytes != 0) {
    std::memcpy(text.out, job.out, text.bytes);
  }
  return *result.blocks();
}

template <std::size_t Number, std::size_t Shape>
void prepare_emulated(Bytes key, KernelKeys& keys) {
  const cuda::DeviceKernel& kernel = *cuda::device_kernels()[Number];
  auto held = std::make_unique<EmulatedKeys>(EmulatedKeys{
      &kernel, DeviceMemory(kernel.image_bytes), key.size(), emulated_shapes[Shape].shape});
  kernel.prepare(key, held->image.data());
  if (kernel.has_gcm()) {
    const DeviceMemory zero(&held->hash_key, block_bytes);
    cuda::Emulation::of(kernel).run(
        held->launch(), cuda::Job{Operation::ecb_encrypt, zero.data(), zero.data(), block_bytes});
    held->hash_key = std::bit_cast<HashSubkey>(*zero.blocks());
  }
  const EmulatedKeys* const owned = held.release();
  std::memcpy(keys.bytes, &owned, sizeof owned);
}

struct EmulatedWays {
  static constexpr auto& variants = emulated_shapes;
  template <std::size_t Number, std::size_t Shape>
  static constexpr auto prepare = prepare_emulated<Number, Shape>;
  static constexpr auto release = release_emulated;
  template <Operation Which>
  static constexpr auto run = run_emulated<Which>;
  static constexpr auto run_gcm = run_emulated_gcm;
  static const HashSubkey& hash_subkey(const KernelKeys& keys) {
    return emulated_keys(keys).hash_key;
  }

  static ModeRuns add_chains(const ModeRuns& runs) {
    return runs.with(Operation::cbc_encrypt, run_emulated_chains<Operation::cbc_encrypt>)
        .with(Operation::cfb_encrypt, run_emulated_chains<Operation::cfb_encrypt>);
  }
};

inline const std::vector<const Kernel*>& emulated_kernels() {
  return rows_of_device_kernels<EmulatedWays>();
}

inline bool is_emulated(const Kernel& kernel) { return kernel.release == release_emulated; }

}  // namespace paes::test
