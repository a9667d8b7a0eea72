// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_runtime.hpp"

#if defined(PAES_HAS_NVCC)

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bitset>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace paes::cuda {

namespace {

// The errors that pass, each with its reason, from the descriptions of cudaError_t in NVIDIA's
// reference of the run-time library. None of them changes the context.
struct PassingRow {
  cudaError_t error;
  const char* why;
};
constexpr PassingRow passing_errors[] = {
    {cudaErrorMemoryAllocation, "other programs give memory back"},
    {cudaErrorDevicesUnavailable, "long kernels of other programs fill the device, but they end"},
    {cudaErrorSystemNotReady, "the system's services for the device are still starting"},
    {cudaErrorMpsServerNotReady, "the server that shares the device is still starting"},
    {cudaErrorMpsMaxClientsReached, "other programs leave the server that shares the device"},
    {cudaErrorMpsMaxConnectionsReached, "other programs end their work on the device"},
};
// No other error passes. Most leave a context in which every later call fails the same way: faults
// of a kernel (cudaErrorIllegalAddress, cudaErrorIllegalInstruction, cudaErrorLaunchFailure), a
// kernel that the system stopped (cudaErrorLaunchTimeout), and faults of the machine
// (cudaErrorECCUncorrectable, cudaErrorHardwareStackError). Others would come again, because the
// same call would be made again: cudaErrorInvalidValue, cudaErrorLaunchOutOfResources (a kernel
// asks for more registers or parameters than there are), cudaErrorNoKernelImageForDevice. An error
// without a known cause, such as cudaErrorUnknown or cudaErrorOperatingSystem, does not pass
// either: nobody could say what state it left.
const PassingRow* find_passing(cudaError_t error) {
  const auto* const found = std::find_if(std::begin(passing_errors), std::end(passing_errors),
                                         [&](const PassingRow& row) { return row.error == error; });
  return found == std::end(passing_errors) ? nullptr : found;
}

// Every call goes through here. `what` names the call or the kernel.
void check(cudaError_t error, const char* what, const char* before = "") {
  if (error == cudaSuccess) {
    return;
  }
  // An error that does not spoil the context stays pending until it is read.
  (void)cudaGetLastError();
  const std::string what_why =
      std::string("cuda: ") + before + what + ": " + cudaGetErrorString(error);
  if (const PassingRow* const passing = find_passing(error)) {
    const std::string hint = std::string("a later try may succeed: ") + passing->why;
    if (error == cudaErrorMemoryAllocation) {
      throw OutOfMemory(what_why, hint);
    }
    throw PassingError(what_why, hint);
  }
  throw Error(ErrorCode::failure, what_why);
}

// For code that must not throw. A call that gives something back can fail only because the context
// is lost, and with it what was to be given back. The error is read here, so that the next launch
// does not report it. Returns true if there was none.
bool ignore(cudaError_t error) noexcept {
  (void)cudaGetLastError();
  return error == cudaSuccess;
}

#define PAES_CHECKED(function, ...) check(function(__VA_ARGS__), #function)

cudaStream_t handle_of(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

int attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  PAES_CHECKED(cudaDeviceGetAttribute, &value, attribute, device);
  return value;
}

DeviceProperties describe(int ordinal) {
  cudaDeviceProp properties = {};
  PAES_CHECKED(cudaGetDeviceProperties, &properties, ordinal);
  return {
      properties.name,
      "sm_" + std::to_string(properties.major) + std::to_string(properties.minor),
      properties.totalGlobalMem,
      {static_cast<unsigned>(properties.multiProcessorCount),
       static_cast<std::size_t>(attribute_of(ordinal, cudaDevAttrMaxSharedMemoryPerBlockOptin))},
      ordinal,
      std::string(properties.uuid.bytes, sizeof properties.uuid.bytes)};
}

// Why a device is of no use; empty if it can be used. Asks nothing that needs a context on the
// device. Every build has the oldest architecture's PTX, so any device that is at least as new can
// run.
std::string refusal_of(int ordinal) {
  if (attribute_of(ordinal, cudaDevAttrComputeMode) == cudaComputeModeProhibited) {
    return "its compute mode is \"prohibited\"";
  }
  const int architecture = 10 * attribute_of(ordinal, cudaDevAttrComputeCapabilityMajor) +
                           attribute_of(ordinal, cudaDevAttrComputeCapabilityMinor);
  if (architecture < PAES_CUDA_LEAST_ARCHITECTURE) {
    return "sm_" + std::to_string(architecture) + " is older than sm_" +
           std::to_string(PAES_CUDA_LEAST_ARCHITECTURE) + ", the first that paes is built for";
  }
  return "";
}

// Throws unless the driver has code of paes for the device, or can compile it. Only the driver
// knows: an old one may not take the PTX of a new compiler. One kernel answers for all, because all
// are compiled for the same architectures. It is the last row's, whose file is the smallest, in
// case the driver compiles it now.
void check_code(const DeviceProperties& device) {
  PAES_CHECKED(cudaSetDevice, device.ordinal);
  if (const int error = device_kernels().back()->device->find(); error != cudaSuccess) {
    (void)cudaGetLastError();
    throw Error(ErrorCode::failure, device.name + " (" + device.architecture +
                                        ") runs no kernel of this build: " +
                                        cudaGetErrorString(static_cast<cudaError_t>(error)));
  }
}

// The slot numbers in use on each device, by its ordinal. All runtimes of the process share them,
// because they share the devices' constant memory.
class TakenSlots {
 public:
  [[nodiscard]] std::optional<unsigned> take(int ordinal) {
    const std::lock_guard lock(mutex_);
    std::bitset<max_slots>& taken = taken_[ordinal];
    for (unsigned slot = 0; slot < max_slots; ++slot) {
      if (!taken[slot]) {
        taken[slot] = true;
        return slot;
      }
    }
    return std::nullopt;
  }
  void give(int ordinal, unsigned slot) noexcept {
    const std::lock_guard lock(mutex_);
    if (const auto found = taken_.find(ordinal); found != taken_.end()) {
      found->second[slot] = false;
    }
  }

 private:
  std::mutex mutex_;
  std::map<int, std::bitset<max_slots>> taken_;
};

TakenSlots& taken_slots() {
  static TakenSlots all;
  return all;
}

class CudaRuntime final : public Runtime {
 public:
  explicit CudaRuntime(std::vector<DeviceProperties> devices) : devices_(std::move(devices)) {}

  [[nodiscard]] std::span<const DeviceProperties> devices() const noexcept override {
    return devices_;
  }

  [[nodiscard]] void* allocate(unsigned device, std::size_t bytes) override {
    select(device);
    void* memory = nullptr;
    PAES_CHECKED(cudaMalloc, &memory, bytes);
    return memory;
  }
  void free(unsigned device, void* memory) noexcept override {
    (void)cudaSetDevice(ordinal_of(device));
    ignore(cudaFree(memory));
  }

  [[nodiscard]] void* allocate_pinned(std::size_t bytes) override {
    void* memory = nullptr;
    PAES_CHECKED(cudaHostAlloc, &memory, bytes, cudaHostAllocPortable);
    return memory;
  }
  void free_pinned(void* memory) noexcept override { ignore(cudaFreeHost(memory)); }

  [[nodiscard]] bool pin(void* memory, std::size_t bytes) noexcept override {
    return ignore(cudaHostRegister(memory, bytes, cudaHostRegisterPortable));
  }
  void unpin(void* memory) noexcept override { ignore(cudaHostUnregister(memory)); }

  [[nodiscard]] Stream open_stream(unsigned device) override {
    select(device);
    cudaStream_t stream = nullptr;
    PAES_CHECKED(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
    return {device, stream};
  }
  void close_stream(Stream stream) noexcept override {
    (void)cudaSetDevice(ordinal_of(stream.device));
    ignore(cudaStreamDestroy(handle_of(stream)));
  }

  void copy_in(Stream stream, void* device_memory, const void* host, std::size_t bytes) override {
    select(stream.device);
    PAES_CHECKED(cudaMemcpyAsync, device_memory, host, bytes, cudaMemcpyHostToDevice,
                 handle_of(stream));
  }
  void copy_out(Stream stream, void* host, const void* device_memory, std::size_t bytes) override {
    select(stream.device);
    PAES_CHECKED(cudaMemcpyAsync, host, device_memory, bytes, cudaMemcpyDeviceToHost,
                 handle_of(stream));
  }
  void fill_zero(Stream stream, void* device_memory, std::size_t bytes) override {
    select(stream.device);
    PAES_CHECKED(cudaMemsetAsync, device_memory, 0, bytes, handle_of(stream));
  }

  void launch(Stream stream, const DeviceKernel& kernel, Launch launch,
              const AnyJob& job) override {
    check_launch(kernel, kernel.device->start(placed(stream, launch), job));
  }
  void wait(Stream stream) override {
    select(stream.device);
    PAES_CHECKED(cudaStreamSynchronize, handle_of(stream));
  }

  [[nodiscard]] std::optional<unsigned> take_slot(unsigned device) override {
    return taken_slots().take(ordinal_of(device));
  }
  void give_slot(unsigned device, unsigned slot) noexcept override {
    taken_slots().give(ordinal_of(device), slot);
  }
  void wipe_keys(Stream stream, const DeviceKernel& kernel, unsigned slot) override {
    if (kernel.device->wipe != nullptr) {
      check_launch(kernel, kernel.device->wipe(placed(stream, {nullptr, 0, {}, slot, nullptr})));
    }
  }

 private:
  [[nodiscard]] int ordinal_of(unsigned device) const noexcept { return devices_[device].ordinal; }
  // Directs this thread's following calls to this device.
  void select(unsigned device) const { PAES_CHECKED(cudaSetDevice, ordinal_of(device)); }

  [[nodiscard]] Launch placed(Stream stream, Launch launch) const {
    select(stream.device);
    launch.shape = devices_[stream.device].shape;
    launch.stream = stream.handle;
    launch.ordinal = ordinal_of(stream.device);
    return launch;
  }

  static void check_launch(const DeviceKernel& kernel, int error) {
    check(static_cast<cudaError_t>(error), kernel.name, "launch of ");
  }

  std::vector<DeviceProperties> devices_;
};

// If there is no driver, the library reports one that is too old.
std::string reason_of(cudaError_t error) {
  int driver = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
      driver == 0) {
    return "there is no NVIDIA driver";
  }
  return error != cudaSuccess ? cudaGetErrorString(error) : "there is no device";
}

}  // namespace

std::vector<DeviceProperties> list_cuda_devices(std::string& why) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    why = reason_of(error);
    return {};
  }
  std::vector<DeviceProperties> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    try {
      if (const std::string refusal = refusal_of(ordinal); !refusal.empty()) {
        why = refusal;
      } else {
        devices.push_back(describe(ordinal));
      }
    } catch (const Error& error) {
      why = error.what();
    }
  }
  return devices;
}

std::unique_ptr<Runtime> open_cuda_runtime(std::string& why, std::optional<unsigned> share) {
  std::vector<DeviceProperties> listed = list_cuda_devices(why);
  if (share && !listed.empty()) {
    // The choice comes before initialisation, which takes memory on each device.
    listed = {std::move(listed[*share % listed.size()])};
  }
  std::vector<DeviceProperties> devices;
  for (DeviceProperties& device : listed) {
    try {
      // Waiting threads sleep, because the processor has other work.
      PAES_CHECKED(cudaInitDevice, device.ordinal, cudaDeviceScheduleBlockingSync,
                   cudaInitDeviceFlagsAreValid);
      check_code(device);
      devices.push_back(std::move(device));
    } catch (const Error& error) {
      why = error.what();  // for example, another process has exclusive use of the device
    }
  }
  if (devices.empty()) {
    return nullptr;
  }
  why.clear();
  return std::make_unique<CudaRuntime>(std::move(devices));
}

}  // namespace paes::cuda

#else

namespace paes::cuda {

std::vector<DeviceProperties> list_cuda_devices(std::string& why) {
  why = "this build has no CUDA";
  return {};
}

std::unique_ptr<Runtime> open_cuda_runtime(std::string& why, std::optional<unsigned>) {
  (void)list_cuda_devices(why);
  return nullptr;
}

}  // namespace paes::cuda

#endif
