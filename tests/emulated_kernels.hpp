// Device kernels as rows of the kernel table, for tests alone: each run becomes a launch that is
// emulated on the host, on copies of the data, as the engine copies to the device and back. So what
// every processor's kernel must pass, the device functions pass too, without a device. The modes
// that chain blocks are no device's work; CBC and CFB encryption go block by block, because a key
// takes a mode in both directions or not at all, and OFB is missing.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "core/secret.hpp"
#include "cuda/device_kernel.hpp"
#include "device_rows.hpp"
#include "mode/gcm.hpp"

namespace paes::test {

// Memory as the device has it: at a multiple of 16, and not a byte more.
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

// A shape that only tests have: small, so that few blocks already go round a grid.
struct EmulatedShape {
  const char* suffix;
  cuda::DeviceShape shape;
};
inline constexpr std::size_t large_shared_bytes = 227 * 1024;
inline constexpr EmulatedShape emulated_shapes[] = {
    {"", {2, large_shared_bytes, 32}},
    // A device whose shared memory is small.
    {"_small", {1, 64 * 1024, 32}},
};

struct EmulatedKeys {
  const cuda::DeviceKernel* kernel;
  DeviceMemory image;
  std::size_t key_bytes;
  cuda::DeviceShape shape;
  Block hash_key = {};

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
void run_emulated(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  const EmulatedKeys& held = emulated_keys(keys);
  const std::size_t size = block_bytes_of(held.kernel->cipher);
  constexpr bool has_before = formula_of(Which).has_before();
  const DeviceMemory in(piece.in, piece.bytes);
  const DeviceMemory other(piece.bytes);
  // In place and not, in turns.
  const bool in_place = !has_before && piece.bytes / size % 2 == 0;
  cuda::Job job = {Which, in.data(), in_place ? in.data() : other.data(), piece.bytes};
  std::unique_ptr<DeviceMemory> tweaks;
  if constexpr (Which == Operation::ctr) {
    job.counter = state.counter;
    store_be32(job.counter.bytes + size - 4, load_be32(state.counter.bytes + size - 4) +
                                                 static_cast<std::uint32_t>(piece.first_block));
    job.counter_bits = 32;
  } else if constexpr (has_before) {
    job.before = *piece.before;
  } else if constexpr (formula_of(Which).post == Term::tweak) {
    const auto blocks = static_cast<std::uint32_t>(piece.bytes / block_bytes);
    tweaks = std::make_unique<DeviceMemory>(cuda::tweak_count(blocks, 0) * block_bytes);
    const DeviceMemory first(piece.before, block_bytes);
    job.tweaks = tweaks->blocks();
    held.kernel->emulated.run_tweaks(held.launch(),
                                     {first.blocks(), true, 0, blocks, tweaks->blocks()});
  }
  held.kernel->emulated.run(held.launch(), job);
  if (piece.bytes != 0) {
    std::memcpy(piece.out, job.out, piece.bytes);
  }
}

template <Operation Which>
void run_emulated_chains(const KernelKeys& keys, std::span<Chain> chains) noexcept {
  const EmulatedKeys& held = emulated_keys(keys);
  const std::size_t size = block_bytes_of(held.kernel->cipher);
  const DeviceMemory block(size);
  for (Chain& chain : chains) {
    for (std::size_t at = 0; at < chain.bytes; at += size) {
      const auto add_input = [&] {
        for (std::size_t i = 0; i < size; ++i) {
          block.data()[i] ^= chain.in[at + i];
        }
      };
      std::memcpy(block.data(), chain.feedback.bytes, size);
      if (Which == Operation::cbc_encrypt) {
        add_input();
      }
      held.kernel->emulated.run(
          held.launch(), cuda::Job{Operation::ecb_encrypt, block.data(), block.data(), size});
      if (Which == Operation::cfb_encrypt) {
        add_input();
      }
      std::memcpy(chain.out + at, block.data(), size);
      std::memcpy(chain.feedback.bytes, block.data(), size);
    }
  }
}

// The device hashes a part from zero; what came before is joined here, as the engine's caller does.
template <GcmOperation Which>
void run_emulated_gcm(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  const EmulatedKeys& held = emulated_keys(keys);
  const DeviceMemory in(piece.in, piece.bytes);
  const DeviceMemory other(piece.bytes);
  const DeviceMemory aad_hash(piece.hash, block_bytes);
  const DeviceMemory scratch(cuda::gcm_scratch_count(piece.bytes) * block_bytes);
  const DeviceMemory result(block_bytes);
  const Block first = gcm::add_counter(state.counter, piece.first_block);
  const DeviceMemory counter(&first, block_bytes);
  constexpr bool is_message = cuda::takes_messages(Which);
  constexpr bool has_out = Which != GcmOperation::hash && Which != GcmOperation::verify;
  cuda::GcmJob job = {};
  job.operation = Which;
  job.in = in.data();
  job.out = !has_out ? nullptr : piece.bytes / block_bytes % 2 == 0 ? in.data() : other.data();
  job.count = 1;
  job.text_bytes = job.last_text_bytes = piece.bytes;
  job.counters = Which == GcmOperation::hash ? nullptr : counter.blocks();
  job.aad_hash = is_message ? aad_hash.blocks() : nullptr;
  job.aad_bytes = is_message ? state.aad_bytes : 0;
  job.tags = result.blocks();
  job.scratch = scratch.blocks();
  held.kernel->emulated.run_gcm(held.launch(), job);
  if (has_out && piece.bytes != 0) {
    std::memcpy(piece.out, job.out, piece.bytes);
  }
  const Block& hash = *result.blocks();
  *piece.hash = is_message ? hash : joined_hash(*piece.hash, held.hash_key, hash, piece.bytes);
}

template <std::size_t Number, std::size_t Shape>
void prepare_emulated(Bytes key, KernelKeys& keys) {
  const cuda::DeviceKernel& kernel = *cuda::device_kernels()[Number];
  auto held = std::make_unique<EmulatedKeys>(EmulatedKeys{
      &kernel, DeviceMemory(kernel.image_bytes), key.size(), emulated_shapes[Shape].shape});
  kernel.prepare(key, held->image.data());
  if (kernel.has_gcm()) {
    const DeviceMemory zero(&held->hash_key, block_bytes);
    kernel.emulated.run(held->launch(),
                        cuda::Job{Operation::ecb_encrypt, zero.data(), zero.data(), block_bytes});
    held->hash_key = *zero.blocks();
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
  template <GcmOperation Which>
  static constexpr auto run_gcm = run_emulated_gcm<Which>;

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
