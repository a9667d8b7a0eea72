#include "paes/engine.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "paes/decimal.hpp"
#include "paes/report.hpp"

namespace paes::cli {

namespace {

constexpr unsigned max_threads = 4096;

void check_engine(const std::string& name) {
  if (name == "auto" || name == "cpu") {
    return;
  }
  const bool known = name == "cuda" || name == "hybrid";
  throw Error(
      ErrorCode::usage,
      known ? "engine: '" + name + "' is not in this build" : "engine: unknown name '" + name + "'",
      "this build has: auto, cpu");
}

}  // namespace

std::unique_ptr<Executor> Engine::executor_for(std::optional<std::uint64_t> bytes) const {
  const std::uint64_t pieces = bytes ? *bytes / grain_bytes + 1 : threads;
  const auto useful = static_cast<unsigned>(std::min<std::uint64_t>(threads, pieces));
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
  app.add_option("--grain", grain_bytes_, "bytes a thread takes at a time")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(true))
      ->transform(decimal())
      ->default_str("256KiB");
  app.add_option("--kernel", kernel_, "the kernel by name; paes devices lists them")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--engine", engine_, "auto or cpu")->type_name("NAME")->capture_default_str();
}

Engine EngineOptions::choose() const { return choose(find_cipher_name("aes-256-gcm")); }

Engine EngineOptions::choose(const CipherName& cipher) const {
  check_engine(engine_);
  const Schedule schedule = parse_schedule(schedule_);
  if (grain_bytes_ == 0 || grain_bytes_ > stream::max_grain_bytes) {
    throw Error(ErrorCode::usage, "grain: " + std::to_string(grain_bytes_) + " bytes is not 1 to " +
                                      std::to_string(stream::max_grain_bytes));
  }
  const Kernel& kernel = find_kernel(cipher, kernel_);
  if (kernel.warning != nullptr) {
    print_warning(std::string("kernel ") + kernel.name + ": " + kernel.warning);
  }
  return {kernel, schedule, make_executor(schedule, threads_)->threads(), grain_bytes_};
}

}  // namespace paes::cli
