// SPDX-License-Identifier: Apache-2.0
#include "emulated/emulated_runtime.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

namespace paes::cuda {

namespace {

constexpr std::align_val_t alignment{256};
// The content of fresh memory, so that nobody finds it wiped by chance.
constexpr int fresh = 0xdd;

std::uint8_t* new_memory(std::size_t bytes) {
  auto* const memory = static_cast<std::uint8_t*>(operator new(bytes, alignment));
  std::memset(memory, fresh, bytes);
  return memory;
}

bool is_wiped(const std::uint8_t* memory, std::size_t bytes) {
  return std::all_of(memory, memory + bytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

EmulatedRuntime::EmulatedRuntime(const EmulatedOptions& options)
    : devices_(options.devices,
               DeviceProperties{"emulated", "sm_00", options.memory_bytes, options.shape}),
      pins_(options.pins),
      used_bytes_(options.devices),
      launches_(options.devices),
      slots_(options.devices) {}

EmulatedRuntime::~EmulatedRuntime() {
  for (Regions* const regions : {&on_devices_, &pinned_}) {
    for (const auto& [memory, region] : *regions) {
      operator delete(memory, alignment);
    }
  }
}

void EmulatedRuntime::fail_at(std::uint64_t call, Fault fault) {
  fails_at_ = call;
  fault_ = fault;
}

std::vector<std::string> EmulatedRuntime::complaints() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all = complaints_;
  const auto left = [&](bool is_left, const char* what) {
    if (is_left) {
      all.emplace_back(what);
    }
  };
  left(!on_devices_.empty(), "device memory was not freed");
  left(!pinned_.empty(), "pinned memory was not freed");
  left(!registered_.empty(), "memory was left pinned");
  left(open_streams_ != 0, "a stream was not closed");
  return all;
}

std::uint64_t EmulatedRuntime::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_;
}

bool EmulatedRuntime::has_on_device(Bytes bytes) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(on_devices_.begin(), on_devices_.end(), [&](const auto& entry) {
    const auto& [memory, region] = entry;
    for (std::size_t at = 0; at + bytes.size() <= region.bytes; at += 16) {
      if (std::equal(bytes.begin(), bytes.end(), memory + at)) {
        return true;
      }
    }
    return false;
  });
}

std::vector<std::uint64_t> EmulatedRuntime::launches() const {
  const std::lock_guard lock(mutex_);
  return launches_;
}

// Begins a call that can fail.
void EmulatedRuntime::begin(const char* what) {
  const std::uint64_t call = ++calls_;
  if (call == fails_at_ || (call > fails_at_ && fault_ == Fault::context_lost)) {
    has_failed_.store(true);
    const std::string what_why = std::string("cuda: ") + what + ": emulated fault";
    if (fault_ == Fault::out_of_memory) {
      throw OutOfMemory(what_why);
    }
    if (fault_ == Fault::passing) {
      throw PassingError(what_why);
    }
    throw Error(ErrorCode::failure, what_why);
  }
}

bool EmulatedRuntime::has(const Regions& regions, const void* memory, std::size_t bytes,
                          unsigned device) {
  auto* const first = static_cast<std::uint8_t*>(const_cast<void*>(memory));
  const auto after = regions.upper_bound(first);
  return after != regions.begin() && std::prev(after)->second.device == device &&
         first + bytes <= std::prev(after)->first + std::prev(after)->second.bytes;
}

void* EmulatedRuntime::allocate_in(Regions& regions, unsigned device, std::size_t bytes) {
  std::uint8_t* const memory = new_memory(bytes);
  regions.emplace(memory, Region{bytes, device});
  return memory;
}

void EmulatedRuntime::release(Regions& regions, void* memory, const char* what) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = regions.find(static_cast<std::uint8_t*>(memory));
  if (found == regions.end()) {
    complaints_.push_back(std::string(what) + ": not allocated");
    return;
  }
  const auto [address, region] = *found;
  // Nobody can reach the memory of a lost context.
  const bool is_lost = region.device != host && has_failed_.load() && fault_ == Fault::context_lost;
  if (!is_lost && !is_wiped(address, region.bytes)) {
    complaints_.push_back(std::string(what) + ": not wiped");
  }
  if (!is_lost && region.device != host && has_copy(region.device, address, region.bytes)) {
    complaints_.push_back(std::string(what) + ": a key went that constant memory still has");
  }
  if (region.device != host) {
    used_bytes_[region.device] -= region.bytes;
  }
  regions.erase(found);
  operator delete(address, alignment);
}

void* EmulatedRuntime::allocate(unsigned device, std::size_t bytes) {
  begin("cudaMalloc");
  const std::lock_guard lock(mutex_);
  if (bytes > devices_[device].memory_bytes - used_bytes_[device]) {
    throw OutOfMemory("cuda: cudaMalloc: out of memory");
  }
  used_bytes_[device] += bytes;
  ++allocations_;
  return allocate_in(on_devices_, device, bytes);
}

void EmulatedRuntime::free(unsigned, void* memory) noexcept {
  release(on_devices_, memory, "device memory");
}

void* EmulatedRuntime::allocate_pinned(std::size_t bytes) {
  begin("cudaHostAlloc");
  const std::lock_guard lock(mutex_);
  return allocate_in(pinned_, host, bytes);
}

void EmulatedRuntime::free_pinned(void* memory) noexcept {
  release(pinned_, memory, "pinned memory");
}

bool EmulatedRuntime::pin(void* memory, std::size_t bytes) noexcept {
  if (!pins_) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  return registered_.emplace(static_cast<std::uint8_t*>(memory), Region{bytes, host}).second;
}

void EmulatedRuntime::unpin(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (registered_.erase(static_cast<std::uint8_t*>(memory)) != 1) {
    complaints_.emplace_back("unpinned what was not pinned");
  }
}

Stream EmulatedRuntime::open_stream(unsigned device) {
  begin("cudaStreamCreateWithFlags");
  auto queue = std::make_unique<Queue>();
  const std::lock_guard lock(mutex_);
  ++open_streams_;
  return {device, queue.release()};
}

void EmulatedRuntime::close_stream(Stream stream) noexcept {
  auto* const queue = static_cast<Queue*>(stream.handle);
  const std::lock_guard lock(mutex_);
  if (!queue->work.empty() && !(has_failed_.load() && fault_ == Fault::context_lost)) {
    complaints_.emplace_back("a stream was closed with work in it");
  }
  --open_streams_;
  delete queue;
}

void EmulatedRuntime::enter(Stream stream, std::function<void()> work) {
  static_cast<Queue*>(stream.handle)->work.push_back(std::move(work));
}

bool EmulatedRuntime::check_copy(const char* what, Stream stream, const void* device_memory,
                                 const void* host_memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t before = complaints_.size();
  if (!has(on_devices_, device_memory, bytes, stream.device)) {
    complaints_.push_back(std::string(what) + ": outside of the device's memory");
  }
  if (!has(pinned_, host_memory, bytes, host) && !has(registered_, host_memory, bytes, host)) {
    complaints_.push_back(std::string(what) + ": host memory that is not pinned");
  }
  return complaints_.size() == before;
}

// Checked when it is entered and when it is done, because the memory must still be there.
void EmulatedRuntime::copy(const char* what, Stream stream, void* to, const void* from,
                           const void* device_memory, const void* host_memory, std::size_t bytes) {
  begin("cudaMemcpyAsync");
  if (check_copy(what, stream, device_memory, host_memory, bytes)) {
    enter(stream, [=, this] {
      if (check_copy(what, stream, device_memory, host_memory, bytes)) {
        std::memcpy(to, from, bytes);
      }
    });
  }
}

void EmulatedRuntime::copy_in(Stream stream, void* device_memory, const void* host_memory,
                              std::size_t bytes) {
  copy("copy in", stream, device_memory, host_memory, device_memory, host_memory, bytes);
}

void EmulatedRuntime::copy_out(Stream stream, void* host_memory, const void* device_memory,
                               std::size_t bytes) {
  copy("copy out", stream, host_memory, device_memory, device_memory, host_memory, bytes);
}

void EmulatedRuntime::fill_zero(Stream stream, void* device_memory, std::size_t bytes) {
  begin("cudaMemsetAsync");
  {
    const std::lock_guard lock(mutex_);
    if (!has(on_devices_, device_memory, bytes, stream.device)) {
      complaints_.emplace_back("fill: outside of the device's memory");
    }
  }
  enter(stream, [=] { std::memset(device_memory, 0, bytes); });
}

EmulatedRuntime::Constant& EmulatedRuntime::constant_of(Stream stream, const DeviceKernel& kernel,
                                                        unsigned slot) {
  return slots_[stream.device][slot].constants[&kernel];
}

Launch EmulatedRuntime::begin_launch(Stream stream, const DeviceKernel& kernel, Launch launch) {
  {
    const std::lock_guard lock(mutex_);
    Constant& constant = constant_of(stream, kernel, launch.slot);
    constant.image = launch.image;
    launch.stream = &constant.memory;
  }
  // The key is copied first, so that it is there even if the kernel then does not start.
  if (Emulation::of(kernel).wipe != nullptr) {
    enter(stream, [=] { static_cast<EmulatedConstant*>(launch.stream)->assign(1, fresh); });
  }
  begin((std::string("launch of ") + kernel.name).c_str());
  launch.shape = devices_[stream.device].shape;
  const std::lock_guard lock(mutex_);
  ++launches_[stream.device];
  SlotState& state = slots_[stream.device][launch.slot];
  if (state.stream != nullptr && state.stream != stream.handle) {
    complaints_.emplace_back("two streams launch in one slot at a time");
  }
  state.stream = stream.handle;
  return launch;
}

bool EmulatedRuntime::has_keys(const SlotState& state) {
  return std::any_of(state.constants.begin(), state.constants.end(), [](const auto& entry) {
    return !is_wiped(entry.second.memory.data(), entry.second.memory.size());
  });
}

bool EmulatedRuntime::has_copy(unsigned device, const std::uint8_t* memory,
                               std::size_t bytes) const {
  for (const SlotState& state : slots_[device]) {
    for (const auto& [kernel, constant] : state.constants) {
      const auto* const image = static_cast<const std::uint8_t*>(constant.image);
      if (image >= memory && image < memory + bytes &&
          !is_wiped(constant.memory.data(), constant.memory.size())) {
        return true;
      }
    }
  }
  return false;
}

void EmulatedRuntime::launch(Stream stream, const DeviceKernel& kernel, Launch launch,
                             const AnyJob& job) {
  enter(stream, [&runs = Emulation::of(kernel), launch = begin_launch(stream, kernel, launch),
                 job] { (void)runs.start(launch, job); });  // an emulation cannot fail
}

void EmulatedRuntime::wait(Stream stream) {
  begin("cudaStreamSynchronize");
  auto* const queue = static_cast<Queue*>(stream.handle);
  for (const auto& work : queue->work) {
    work();
  }
  queue->work.clear();
  const std::lock_guard lock(mutex_);
  for (SlotState& state : slots_[stream.device]) {
    state.stream = state.stream == stream.handle ? nullptr : state.stream;
  }
}

std::optional<unsigned> EmulatedRuntime::take_slot(unsigned device) {
  const std::lock_guard lock(mutex_);
  for (SlotState& state : slots_[device]) {
    if (!state.is_taken) {
      state.is_taken = true;
      return static_cast<unsigned>(&state - slots_[device].data());
    }
  }
  return std::nullopt;
}

void EmulatedRuntime::give_slot(unsigned device, unsigned slot) noexcept {
  const std::lock_guard lock(mutex_);
  SlotState& state = slots_[device][slot];
  const bool is_lost = has_failed_.load() && fault_ == Fault::context_lost;
  if (!is_lost && has_keys(state)) {
    complaints_.emplace_back("a slot was given back with keys in it");
  }
  state = {};
}

void EmulatedRuntime::wipe_keys(Stream stream, const DeviceKernel& kernel, unsigned slot) {
  begin("wiping the keys of launches");
  const auto wipe = Emulation::of(kernel).wipe;
  if (wipe == nullptr) {
    return;
  }
  Launch launch = {nullptr, 0, {}, slot, nullptr};
  {
    const std::lock_guard lock(mutex_);
    launch.stream = &constant_of(stream, kernel, slot).memory;
  }
  enter(stream, [wipe, launch] { (void)wipe(launch); });
}

}  // namespace paes::cuda
