// SPDX-License-Identifier: Apache-2.0
// The functions of NVIDIA's run-time library that the project calls, for devices that exist only
// here, and those that nvcc's objects call when the program starts and when they launch.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "emulate/ptx/machine.hpp"
#include "emulate/ptx/stand_in.hpp"

namespace paes::ptx {

namespace {

b64 address_of(const void* pointer) { return reinterpret_cast<b64>(pointer); }

struct Range {
  b64 begin = 0, bytes = 0;
  [[nodiscard]] bool meets(b64 other, b64 other_bytes) const {
    return begin < other + other_bytes && other < begin + bytes;
  }
};

// Work entered into a stream, and the host memory that it reads or writes.
struct Work {
  std::function<void()> run;
  Range host = {};
};

struct Stream {
  unsigned device;
  std::deque<Work> work = {};
};

struct Event {
  std::optional<std::chrono::steady_clock::time_point> at = std::nullopt;
};

// Constant memory that was filled from other memory of the device.
struct ConstantCopy {
  b64 from;
  std::size_t bytes;
};

struct Device {
  Device(unsigned ordinal, std::size_t bytes) : memory(ordinal, bytes) {}

  DeviceMemory memory;
  cudaError_t lost = cudaSuccess;  // why the context is lost
  bool loses_next = false;         // the work entered now fails when it is done
  std::map<b64, ConstantCopy> constant_copies = {};
  std::map<const KernelCode*, std::size_t> granted = {};  // shared memory, granted by the attribute
  std::uint64_t launches = 0;
};

// Pinned memory of the host: where it begins, and its length.
using Pinned = std::map<b64, std::size_t>;

struct Library {
  explicit Library(const Options& chosen) : options(chosen), random(chosen.seed) {
    for (unsigned i = 0; i < chosen.devices; ++i) {
      devices.emplace_back(i, chosen.memory_bytes);
    }
  }

  Options options;
  Random random;
  std::deque<Device> devices;
  std::vector<Stream*> streams = {};  // in the order in which they were made
  std::set<Event*> events = {};
  Pinned allocated = {};
  Pinned registered = {};
  Machine machine = {};
  std::uint64_t calls = 0;
  std::uint64_t fails_at = 0;
  Failing how = Failing::once;
  bool has_failed = false;
};

std::recursive_mutex& mutex() {
  static auto& one = *new std::recursive_mutex;
  return one;
}
using Lock = std::lock_guard<std::recursive_mutex>;

// These live until the process ends, after everything that may still call.
std::vector<std::string>& noted() {
  static auto& all = *new std::vector<std::string>;
  return all;
}
std::unique_ptr<Library>& place_of_library() {
  static auto& place = *new std::unique_ptr<Library>;
  return place;
}
std::map<const void*, std::string>& names_of_functions() {
  static auto& all = *new std::map<const void*, std::string>;
  return all;
}
std::map<const void*, std::string>& names_of_variables() {
  static auto& all = *new std::map<const void*, std::string>;
  return all;
}

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;

void report_at_exit();

Library& library() {
  std::unique_ptr<Library>& place = place_of_library();
  if (place == nullptr) {
    place = std::make_unique<Library>(Options::from_environment());
  }
  static const int registered = std::atexit(report_at_exit);
  (void)registered;
  return *place;
}

std::string seed_text() {
  return "PAES_PTX_SEED=" + std::to_string(library().options.seed) + " repeats it";
}

// Prints how many instructions this process has executed and, with PAES_PTX_UNEXECUTED, which ones
// it has not. False if fewer than PAES_PTX_LEAST_PERCENT were executed.
bool report_coverage() {
  std::size_t all = 0;
  std::size_t executed = 0;
  for (const KernelCode& kernel : kernels()) {
    for (const BlockOfCode& block : kernel.blocks) {
      all += static_cast<std::size_t>(block.instructions);
      executed += block.ran ? static_cast<std::size_t>(block.instructions) : 0;
      if (!block.ran && std::getenv("PAES_PTX_UNEXECUTED") != nullptr) {
        (void)std::fprintf(stderr, "not executed: %s:%d, %d instructions\n", kernel.file,
                           block.line, block.instructions);
      }
    }
    if (std::none_of(kernel.blocks.begin(), kernel.blocks.end(),
                     [](const BlockOfCode& block) { return block.ran; }) &&
        std::getenv("PAES_PTX_UNEXECUTED") != nullptr) {
      (void)std::fprintf(stderr, "not launched: %s\n", plain_name(kernel.name).c_str());
    }
  }
  (void)std::fprintf(stderr, "device code on the host: %zu of %zu instructions were executed; %s\n",
                     executed, all, seed_text().c_str());
  const char* const least = std::getenv("PAES_PTX_LEAST_PERCENT");
  return least == nullptr || 100 * executed >= std::stoul(least) * all;
}

void report_at_exit() {
  const Lock lock(mutex());
  std::vector<std::string> wrong = complaints();
  for (const std::string& left : left_behind()) {
    wrong.push_back("left behind: " + left);
  }
  for (const std::string& what : wrong) {
    (void)std::fprintf(stderr, "device code on the host: %s\n", what.c_str());
  }
  const bool is_covered = report_coverage();
  if (!is_covered) {
    (void)std::fprintf(stderr, "device code on the host: less than PAES_PTX_LEAST_PERCENT\n");
  }
  if (!wrong.empty() || !is_covered) {
    (void)std::fflush(nullptr);
    std::_Exit(3);
  }
}

bool is_wiped(const std::uint8_t* memory, std::size_t bytes) {
  return std::all_of(memory, memory + bytes, [](std::uint8_t byte) { return byte == 0; });
}
// Memory that nobody has written to needs no wiping.
bool is_untouched(const std::uint8_t* memory, std::size_t bytes) {
  return std::all_of(memory, memory + bytes, [](std::uint8_t byte) { return byte == fresh_byte; });
}

// Whether one range contains all of this memory.
bool has(const Pinned& ranges, const void* memory, std::size_t bytes) {
  auto found = ranges.upper_bound(address_of(memory));
  if (found == ranges.begin()) {
    return false;
  }
  --found;
  return address_of(memory) + bytes <= found->first + found->second;
}

void lose(Device& device, cudaError_t why) {
  if (device.lost == cudaSuccess) {
    device.lost = why;
  }
}

void run_first(Stream& stream) {
  const Work work = std::move(stream.work.front());
  stream.work.pop_front();
  // A device that has lost its context does nothing more.
  if (library().devices[stream.device].lost == cudaSuccess) {
    work.run();
  }
}

// The streams with work, of a device or of all devices.
std::vector<Stream*> busy_streams(std::optional<unsigned> device = {}) {
  std::vector<Stream*> busy;
  for (Stream* const stream : library().streams) {
    if (!stream->work.empty() && (!device || stream->device == *device)) {
      busy.push_back(stream);
    }
  }
  return busy;
}

// Does work of the device's streams, in random order among them, until the condition holds.
template <class Condition>
void work_until(unsigned device, const Condition& is_enough) {
  while (!is_enough()) {
    const std::vector<Stream*> busy = busy_streams(device);
    run_first(*busy[library().random.below(busy.size())]);
  }
}

// Sometimes a device does something before anybody waits for it.
void work_early() {
  Random& random = library().random;
  while (random.below(4) == 0) {
    const std::vector<Stream*> busy = busy_streams();
    if (busy.empty()) {
      return;
    }
    run_first(*busy[random.below(busy.size())]);
  }
}

cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) {
    last_error = error;
  }
  return error;
}

Device& current_device() { return library().devices[static_cast<std::size_t>(current)]; }

// Every call that can fail goes through here. `body` is what it does when it does not fail.
template <class Body>
cudaError_t call(const Body& body) {
  const Lock lock(mutex());
  Library& all = library();
  work_early();
  Device& device = current_device();
  if (++all.calls == all.fails_at) {
    all.has_failed = true;
    switch (all.how) {
      case Failing::once:
        return answer(cudaErrorNotSupported);
      case Failing::memory:
        return answer(cudaErrorMemoryAllocation);
      case Failing::lost:
        lose(device, cudaErrorIllegalAddress);
        break;
      case Failing::late:
        device.loses_next = true;
        break;
    }
  }
  if (device.lost != cudaSuccess) {
    return answer(device.lost);
  }
  const cudaError_t error = body();
  // A call that entered no work has nothing that could fail later.
  device.loses_next = false;
  return answer(error);
}

// A call that gives something back does so even if it returns an error.
template <class Body>
cudaError_t give_back(const Body& body) {
  const Lock lock(mutex());
  const cudaError_t error = body();
  const cudaError_t first = call([] { return cudaSuccess; });
  return first != cudaSuccess ? first : answer(error);
}

Stream* stream_of(cudaStream_t handle) {
  auto* const stream = reinterpret_cast<Stream*>(handle);
  const std::vector<Stream*>& streams = library().streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    complain("a stream that does not exist");
    return nullptr;
  }
  if (stream->device != static_cast<unsigned>(current)) {
    complain("a stream of another device");
    return nullptr;
  }
  return stream;
}

cudaError_t enter_work(cudaStream_t handle, std::function<void()> run, Range host = {}) {
  Stream* const stream = stream_of(handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  Device& device = library().devices[stream->device];
  if (std::exchange(device.loses_next, false)) {
    run = [&device] { lose(device, cudaErrorIllegalAddress); };
  }
  stream->work.push_back({std::move(run), host});
  return cudaSuccess;
}

void check_pending(const char* what, b64 begin, std::size_t bytes) {
  for (const Stream* const stream : library().streams) {
    for (const Work& work : stream->work) {
      if (work.host.meets(begin, bytes) && library().devices[stream->device].lost == cudaSuccess) {
        complain(std::string(what) + ": a copy of this memory is still under way");
        return;
      }
    }
  }
}

const KernelCode* code_of(const void* function) {
  const auto name = names_of_functions().find(function);
  for (const KernelCode& kernel : kernels()) {
    if (name != names_of_functions().end() && plain_name(kernel.name) == name->second) {
      return &kernel;
    }
  }
  complain("a kernel that was not translated: " +
           (name == names_of_functions().end() ? "?" : name->second));
  return nullptr;
}

// Does what code_of does, which takes long, only once for each function.
const KernelCode* found_code(const void* function) {
  static auto& found = *new std::map<const void*, const KernelCode*>;
  const auto [place, is_new] = found.try_emplace(function, nullptr);
  if (is_new) {
    place->second = code_of(function);
  }
  return place->second;
}

// The number of a variable, if it is one.
std::optional<std::size_t> found_variable(const void* variable) {
  static auto& found = *new std::map<const void*, std::optional<std::size_t>>;
  const auto [place, is_new] = found.try_emplace(variable, std::nullopt);
  if (is_new) {
    const std::string& name = names_of_variables()[variable];
    for (std::size_t i = 0; i < variables().size(); ++i) {
      if (plain_name(variables()[i].name) == name) {
        place->second = i;
      }
    }
    if (!place->second) {
      complain("a variable that was not translated: " + name);
    }
  }
  return place->second;
}

// The launch bound's guarantee is all that is known about a kernel's registers here.
std::size_t registers_of(const KernelCode& code) {
  return std::min<std::size_t>(255, std::size_t{65536} / code.most_threads / 8 * 8);
}

cudaError_t start(const KernelCode& code, dim3 blocks, dim3 threads, void** arguments,
                  std::size_t dynamic_bytes, cudaStream_t stream) {
  Device& device = current_device();
  const Shape& shape = shape_of(library().options.architecture);
  if (blocks.x == 0 || threads.x == 0 || threads.x > 1024) {
    return cudaErrorInvalidConfiguration;
  }
  if (blocks.y != 1 || blocks.z != 1 || threads.y != 1 || threads.z != 1) {
    complain(std::string(code.file) + ": a grid with more than one dimension");
    return cudaErrorNotSupported;
  }
  if (threads.x > code.most_threads) {
    return cudaErrorLaunchOutOfResources;
  }
  constexpr std::size_t without_asking = 48 << 10;
  const std::size_t shared = code.dynamic_offset + dynamic_bytes;
  if (shared > std::max(without_asking, device.granted[&code] + code.shared_bytes) ||
      shared > shape.shared_of_block) {
    return cudaErrorInvalidValue;
  }
  Grid grid = {&code, blocks.x, threads.x, static_cast<b32>(shared), {}};
  for (std::size_t i = 0; i < code.parameters.size() && code.parameters[i].bytes != 0; ++i) {
    const Parameter& parameter = code.parameters[i];
    grid.parameters.resize(
        std::max<std::size_t>(grid.parameters.size(), parameter.offset + parameter.bytes));
    std::memcpy(grid.parameters.data() + parameter.offset, arguments[i], parameter.bytes);
  }
  ++device.launches;
  return enter_work(stream, [&device, &shape, grid = std::move(grid)] {
    Library& all = library();
    try {
      all.machine.run(grid, device.memory, shape, all.random);
    } catch (const Fault& fault) {
      complain(fault.what);
      lose(device, fault.kind == Fault::Kind::address      ? cudaErrorIllegalAddress
                   : fault.kind == Fault::Kind::misaligned ? cudaErrorMisalignedAddress
                                                           : cudaErrorLaunchFailure);
    }
  });
}

// The host's address of current device memory that a copy names, or null and a complaint.
std::uint8_t* on_device(const char* what, const void* memory, std::size_t bytes) {
  std::uint8_t* const found =
      current_device().memory.find(address_of(memory), bytes, Space::global);
  if (found == nullptr) {
    complain(std::string(what) + ": outside of what was allocated on the device");
  }
  return found;
}

bool is_pinned(const char* what, const void* memory, std::size_t bytes) {
  if (has(library().allocated, memory, bytes) || has(library().registered, memory, bytes)) {
    return true;
  }
  complain(std::string(what) + ": memory of the host that is not pinned");
  return false;
}

std::string left_constants(const Device& device, b64 from, std::size_t bytes) {
  for (const auto& [to, copy] : device.constant_copies) {
    const std::uint8_t* const memory = device.memory.find(to, copy.bytes, Space::constant);
    if (copy.from >= from && copy.from - from < bytes && !is_wiped(memory, copy.bytes)) {
      return "a key's image is freed while a copy of it is in constant memory";
    }
  }
  return "";
}

// Frees what is allocated on the device, if the address is its beginning.
cudaError_t free_on_device(Device& device, unsigned ordinal, b64 address) {
  work_until(ordinal, [&] { return busy_streams(ordinal).empty(); });
  const Window* const window = device.memory.allocated(address);
  if (window == nullptr) {
    complain("cudaFree: what was not allocated");
    return cudaErrorInvalidValue;
  }
  if (device.lost == cudaSuccess) {
    if (!is_wiped(window->host, window->bytes) && !is_untouched(window->host, window->bytes)) {
      complain("cudaFree: memory of the device that was not wiped");
    }
    if (const std::string left = left_constants(device, address, window->bytes); !left.empty()) {
      complain(left);
    }
  }
  device.memory.free(address);
  return cudaSuccess;
}

}  // namespace

void complain(const std::string& what) {
  const Lock lock(mutex());
  // One line for each place, whichever threads found it.
  const std::string key = what.substr(0, what.find(" by thread"));
  for (const std::string& other : noted()) {
    if (other.substr(0, other.find(" by thread")) == key) {
      return;
    }
  }
  noted().push_back(what);
}

Options Options::from_environment() {
  const auto number = [](const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::stoull(text) : otherwise;
  };
  Options options;
  options.devices = static_cast<unsigned>(number("PAES_PTX_DEVICES", options.devices));
  options.architecture = static_cast<int>(
      number("PAES_PTX_ARCHITECTURE", static_cast<unsigned>(options.architecture)));
  options.multiprocessors =
      static_cast<unsigned>(number("PAES_PTX_MULTIPROCESSORS", options.multiprocessors));
  options.memory_bytes = number("PAES_PTX_MEMORY", options.memory_bytes);
  options.seed = number("PAES_PTX_SEED", std::random_device{}());
  return options;
}

void reset(const Options& options) {
  const Lock lock(mutex());
  place_of_library() = std::make_unique<Library>(options);
  noted().clear();
  current = 0;
  last_error = cudaSuccess;
  (void)library();
}

void fail_at(std::uint64_t call, Failing how) {
  const Lock lock(mutex());
  library().fails_at = call;
  library().how = how;
  library().has_failed = false;
}

std::uint64_t calls() {
  const Lock lock(mutex());
  return library().calls;
}

bool has_failed() {
  const Lock lock(mutex());
  return library().has_failed;
}

std::vector<std::string> complaints() {
  const Lock lock(mutex());
  return noted();
}

void forget_complaints() {
  const Lock lock(mutex());
  noted().clear();
}

std::vector<std::string> left_behind() {
  const Lock lock(mutex());
  std::vector<std::string> left;
  const auto add = [&](std::size_t count, const char* what) {
    if (count != 0) {
      left.push_back(std::to_string(count) + " " + what);
    }
  };
  Library& all = library();
  for (const Device& device : all.devices) {
    add(device.memory.allocations(), "allocations on a device");
    if (device.lost == cudaSuccess && !left_constants(device, 0, ~b64{0}).empty()) {
      left.emplace_back("keys in constant memory");
    }
  }
  add(all.allocated.size(), "allocations of pinned memory");
  add(all.registered.size(), "ranges of memory that were pinned");
  add(all.streams.size(), "streams");
  add(all.events.size(), "events");
  return left;
}

std::uint64_t launches(unsigned device) {
  const Lock lock(mutex());
  return library().devices.at(device).launches;
}

std::size_t used_bytes(unsigned device) {
  const Lock lock(mutex());
  return library().devices.at(device).memory.used_bytes();
}

}  // namespace paes::ptx

using namespace paes::ptx;  // NOLINT(google-build-using-namespace)

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): NVIDIA's names
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*,
                            void*, void*, void*, int*) {
  names_of_functions()[function] = plain_name(name);
}
void __cudaRegisterVar(void**, char* variable, char*, const char* name, int, std::size_t, int,
                       int) {
  names_of_variables()[variable] = plain_name(name);
}

// A launch pushes its shape, and the stub that nvcc makes of a kernel pops it.
struct PushedLaunch {
  dim3 blocks, threads;
  std::size_t shared_bytes;
  void* stream;
};
static thread_local std::vector<PushedLaunch> pushed;

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, std::size_t bytes, void* stream) {
  pushed.push_back({blocks, threads, bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, std::size_t* bytes,
                                       void* stream) {
  const PushedLaunch launch = pushed.back();
  pushed.pop_back();
  *blocks = launch.blocks;
  *threads = launch.threads;
  *bytes = launch.shared_bytes;
  *static_cast<void**>(stream) = launch.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  const Lock lock(mutex());
  const KernelCode* const code = found_code(function);
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<KernelCode*>(code));
  return code != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void** arguments,
                               std::size_t bytes, cudaStream_t stream) {
  return call([&] {
    return start(*reinterpret_cast<const KernelCode*>(kernel), blocks, threads, arguments, bytes,
                 stream);
  });
}
// NOLINTEND(bugprone-reserved-identifier)

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t bytes, cudaStream_t stream) {
  return call([&] {
    const KernelCode* const code = found_code(function);
    return code != nullptr ? start(*code, blocks, threads, arguments, bytes, stream)
                           : cudaErrorInvalidDeviceFunction;
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return call([&] {
    const KernelCode* const code = found_code(function);
    if (code == nullptr) {
      return cudaErrorInvalidDeviceFunction;
    }
    std::memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = static_cast<int>(code->most_threads);
    attributes->sharedSizeBytes = code->shared_bytes;
    attributes->localSizeBytes = code->local_bytes;
    attributes->numRegs = static_cast<int>(registers_of(*code));
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return call([&] {
    const KernelCode* const code = found_code(function);
    if (code == nullptr) {
      return cudaErrorInvalidDeviceFunction;
    }
    const std::size_t most = shape_of(library().options.architecture).shared_of_block;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        static_cast<std::size_t>(value) + code->shared_bytes > most) {
      return cudaErrorInvalidValue;
    }
    current_device().granted[code] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, std::size_t bytes,
                                                                   unsigned) {
  return call([&] {
    const KernelCode* const code = found_code(function);
    if (code == nullptr || threads <= 0) {
      return cudaErrorInvalidValue;
    }
    const Shape& shape = shape_of(library().options.architecture);
    const auto of_block = static_cast<std::size_t>(threads);
    const std::size_t shared =
        (code->dynamic_offset + bytes + shape.shared_reserved + 127) / 128 * 128;
    constexpr std::size_t most_blocks = 16;  // on the most restrictive device
    *blocks = static_cast<int>(
        std::min({most_blocks, shape.threads_of_multiprocessor / of_block,
                  65536 / (registers_of(*code) * ((of_block + 31) / 32 * 32)),
                  shared == 0 ? most_blocks : shape.shared_of_multiprocessor / shared}));
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&] {
    Device& device = current_device();
    const std::optional<std::size_t> number = found_variable(symbol);
    if (!number) {
      return cudaErrorInvalidSymbol;
    }
    const b64 address = device.memory.variable(*number) + offset;
    std::uint8_t* const to = device.memory.find(address, bytes, variables()[*number].space);
    if (to == nullptr) {
      complain("cudaMemcpyToSymbolAsync: outside of the variable");
      return cudaErrorInvalidValue;
    }
    if (kind == cudaMemcpyDeviceToDevice) {
      const std::uint8_t* const source = on_device("cudaMemcpyToSymbolAsync", from, bytes);
      if (source == nullptr) {
        return cudaErrorInvalidValue;
      }
      device.constant_copies[address] = {address_of(from), bytes};
      return enter_work(stream, [=] { std::memcpy(to, source, bytes); });
    }
    // The library copies what is not pinned before it returns.
    const auto* const first = static_cast<const std::uint8_t*>(from);
    return enter_work(stream, [to, copy = std::vector<std::uint8_t>(first, first + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  const Lock lock(mutex());
  *count = static_cast<int>(library().options.devices);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  return call([&] {
    const Options& options = library().options;
    if (ordinal < 0 || static_cast<unsigned>(ordinal) >= options.devices) {
      return cudaErrorInvalidDevice;
    }
    switch (attribute) {
      case cudaDevAttrComputeMode:
        *value = cudaComputeModeDefault;
        break;
      case cudaDevAttrComputeCapabilityMajor:
        *value = options.architecture / 10;
        break;
      case cudaDevAttrComputeCapabilityMinor:
        *value = options.architecture % 10;
        break;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = static_cast<int>(shape_of(options.architecture).shared_of_block);
        break;
      case cudaDevAttrClockRate:
        *value = 1'000'000;
        break;
      default:
        complain("cudaDeviceGetAttribute: an attribute that is not known here");
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  return call([&] {
    std::memset(static_cast<void*>(properties), 0, sizeof *properties);
    constexpr char name[] = "device code on the host";
    std::memcpy(properties->name, name, sizeof name);
    const Options& options = library().options;
    properties->major = options.architecture / 10;
    properties->minor = options.architecture % 10;
    properties->multiProcessorCount = static_cast<int>(options.multiprocessors);
    properties->totalGlobalMem = options.memory_bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int ordinal) {
  const Lock lock(mutex());
  if (ordinal < 0 || static_cast<unsigned>(ordinal) >= library().options.devices) {
    return answer(cudaErrorInvalidDevice);
  }
  current = ordinal;
  return call([] { return cudaSuccess; });
}
cudaError_t cudaInitDevice(int ordinal, unsigned, unsigned) {
  return call([&] {
    return ordinal >= 0 && static_cast<unsigned>(ordinal) < library().options.devices
               ? cudaSuccess
               : cudaErrorInvalidDevice;
  });
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorMisalignedAddress:
      return "misaligned address";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorInvalidValue:
      return "invalid argument";
    default:
      return error == cudaSuccess ? "no error" : "another error";
  }
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return call([&] {
    const b64 address = current_device().memory.allocate(bytes);
    if (address == 0) {
      return cudaErrorMemoryAllocation;
    }
    *memory = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* memory) {
  return give_back([&] {
    return memory == nullptr ? cudaSuccess
                             : free_on_device(current_device(), static_cast<unsigned>(current),
                                              address_of(memory));
  });
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return call([&] {
    constexpr std::size_t page = 4096;
    void* const made = std::aligned_alloc(page, std::max(page, (bytes + page - 1) / page * page));
    if (made == nullptr) {
      return cudaErrorMemoryAllocation;
    }
    std::memset(made, fresh_byte, bytes);
    library().allocated[address_of(made)] = bytes;
    *memory = made;
    return cudaSuccess;
  });
}
cudaError_t cudaFreeHost(void* memory) {
  return give_back([&] {
    const auto found = library().allocated.find(address_of(memory));
    if (found == library().allocated.end()) {
      complain("cudaFreeHost: what was not allocated");
      return cudaErrorInvalidValue;
    }
    check_pending("cudaFreeHost", found->first, found->second);
    if (const auto* const host = static_cast<const std::uint8_t*>(memory);
        !is_wiped(host, found->second) && !is_untouched(host, found->second)) {
      complain("cudaFreeHost: memory that was not wiped");
    }
    library().allocated.erase(found);
    std::free(memory);
    return cudaSuccess;
  });
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  return call([&] {
    if (!library().options.pins) {
      return cudaErrorNotSupported;
    }
    for (const Pinned* const ranges : {&library().allocated, &library().registered}) {
      for (const auto& [begin, length] : *ranges) {
        if (Range{begin, length}.meets(address_of(memory), bytes)) {
          return cudaErrorHostMemoryAlreadyRegistered;
        }
      }
    }
    library().registered[address_of(memory)] = bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaHostUnregister(void* memory) {
  return give_back([&] {
    const auto found = library().registered.find(address_of(memory));
    if (found == library().registered.end()) {
      return cudaErrorHostMemoryNotRegistered;
    }
    check_pending("cudaHostUnregister", found->first, found->second);
    library().registered.erase(found);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call([&] {
    const bool to_host = kind == cudaMemcpyDeviceToHost;
    const bool from_host = kind == cudaMemcpyHostToDevice;
    auto* const target =
        to_host ? static_cast<std::uint8_t*>(to) : on_device("cudaMemcpyAsync", to, bytes);
    const auto* const source = from_host ? static_cast<const std::uint8_t*>(from)
                                         : on_device("cudaMemcpyAsync", from, bytes);
    const void* const host = to_host ? to : from;
    if (target == nullptr || source == nullptr ||
        ((to_host || from_host) && !is_pinned("cudaMemcpyAsync", host, bytes))) {
      return cudaErrorInvalidValue;
    }
    return enter_work(
        stream, [=] { std::memmove(target, source, bytes); },
        to_host || from_host ? Range{address_of(host), bytes} : Range{});
  });
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return call([&] {
    std::uint8_t* const target = on_device("cudaMemsetAsync", memory, bytes);
    return target == nullptr ? cudaErrorInvalidValue
                             : enter_work(stream, [=] { std::memset(target, value, bytes); });
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return call([&] {
    auto* const made = new Stream{static_cast<unsigned>(current)};
    library().streams.push_back(made);
    *stream = reinterpret_cast<cudaStream_t>(made);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return give_back([&] {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!stream->work.empty() && library().devices[stream->device].lost == cudaSuccess) {
      complain("cudaStreamDestroy: work that nobody waited for");
    }
    std::erase(library().streams, stream);
    delete stream;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call([&] {
    const Stream* const stream = stream_of(handle);
    if (stream == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    work_until(stream->device, [&] { return stream->work.empty(); });
    return current_device().lost;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call([&] {
    auto* const made = new Event;
    library().events.insert(made);
    *event = reinterpret_cast<cudaEvent_t>(made);
    return cudaSuccess;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return give_back([&] {
    auto* const event = reinterpret_cast<Event*>(handle);
    library().events.erase(event);
    delete event;
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  return call([&] {
    auto* const event = reinterpret_cast<Event*>(handle);
    return enter_work(stream, [event] { event->at = std::chrono::steady_clock::now(); });
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return call([&] {
    const auto* const first = reinterpret_cast<const Event*>(from);
    const auto* const second = reinterpret_cast<const Event*>(to);
    if (!first->at || !second->at) {
      return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(*second->at - *first->at).count();
    return cudaSuccess;
  });
}

}  // extern "C"
