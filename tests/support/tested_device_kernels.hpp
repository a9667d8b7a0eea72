// SPDX-License-Identifier: Apache-2.0
// Device kernels on a real device as rows of the kernel table, only for tests. Each run copies its
// piece to the device, launches, and copies back. So every test of a processor's kernel, beginning
// with NIST's vectors, also runs on a device. With PAES_EMULATED_DEVICE set, the device is
// emulated, which tests this adapter and the programs that use it. Devices do not run chained
// modes. The processor's kernel replaces them there, because a key must support both directions of
// a mode.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cuda/device_kernel.hpp"
#include "device_port.hpp"
#include "device_rows.hpp"
#include "kernel/registry.hpp"

namespace paes::test {

struct DeviceVariant {
  const char* suffix;
  std::size_t shared_bytes;
};
// Some kernels have another variant for devices with less shared memory.
inline constexpr DeviceVariant device_variants[] = {{"", 0}, {"_small", 64 * 1024}};

struct DeviceKeys {
  const cuda::DeviceKernel* kernel;
  std::size_t shared_bytes;
  std::size_t key_bytes;
  std::vector<std::uint8_t> image;
  const Kernel* chaining;
  KernelKeys chaining_keys;
  HashSubkey hash_key = {};
};

inline const DeviceKeys& device_keys(const KernelKeys& keys) {
  const DeviceKeys* held = nullptr;
  std::memcpy(&held, keys.bytes, sizeof held);
  return *held;
}

inline void release_device(KernelKeys& keys) noexcept {
  auto* const held = const_cast<DeviceKeys*>(&device_keys(keys));
  if (held->chaining->release != nullptr) {
    held->chaining->release(held->chaining_keys);
  }
  delete held;
}

// Where things lie in a port: a few blocks, the key's image, the input, the output, the rest.
struct PortLayout {
  static constexpr std::size_t first = 0;  // XTS's T, or the hash of the additional data
  static constexpr std::size_t counter = 16;
  static constexpr std::size_t result = 32;
  static constexpr std::size_t image = 256;
  std::size_t in, out, rest, bytes;

  PortLayout(const DeviceKeys& held, std::size_t text_bytes, bool in_place, std::size_t rest_blocks)
      : in(image + rounded(held.image.size())),
        out(in_place ? in : in + rounded(text_bytes)),
        rest(out + rounded(text_bytes)),
        bytes(rest + rest_blocks * block_bytes) {}

  static std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

inline void put(std::uint8_t* to, const void* from, std::size_t bytes) {
  if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
}

// Sends what the device needs before every launch.
inline void send_piece(Port& port, const DeviceKeys& held, const PortLayout& layout,
                       const std::uint8_t* in, std::size_t bytes) {
  put(port.host() + PortLayout::image, held.image.data(), held.image.size());
  put(port.host() + layout.in, in, bytes);
  port.send(layout.in + bytes);
}

template <Operation Which>
void run_on_device(const KernelKeys& keys, const Piece& piece) noexcept {
  const Text& text = piece.text;
  const DeviceKeys& held = device_keys(keys);
  const std::size_t size = block_bytes_of(held.kernel->cipher);
  constexpr Formula formula = formula_of(Which);
  // In place if the number of blocks is even, so that tests cover both ways.
  const bool in_place = !formula.has_before() && text.bytes / size % 2 == 0;
  const auto blocks = static_cast<std::uint32_t>(text.bytes / block_bytes);
  const PortLayout layout(held, text.bytes, in_place,
                          formula.has_tweak() ? cuda::tweak_count(blocks, 0) : 0);
  ports().use([&](Port& port) {
    port.reserve(layout.bytes);
    cuda::Job job = {Which, port.device() + layout.in, port.device() + layout.out, text.bytes};
    if constexpr (Which == Operation::ctr) {
      job.counter = std::bit_cast<Block>(*piece.counter);
      job.counter_bits = 32;
    } else if constexpr (formula.has_before()) {
      job.before = std::bit_cast<Block>(*piece.before);
    } else if constexpr (formula.has_tweak()) {
      put(port.host() + PortLayout::first, piece.tweak, block_bytes);
    }
    send_piece(port, held, layout, text.in, text.bytes);
    if constexpr (formula.has_tweak()) {
      auto* const tweaks = reinterpret_cast<Block*>(port.device() + layout.rest);
      job.tweaks = tweaks;
      port.launch(*held.kernel, held.key_bytes, PortLayout::image, held.shared_bytes,
                  cuda::TweakJob{reinterpret_cast<const Block*>(port.device() + PortLayout::first),
                                 true, 0, blocks, tweaks});
    }
    port.launch(*held.kernel, held.key_bytes, PortLayout::image, held.shared_bytes, job);
    port.fetch(layout.out, text.bytes);
    port.wait();
    put(text.out, port.host() + layout.out, text.bytes);
  });
}

inline Block run_gcm_on_device(const KernelKeys& keys, const GcmOnDevice& what) noexcept {
  const bool is_message = cuda::takes_messages(what.operation);
  const Text& text = what.text;
  const DeviceKeys& held = device_keys(keys);
  const PortLayout layout(held, text.bytes, text.bytes / block_bytes % 2 == 0,
                          cuda::gcm_scratch_count(text.bytes));
  Block result;
  ports().use([&](Port& port) {
    port.reserve(layout.bytes);
    put(port.host() + PortLayout::first, what.aad_hash, is_message ? block_bytes : 0);
    put(port.host() + PortLayout::counter, what.counter, what.counter == nullptr ? 0 : block_bytes);
    send_piece(port, held, layout, text.in, text.bytes);
    const auto block_at = [&](std::size_t at) {
      return reinterpret_cast<Block*>(port.device() + at);
    };
    cuda::GcmJob job = {};
    job.operation = what.operation;
    job.in = port.device() + layout.in;
    job.out = what.has_out() ? port.device() + layout.out : nullptr;
    job.count = 1;
    job.text_bytes = job.last_text_bytes = text.bytes;
    job.counters = what.counter == nullptr ? nullptr : block_at(PortLayout::counter);
    job.aad_hash = is_message ? block_at(PortLayout::first) : nullptr;
    job.aad_bytes = what.aad_bytes;
    job.tags = block_at(PortLayout::result);
    job.scratch = block_at(layout.rest);
    port.launch(*held.kernel, held.key_bytes, PortLayout::image, held.shared_bytes, job);
    port.fetch(PortLayout::result, block_bytes);
    if (what.has_out()) {
      port.fetch(layout.out, text.bytes);
    }
    port.wait();
    if (what.has_out()) {
      put(text.out, port.host() + layout.out, text.bytes);
    }
    put(result.bytes, port.host() + PortLayout::result, block_bytes);
  });
  return result;
}

template <Operation Which>
void run_chains_on_processor(const KernelKeys& keys, std::span<Chain> chains) noexcept {
  const DeviceKeys& held = device_keys(keys);
  held.chaining->run_chains(Which)(held.chaining_keys, chains);
}

template <std::size_t Number, std::size_t Variant>
void prepare_device(Bytes key, KernelKeys& keys) {
  const cuda::DeviceKernel& kernel = *cuda::device_kernels()[Number];
  const Kernel& chaining = best_kernel(kernel.cipher, [](const Kernel& row) {
    return row.has(Operation::cbc_encrypt) && row.has(Operation::cfb_encrypt) &&
           row.has(Operation::ofb) && row.has(Operation::ecb_encrypt);
  });
  auto held = std::make_unique<DeviceKeys>(DeviceKeys{&kernel,
                                                      device_variants[Variant].shared_bytes,
                                                      key.size(),
                                                      std::vector<std::uint8_t>(kernel.image_bytes),
                                                      &chaining,
                                                      {},
                                                      {}});
  kernel.prepare(key, held->image.data());
  chaining.prepare(key, held->chaining_keys);
  if (kernel.cipher == Cipher::aes) {
    chaining.run(Operation::ecb_encrypt)(
        held->chaining_keys, {.text = {held->hash_key.bytes, held->hash_key.bytes, block_bytes}});
  }
  const DeviceKeys* const owned = held.release();
  std::memcpy(keys.bytes, &owned, sizeof owned);
}

struct DeviceWays {
  static constexpr auto& variants = device_variants;
  template <std::size_t Number, std::size_t Variant>
  static constexpr auto prepare = prepare_device<Number, Variant>;
  static constexpr auto release = release_device;
  template <Operation Which>
  static constexpr auto run = run_on_device<Which>;
  static constexpr auto run_gcm = run_gcm_on_device;
  static const HashSubkey& hash_subkey(const KernelKeys& keys) {
    return device_keys(keys).hash_key;
  }

  static ModeRuns add_chains(const ModeRuns& runs) {
    return runs.with(Operation::cbc_encrypt, run_chains_on_processor<Operation::cbc_encrypt>)
        .with(Operation::cfb_encrypt, run_chains_on_processor<Operation::cfb_encrypt>)
        .with(Operation::ofb, run_chains_on_processor<Operation::ofb>);
  }
};

inline const std::vector<const Kernel*>& device_rows() {
  return rows_of_device_kernels<DeviceWays>();
}

// Whether the row is not from the kernel table. emulated_device_kernels.hpp has a function of the
// same name; a program includes one of the two headers.
inline bool is_emulated(const Kernel& kernel) { return kernel.release == release_device; }

// Whether the row uses all of the device's shared memory.
inline bool is_whole_device(const Kernel& row) {
  return !std::string(row.name).ends_with("_small");
}

}  // namespace paes::test
