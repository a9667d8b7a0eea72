// Device kernels on a real device as rows of the kernel table, for tests alone: each run copies its
// piece to the device, launches, and copies back. So whatever is asked of a processor's kernel,
// NIST's vectors first, can be asked of a device. With PAES_EMULATED_DEVICE set, the device is
// emulated, which tests this adapter and the programs that use it. The modes that chain blocks are
// no device's work: there the processor's kernel stands in, because a key takes a mode in both
// directions or not at all.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cuda/device_kernel.hpp"
#include "device_port.hpp"
#include "device_rows.hpp"
#include "kernel/registry.hpp"
#include "mode/gcm.hpp"

namespace paes::test {

struct DeviceVariant {
  const char* suffix;
  std::size_t shared_bytes;
};
// Devices with less shared memory get another variant of some kernels.
inline constexpr DeviceVariant device_variants[] = {{"", 0}, {"_small", 64 * 1024}};

struct DeviceKeys {
  const cuda::DeviceKernel* kernel;
  std::size_t shared_bytes;
  std::size_t key_bytes;
  std::vector<std::uint8_t> image;
  const Kernel* chaining;
  KernelKeys chaining_keys;
  Block hash_key = {};
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

// What goes to the device before every launch.
inline void send_piece(Port& port, const DeviceKeys& held, const PortLayout& layout,
                       const std::uint8_t* in, std::size_t bytes) {
  put(port.host() + PortLayout::image, held.image.data(), held.image.size());
  put(port.host() + layout.in, in, bytes);
  port.send(layout.in + bytes);
}

template <Operation Which>
void run_on_device(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  const DeviceKeys& held = device_keys(keys);
  const std::size_t size = block_bytes_of(held.kernel->cipher);
  constexpr Formula formula = formula_of(Which);
  // In place and not, in turns.
  const bool in_place = !formula.has_before() && piece.bytes / size % 2 == 0;
  const auto blocks = static_cast<std::uint32_t>(piece.bytes / block_bytes);
  const PortLayout layout(held, piece.bytes, in_place,
                          formula.has_tweak() ? cuda::tweak_count(blocks, 0) : 0);
  ports().use([&](Port& port) {
    port.reserve(layout.bytes);
    cuda::Job job = {Which, port.device() + layout.in, port.device() + layout.out, piece.bytes};
    if constexpr (Which == Operation::ctr) {
      job.counter = state.counter;
      store_be32(job.counter.bytes + size - 4, load_be32(state.counter.bytes + size - 4) +
                                                   static_cast<std::uint32_t>(piece.first_block));
      job.counter_bits = 32;
    } else if constexpr (formula.has_before()) {
      job.before = *piece.before;
    } else if constexpr (formula.has_tweak()) {
      put(port.host() + PortLayout::first, piece.before, block_bytes);
    }
    send_piece(port, held, layout, piece.in, piece.bytes);
    if constexpr (formula.has_tweak()) {
      auto* const tweaks = reinterpret_cast<Block*>(port.device() + layout.rest);
      job.tweaks = tweaks;
      port.launch(*held.kernel, held.key_bytes, PortLayout::image, held.shared_bytes,
                  cuda::TweakJob{reinterpret_cast<const Block*>(port.device() + PortLayout::first),
                                 true, 0, blocks, tweaks});
    }
    port.launch(*held.kernel, held.key_bytes, PortLayout::image, held.shared_bytes, job);
    port.fetch(layout.out, piece.bytes);
    port.wait();
    put(piece.out, port.host() + layout.out, piece.bytes);
  });
}

// The device hashes a part from zero; what came before is joined here, as the engine's caller does.
template <GcmOperation Which>
void run_gcm_on_device(const KernelKeys& keys, const ModeState& state,
                       const Piece& piece) noexcept {
  constexpr bool is_message =
      Which == GcmOperation::seal || Which == GcmOperation::open || Which == GcmOperation::verify;
  constexpr bool has_out = Which != GcmOperation::hash && Which != GcmOperation::verify;
  const DeviceKeys& held = device_keys(keys);
  const PortLayout layout(held, piece.bytes, piece.bytes / block_bytes % 2 == 0,
                          cuda::gcm_scratch_count(piece.bytes));
  ports().use([&](Port& port) {
    port.reserve(layout.bytes);
    const Block counter = gcm::add_counter(state.counter, piece.first_block);
    put(port.host() + PortLayout::first, piece.hash, block_bytes);
    put(port.host() + PortLayout::counter, &counter, block_bytes);
    send_piece(port, held, layout, piece.in, piece.bytes);
    const auto block_at = [&](std::size_t at) {
      return reinterpret_cast<Block*>(port.device() + at);
    };
    cuda::GcmJob job = {};
    job.operation = Which;
    job.in = port.device() + layout.in;
    job.out = has_out ? port.device() + layout.out : nullptr;
    job.count = 1;
    job.text_bytes = job.last_text_bytes = piece.bytes;
    job.counters = Which == GcmOperation::hash ? nullptr : block_at(PortLayout::counter);
    job.aad_hash = is_message ? block_at(PortLayout::first) : nullptr;
    job.aad_bytes = is_message ? state.aad_bytes : 0;
    job.tags = block_at(PortLayout::result);
    job.scratch = block_at(layout.rest);
    port.launch(*held.kernel, held.key_bytes, PortLayout::image, held.shared_bytes, job);
    port.fetch(PortLayout::result, block_bytes);
    if (has_out) {
      port.fetch(layout.out, piece.bytes);
    }
    port.wait();
    if (has_out) {
      put(piece.out, port.host() + layout.out, piece.bytes);
    }
    Block hash;
    put(hash.bytes, port.host() + PortLayout::result, block_bytes);
    *piece.hash = is_message ? hash : joined_hash(*piece.hash, held.hash_key, hash, piece.bytes);
  });
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
        held->chaining_keys, {},
        {0, held->hash_key.bytes, held->hash_key.bytes, block_bytes, nullptr});
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
  template <GcmOperation Which>
  static constexpr auto run_gcm = run_gcm_on_device<Which>;

  static ModeRuns add_chains(const ModeRuns& runs) {
    return runs.with(Operation::cbc_encrypt, run_chains_on_processor<Operation::cbc_encrypt>)
        .with(Operation::cfb_encrypt, run_chains_on_processor<Operation::cfb_encrypt>)
        .with(Operation::ofb, run_chains_on_processor<Operation::ofb>);
  }
};

inline const std::vector<const Kernel*>& device_rows() {
  return rows_of_device_kernels<DeviceWays>();
}

// No row of the kernel table; as in emulated_kernels.hpp, of which a program has one or the other.
inline bool is_emulated(const Kernel& kernel) { return kernel.release == release_device; }

// Not one of a device with less shared memory than this one has.
inline bool is_whole_device(const Kernel& row) {
  return !std::string(row.name).ends_with("_small");
}

}  // namespace paes::test
