// Device kernels on a real device as rows of the kernel table, for tests alone: each run copies its
// piece to the device, launches, and copies back. So whatever is asked of a processor's kernel,
// NIST's vectors first, can be asked of a device. With PAES_EMULATED_DEVICE set, the device is
// emulated, which tests this adapter and the programs that use it. The modes that chain blocks are
// no device's work: there the processor's kernel stands in, because a key takes a mode in both
// directions or not at all.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cipher/ghash.hpp"
#include "core/secret.hpp"
#include "cuda/cuda_runtime.hpp"
#include "cuda/device_kernel.hpp"
#include "cuda/emulated_runtime.hpp"
#include "kernel/registry.hpp"
#include "mode/gcm.hpp"

namespace paes::test {

inline bool is_device_emulated() { return std::getenv("PAES_EMULATED_DEVICE") != nullptr; }

// The device that a test program runs on; without one the program ends here, in one line.
inline cuda::Runtime& runtime_under_test() {
  static const std::unique_ptr<cuda::Runtime> runtime = []() -> std::unique_ptr<cuda::Runtime> {
    if (is_device_emulated()) {
      cuda::EmulatedOptions options;
      options.memory_bytes = std::size_t{64} << 20;
      return std::make_unique<cuda::EmulatedRuntime>(options);
    }
    std::string why;
    std::unique_ptr<cuda::Runtime> opened = cuda::open_cuda_runtime(why);
    if (opened == nullptr) {
      std::fprintf(stderr, "no CUDA device: %s\n", why.c_str());
      std::exit(1);
    }
    return opened;
  }();
  return *runtime;
}

// A stream of device 0 with memory on both sides, laid out alike: what is written to `host` is at
// the same place of `device` once it was sent.
class Port {
 public:
  explicit Port(unsigned slot)
      : runtime_(runtime_under_test()), stream_(runtime_.open_stream(0)), slot_(slot) {}
  ~Port() {
    release();
    runtime_.close_stream(stream_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) {
      return;
    }
    release();
    bytes_ = std::max<std::size_t>(bytes + bytes / 2, 1 << 16);
    host_ = static_cast<std::uint8_t*>(runtime_.allocate_pinned(bytes_));
    device_ = static_cast<std::uint8_t*>(runtime_.allocate(0, bytes_));
  }
  [[nodiscard]] std::uint8_t* host() const { return host_; }
  [[nodiscard]] std::uint8_t* device() const { return device_; }

  void send(std::size_t bytes) { runtime_.copy_in(stream_, device_, host_, bytes); }
  void fetch(std::size_t at, std::size_t bytes) {
    if (bytes != 0) {
      runtime_.copy_out(stream_, host_ + at, device_ + at, bytes);
    }
  }
  void wait() { runtime_.wait(stream_); }

  // `shared_bytes`: as if the device had so little shared memory; 0: as it is.
  template <class AnyJob>
  void launch(const cuda::DeviceKernel& kernel, std::size_t key_bytes, std::size_t image_at,
              std::size_t shared_bytes, const AnyJob& job) {
    cuda::Launch launch = {device_ + image_at, key_bytes, {}, slot_, stream_.handle};
    if (shared_bytes == 0) {
      runtime_.launch(stream_, kernel, launch, job);
      return;
    }
    // The runtime has no such device, so this goes past it.
    launch.shape = runtime_.devices()[0].shape;
    launch.shape.shared_bytes = shared_bytes;
    wait();
    const cuda::DeviceRuns& runs = is_device_emulated() ? kernel.emulated : *kernel.device;
    if (const int error = start(runs, launch, job); error != 0) {
      throw Error(ErrorCode::failure, "launch of " + std::string(kernel.name) + ": CUDA error " +
                                          std::to_string(error));
    }
  }

 private:
  static int start(const cuda::DeviceRuns& runs, const cuda::Launch& launch, const cuda::Job& job) {
    return runs.run(launch, job);
  }
  static int start(const cuda::DeviceRuns& runs, const cuda::Launch& launch,
                   const cuda::TweakJob& job) {
    return runs.run_tweaks(launch, job);
  }
  static int start(const cuda::DeviceRuns& runs, const cuda::Launch& launch,
                   const cuda::GcmJob& job) {
    return runs.run_gcm(launch, job);
  }

  void release() {
    if (bytes_ != 0) {
      runtime_.fill_zero(stream_, device_, bytes_);
      runtime_.wait(stream_);
      runtime_.free(0, device_);
      wipe(host_, bytes_);
      runtime_.free_pinned(host_);
      bytes_ = 0;
    }
  }

  cuda::Runtime& runtime_;
  cuda::Stream stream_;
  unsigned slot_;
  std::size_t bytes_ = 0;
  std::uint8_t* host_ = nullptr;
  std::uint8_t* device_ = nullptr;
};

// As many ports as launches may be under way; who comes later waits.
class Ports {
 public:
  // Calls `body(port)`. A device that fails ends the program, for a kernel's run cannot fail.
  template <class Body>
  void use(const Body& body) noexcept {
    try {
      std::unique_ptr<Port> port = take();
      body(*port);
      give(std::move(port));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(1);
    }
  }

 private:
  std::unique_ptr<Port> take() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !free_.empty() || made_ < cuda::max_slots; });
    if (free_.empty()) {
      return std::make_unique<Port>(made_++);
    }
    std::unique_ptr<Port> port = std::move(free_.back());
    free_.pop_back();
    return port;
  }
  void give(std::unique_ptr<Port> port) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(port));
    freed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Port>> free_;
  unsigned made_ = 0;
};

inline Ports& ports() {
  runtime_under_test();  // made first, so that it goes last
  static Ports all;
  return all;
}

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
    if (!is_message) {
      const Block before = ghash_multiply(
          *piece.hash, ghash_power(held.hash_key, (piece.bytes + block_bytes - 1) / block_bytes));
      for (std::size_t i = 0; i < block_bytes; ++i) {
        hash.bytes[i] ^= before.bytes[i];
      }
    }
    *piece.hash = hash;
  });
}

template <Operation Which>
void run_chains_on_processor(const KernelKeys& keys, std::span<Chain> chains) noexcept {
  const DeviceKeys& held = device_keys(keys);
  held.chaining->run_chains(Which)(held.chaining_keys, chains);
}

template <std::size_t Index>
void prepare_device(Bytes key, KernelKeys& keys) {
  constexpr std::size_t variants = std::size(device_variants);
  const cuda::DeviceKernel& kernel = *cuda::device_kernels()[Index / variants];
  const Kernel& chaining = best_kernel(kernel.cipher, [](const Kernel& row) {
    return row.has(Operation::cbc_encrypt) && row.has(Operation::cfb_encrypt) &&
           row.has(Operation::ofb) && row.has(Operation::ecb_encrypt);
  });
  auto held =
      std::make_unique<DeviceKeys>(DeviceKeys{&kernel,
                                              device_variants[Index % variants].shared_bytes,
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

template <std::size_t Index>
Kernel make_device_row() {
  constexpr std::size_t variants = std::size(device_variants);
  static std::string name;
  Kernel row = {};
  if (Index / variants >= cuda::device_kernels().size()) {
    return row;
  }
  const cuda::DeviceKernel& kernel = *cuda::device_kernels()[Index / variants];
  name = std::string(kernel.name) + device_variants[Index % variants].suffix;
  row.name = name.c_str();
  row.cipher = kernel.cipher;
  row.use = Use::by_name;
  row.summary = kernel.summary;
  row.lanes = 32 * kernel.blocks;
  row.prepare = prepare_device<Index>;
  row.release = release_device;
  const auto set = [&]<Operation Which>() {
    if (kernel.has(Which)) {
      row.modes = row.modes.with(Which, run_on_device<Which>);
    }
  };
  set.template operator()<Operation::ecb_encrypt>();
  set.template operator()<Operation::ecb_decrypt>();
  set.template operator()<Operation::ctr>();
  set.template operator()<Operation::xts_encrypt>();
  set.template operator()<Operation::xts_decrypt>();
  set.template operator()<Operation::cbc_decrypt>();
  set.template operator()<Operation::cfb_decrypt>();
  row.modes =
      row.modes.with(Operation::cbc_encrypt, run_chains_on_processor<Operation::cbc_encrypt>)
          .with(Operation::cfb_encrypt, run_chains_on_processor<Operation::cfb_encrypt>)
          .with(Operation::ofb, run_chains_on_processor<Operation::ofb>);
  if (kernel.has_gcm()) {
    row.gcm = GcmRuns{}
                  .with(GcmOperation::hash, run_gcm_on_device<GcmOperation::hash>)
                  .with(GcmOperation::encrypt, run_gcm_on_device<GcmOperation::encrypt>)
                  .with(GcmOperation::decrypt, run_gcm_on_device<GcmOperation::decrypt>)
                  .with(GcmOperation::seal, run_gcm_on_device<GcmOperation::seal>)
                  .with(GcmOperation::open, run_gcm_on_device<GcmOperation::open>)
                  .with(GcmOperation::verify, run_gcm_on_device<GcmOperation::verify>);
  }
  return row;
}

// All rows, each in every variant. More than there is room for is an error that shows at once.
inline const std::vector<const Kernel*>& device_rows() {
  constexpr std::size_t room = 24;
  static const std::array<Kernel, room> rows =
      []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<Kernel, room>{make_device_row<Index>()...};
  }
  (std::make_index_sequence<room>());
  static const std::vector<const Kernel*> named = [] {
    if (cuda::device_kernels().size() * std::size(device_variants) > room) {
      std::abort();
    }
    std::vector<const Kernel*> found;
    for (const Kernel& row : rows) {
      if (row.name != nullptr) {
        found.push_back(&row);
      }
    }
    return found;
  }();
  return named;
}

// No row of the kernel table; as in emulated_kernels.hpp, of which a program has one or the other.
inline bool is_emulated(const Kernel& kernel) { return kernel.release == release_device; }

// Not one of a device with less shared memory than this one has.
inline bool is_whole_device(const Kernel& row) {
  return !std::string(row.name).ends_with("_small");
}

}  // namespace paes::test
