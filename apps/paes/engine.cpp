#include "paes/engine.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "cuda/device_kernel.hpp"
#include "paes/decimal.hpp"
#include "paes/engine_cuda.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

constexpr unsigned max_threads = 4096;
constexpr const char* engine_names[] = {"auto", "cpu", "cuda", "hybrid"};

void check_engine(const std::string& name) {
  if (std::find(std::begin(engine_names), std::end(engine_names), name) == std::end(engine_names)) {
    throw Error(ErrorCode::usage, "engine: unknown name '" + name + "'",
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
  if (engine != nullptr) {
    wanted = when_busy == WhenBusy::decline ? threads + engine->slots()
                                            : std::max(threads, engine->slots());
  }
  const std::uint64_t pieces = bytes ? *bytes / grain_bytes + 1 : wanted;
  const auto useful = static_cast<unsigned>(std::min<std::uint64_t>(wanted, pieces));
  return make_executor(schedule, useful);
}

void EngineOptions::declare(CLI::App& app) {
  app.add_option("-T,--threads", threads_, "threads; 0 is every processor, the default")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(0U, max_threads));
  app.add_option("--schedule", schedule_, "how pieces go to threads: static or dynamic")
      ->type_name("NAME")
      ->capture_default_str();
  takes_bytes(
      app.add_option("--grain", grain_bytes_,
                     "bytes a thread takes at a time; 256KiB, with an engine what that likes")
          ->type_name("BYTES"));
  app.add_option("--kernel", kernel_, "the kernel by name; paes devices lists them")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--engine", engine_, "who computes: auto, cpu, cuda, hybrid")
      ->type_name("NAME")
      ->capture_default_str();
}

Engines EngineOptions::choose(Notes notes) const {
  return choose(find_cipher_name("aes-256-gcm"), "", notes);
}

const cuda::DeviceKernel* EngineOptions::device_kernel_for(const CipherName& cipher) const {
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

Engines EngineOptions::choose(const CipherName& cipher, const std::string& why_cpu_alone,
                              Notes notes) const {
  check_engine(engine_);
  if (engine_ == "cuda" && !why_cpu_alone.empty()) {
    throw Error(ErrorCode::usage, "engine: cuda cannot do it: " + why_cpu_alone,
                "leave out --engine, and the CPU does the work");
  }
  const bool wants_engine = engine_ == "cuda" || engine_ == "hybrid";
  const Schedule schedule = parse_schedule(schedule_);
  const std::size_t most = wants_engine ? stream::max_engine_grain_bytes : stream::max_grain_bytes;
  if (grain_bytes_ && (*grain_bytes_ == 0 || *grain_bytes_ > most)) {
    throw Error(ErrorCode::usage, "grain: " + std::to_string(*grain_bytes_) +
                                      " bytes is not 1 to " + std::to_string(most));
  }
  const cuda::DeviceKernel* const on_device = wants_engine ? device_kernel_for(cipher) : nullptr;
  const Kernel& kernel = find_kernel(cipher, on_device != nullptr ? "auto" : kernel_);
  warn_about_kernel(kernel.name, kernel.warning);
  if (on_device != nullptr && why_cpu_alone.empty()) {
    warn_about_kernel(on_device->name, on_device->warning);
  }
  const unsigned threads = threads_ != 0 ? threads_ : default_threads_;
  Engines engines(kernel, schedule, make_executor(schedule, threads)->threads(), grain_bytes_,
                  cipher, notes);
  if (device_share_) {
    engines.take_one_device(*device_share_);
  }
  if (why_cpu_alone.empty() && wants_engine) {
    engines.open(on_device != nullptr ? kernel_ : "",
                 engine_ == "hybrid" ? WhenBusy::decline : WhenBusy::wait);
  } else if (why_cpu_alone.empty() && engine_ == "auto") {
    engines.allow_automatic();
  } else if (wants_engine && notes != Notes::none) {
    print_note("paes: engine: the CPU does all of the work: " + why_cpu_alone);
  }
  return engines;
}

Engines::Engines(const Kernel& kernel, Schedule schedule, unsigned threads,
                 std::optional<std::size_t> grain_bytes, const CipherName& cipher, Notes notes)
    : kernel_(kernel),
      schedule_(schedule),
      threads_(threads),
      grain_bytes_(grain_bytes),
      cipher_(cipher),
      notes_(notes) {}

Choice Engines::cpu() const {
  return {kernel_, schedule_, threads_, grain_bytes_.value_or(stream::default_grain_bytes)};
}

Choice Engines::with_engine(WhenBusy when_busy) const {
  return {kernel_,  schedule_,
          threads_, std::min(grain_bytes_.value_or(engine_->piece_bytes()), engine_->piece_bytes()),
          engine_,  when_busy};
}

void Engines::open(const std::string& device_kernel, WhenBusy when_busy) {
  CudaEngine opened = open_cuda_engine(device_kernel, notes_, device_share_);
  if (!opened.has_device) {
    throw Error(ErrorCode::failure, "engine: cuda is not available: " + opened.why);
  }
  engine_ = std::move(opened.engine);
  when_busy_ = when_busy;
}

Choice Engines::for_input(std::optional<std::uint64_t> bytes) {
  if (is_automatic_ && bytes) {
    measure(*bytes);
  }
  return engine_ == nullptr || engine_->slots() == 0 ? cpu() : with_engine(when_busy_);
}

}  // namespace paes::cli
