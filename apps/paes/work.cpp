#include "paes/work.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "cuda/device_kernel.hpp"
#include "paes/cuda_device.hpp"
#include "paes/decimal.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

constexpr unsigned max_threads = 4096;
constexpr const char* device_names[] = {"auto", "cpu", "cuda", "hybrid"};

void check_device(const std::string& name) {
  if (std::find(std::begin(device_names), std::end(device_names), name) == std::end(device_names)) {
    throw Error(ErrorCode::usage, "device: unknown name '" + name + "'",
                "there are: auto, cpu, cuda, hybrid");
  }
}

void warn_about_kernel(const char* name, const char* warning) {
  if (warning != nullptr) {
    print_warning(std::string("kernel ") + name + ": " + warning);
  }
}

}  // namespace

std::unique_ptr<Executor> Choice::executor_for(std::optional<std::uint64_t> bytes) const {
  unsigned wanted = threads;
  if (device != nullptr) {
    wanted = when_busy == WhenBusy::decline ? threads + device->slots()
                                            : std::max(threads, device->slots());
  }
  const std::uint64_t pieces = bytes ? *bytes / grain_bytes + 1 : wanted;
  const auto useful = static_cast<unsigned>(std::min<std::uint64_t>(wanted, pieces));
  return make_executor(schedule, useful);
}

void WorkOptions::declare(CLI::App& app) {
  app.add_option("-T,--threads", threads_, "threads; 0 is every processor, the default")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(0U, max_threads));
  app.add_option("--schedule", schedule_, "how pieces go to threads: static or dynamic")
      ->type_name("NAME")
      ->capture_default_str();
  takes_bytes(
      app.add_option("--grain", grain_bytes_,
                     "bytes a thread takes at a time; 256KiB, with a device what that likes")
          ->type_name("BYTES"));
  app.add_option("--kernel", kernel_, "the kernel by name; paes devices lists them")
      ->type_name("NAME")
      ->capture_default_str();
  CLI::Option* const device =
      app.add_option("--device", device_, "who computes: auto, cpu, cuda, hybrid")
          ->type_name("NAME")
          ->capture_default_str();
  // Its name until version 1.0, not shown.
  app.add_option("--engine", device_, "--device")->group("")->excludes(device);
}

WorkChooser WorkOptions::choose(Notes notes) const {
  return choose(find_cipher_name("aes-256-gcm"), "", notes);
}

const cuda::DeviceKernel* WorkOptions::device_kernel_for(const CipherName& cipher) const {
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    if (kernel_ != kernel->name) {
      continue;
    }
    if (kernel->cipher != cipher.cipher || (cipher.is_gcm() && !kernel->has_gcm())) {
      throw Error(ErrorCode::usage, "kernel: '" + kernel_ + "' lacks " + cipher.name);
    }
    return kernel;
  }
  return nullptr;
}

WorkChooser WorkOptions::choose(const CipherName& cipher, const std::string& why_cpu_alone,
                                Notes notes) const {
  check_device(device_);
  if (device_ == "cuda" && !why_cpu_alone.empty()) {
    throw Error(ErrorCode::usage, "device: cuda cannot do it: " + why_cpu_alone,
                "leave out --device, and the CPU does the work");
  }
  const bool wants_device = device_ == "cuda" || device_ == "hybrid";
  const Schedule schedule = parse_schedule(schedule_);
  const std::size_t most = wants_device ? stream::max_device_grain_bytes : stream::max_grain_bytes;
  if (grain_bytes_ && (*grain_bytes_ == 0 || *grain_bytes_ > most)) {
    throw Error(ErrorCode::usage, "grain: " + std::to_string(*grain_bytes_) +
                                      " bytes is not 1 to " + std::to_string(most));
  }
  const cuda::DeviceKernel* const on_device = wants_device ? device_kernel_for(cipher) : nullptr;
  const Kernel& kernel = find_kernel(cipher, on_device != nullptr ? "auto" : kernel_);
  warn_about_kernel(kernel.name, kernel.warning);
  if (on_device != nullptr && why_cpu_alone.empty()) {
    warn_about_kernel(on_device->name, on_device->warning);
  }
  const unsigned threads = threads_ != 0 ? threads_ : default_threads_;
  WorkChooser chooser(kernel, schedule, make_executor(schedule, threads)->threads(), grain_bytes_,
                      cipher, notes);
  if (device_share_) {
    chooser.take_one_device(*device_share_);
  }
  if (why_cpu_alone.empty() && wants_device) {
    chooser.open(on_device != nullptr ? kernel_ : "",
                 device_ == "hybrid" ? WhenBusy::decline : WhenBusy::wait);
  } else if (why_cpu_alone.empty() && device_ == "auto") {
    chooser.allow_automatic();
  } else if (wants_device && notes != Notes::none) {
    print_note("paes: device: the CPU does all of the work: " + why_cpu_alone);
  }
  return chooser;
}

WorkChooser::WorkChooser(const Kernel& kernel, Schedule schedule, unsigned threads,
                         std::optional<std::size_t> grain_bytes, const CipherName& cipher,
                         Notes notes)
    : kernel_(kernel),
      schedule_(schedule),
      threads_(threads),
      grain_bytes_(grain_bytes),
      cipher_(cipher),
      notes_(notes) {}

Choice WorkChooser::cpu() const {
  return {kernel_, schedule_, threads_, grain_bytes_.value_or(stream::default_grain_bytes)};
}

Choice WorkChooser::with_device(WhenBusy when_busy) const {
  return {kernel_,  schedule_,
          threads_, std::min(grain_bytes_.value_or(device_->piece_bytes()), device_->piece_bytes()),
          device_,  when_busy};
}

void WorkChooser::open(const std::string& device_kernel, WhenBusy when_busy) {
  OpenedDevice opened = open_cuda_device(device_kernel, notes_, device_share_);
  if (!opened.has_device) {
    throw Error(ErrorCode::failure, "device: cuda is not available: " + opened.why);
  }
  device_ = std::move(opened.device);
  when_busy_ = when_busy;
}

Choice WorkChooser::for_input(std::optional<std::uint64_t> bytes) {
  if (is_automatic_ && bytes) {
    measure(*bytes);
  }
  return device_ == nullptr || device_->slots() == 0 ? cpu() : with_device(when_busy_);
}

}  // namespace paes::cli
