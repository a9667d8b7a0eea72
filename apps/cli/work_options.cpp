// SPDX-License-Identifier: Apache-2.0
#include "cli/work_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

#include "cipher/mode/gcm_blocks.hpp"
#include "cli/decimal.hpp"
#include "cli/help_page.hpp"
#include "cli/option_list.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "core/secret.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/cuda_runtime.hpp"
#include "cuda/device_kernel.hpp"
#include "exec/schedule/schedule.hpp"
#include "message/gcm_message.hpp"
#include "message/raw_key.hpp"
#include "stream/transfer/device_rates.hpp"

namespace paes::cli {

namespace {

// What parse_schedule lists, as the help shows choices.
std::string bars_between(std::string names) {
  for (std::size_t at = 0; (at = names.find(", ", at)) != std::string::npos;) {
    names.replace(at, 2, "|");
  }
  return names;
}

// What --device can be.
std::vector<std::string> device_choices() { return {"auto", "cpu", "cuda", "hybrid"}; }

void warn_about_kernel(const char* name, const char* warning) {
  if (warning != nullptr) {
    print_warning(std::string("kernel ") + name + ": " + warning);
  }
}

// --device auto measures once in a process whether a device pays, and puts off what costs time.
// Pipes and inputs below least_bytes stay with the CPU. For larger ones a few milliseconds tell how
// long the CPU would take. Only if that is more than least_cpu_seconds is a device opened and each
// way of sharing the work measured.
constexpr std::uint64_t least_bytes = std::uint64_t{64} << 20;
// A driver takes about a second to start; pinned memory and the trials take more. All of that is
// lost if the device turns out to be no faster.
constexpr double least_cpu_seconds = 5;
constexpr double measured_seconds = 0.01;
// Long enough to tell least_cpu_seconds from much less, and short beside the 20 ms that a file of
// 64 MiB may take.
constexpr double estimated_seconds = 0.002;
constexpr std::size_t cpu_piece_bytes = stream::default_piece_bytes;

// The cipher with a key that nothing else uses.
class Trial {
 public:
  Trial(const CipherName& cipher, const Kernel& kernel, DeviceUse use) {
    SecretBytes key(cipher.key_bytes);
    random_bytes(key);
    if (cipher.is_gcm()) {
      gcm_ = std::make_unique<GcmKey>(key, kernel, use);
      message_ =
          std::make_unique<GcmMessage>(*gcm_, Bytes(zero_).first(gcm::standard_iv_bytes), Bytes());
    } else {
      constexpr std::size_t sector_bytes = 4096;
      const bool has_units = row_of(*cipher.mode).has_units;
      raw_ = std::make_unique<RawKey>(cipher.cipher, *cipher.mode, key, kernel,
                                      has_units ? sector_bytes : 0, use);
    }
  }

  void operator()(MutableBytes piece) const {
    if (message_ != nullptr) {
      GhashPart part = message_->encrypt(0, piece, piece);
      wipe(part.value.bytes);
      return;
    }
    // CBC and CFB are parallel in this direction alone.
    RawPosition position = raw_->start(Bytes(zero_).first(raw_->iv_bytes()));
    raw_->crypt(Direction::decrypt, position, piece, piece, serial_executor(), piece.size());
  }

 private:
  std::uint8_t zero_[block_bytes] = {};
  std::unique_ptr<GcmKey> gcm_;
  std::unique_ptr<GcmMessage> message_;
  std::unique_ptr<RawKey> raw_;
};

}  // namespace

OpenedDevice open_cuda_device(const std::string& device_kernel, Notes notes,
                              std::optional<unsigned> share, bool copies_keystream) {
  OpenedDevice opened;
  std::unique_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(opened.why, share);
  if (runtime == nullptr) {
    return opened;
  }
  opened.has_device = true;
  opened.device = cuda::make_device(std::move(runtime),
                                    {.copies_keystream = copies_keystream,
                                     .kernel = device_kernel,
                                     .note =
                                         [notes](const std::string& note) {
                                           if (notes != Notes::none) {
                                             print_note("paes: " + note);
                                           }
                                         }},
                                    opened.why);
  return opened;
}

const char* name_of(const DeviceUse& use) noexcept {
  return use.device == nullptr                ? "cpu"
         : use.when_busy == WhenBusy::decline ? "hybrid"
                                              : use.device->name();
}

std::unique_ptr<Executor> WorkChooser::start_threads(stream::Work& work,
                                                     std::optional<std::uint64_t> bytes) const {
  unsigned wanted = plan_.threads;
  if (const DeviceUse& use = work.device_use; use.device != nullptr) {
    wanted = use.when_busy == WhenBusy::decline ? wanted + use.device->slots()
                                                : std::max(wanted, use.device->slots());
  }
  const std::uint64_t pieces = bytes ? *bytes / work.piece_bytes + 1 : wanted;
  auto executor =
      make_executor(plan_.schedule, static_cast<unsigned>(std::min<std::uint64_t>(wanted, pieces)));
  executor->start();
  work.executor = *executor;
  return executor;
}

void WorkOptions::declare(CLI::App& app) {
  const OptionGroup work(app, work_group);
  app.add_option("-T,--threads", threads_, "threads; 0 is every processor, the default")
      ->type_name("N")
      ->check(decimal())
      ->check(CLI::Range(0U, max_threads));
  app.add_option("--schedule", schedule_, "how pieces go to threads")
      ->type_name(bars_between(schedule_names()))
      ->capture_default_str();
  takes_bytes(app.add_option("--piece", piece_bytes_,
                             "bytes per piece (default: 256KiB, or what the device prefers)")
                  ->type_name("BYTES"));
  app.add_option("--kernel", kernel_, "the implementation of the cipher; paes devices lists them")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--device", device_, "what computes: processors, GPUs or both")
      ->type_name(join_choices(device_choices()))
      ->capture_default_str();
}

WorkChooser WorkOptions::choose(const std::string& why_cpu_alone, Notes notes) const {
  return choose(find_cipher_name("aes-256-gcm"), why_cpu_alone, notes);
}

const cuda::DeviceKernel* WorkOptions::device_kernel_for(const CipherName& cipher) const {
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    if (kernel_ != kernel->name) {
      continue;
    }
    refuse(kernel->cipher != cipher.cipher || (cipher.is_gcm() && !kernel->has_gcm()),
           "kernel: '" + kernel_ + "' lacks " + cipher.name);
    return kernel;
  }
  return nullptr;
}

WorkChooser WorkOptions::choose(const CipherName& cipher, const std::string& why_cpu_alone,
                                Notes notes) const {
  const bool wants_device = device_ == "cuda" || device_ == "hybrid";
  const std::vector<std::string> devices = device_choices();
  refuse(std::find(devices.begin(), devices.end(), device_) == devices.end(),
         "device: unknown name '" + device_ + "'",
         fmt::format("there are: {}", fmt::join(devices, ", ")));
  refuse(device_ == "cuda" && !why_cpu_alone.empty(), "device: cuda cannot do it: " + why_cpu_alone,
         "leave out --device, and the CPU does the work");
  const Schedule schedule = parse_schedule(schedule_);
  const std::size_t most = wants_device ? stream::max_device_piece_bytes : stream::max_piece_bytes;
  refuse(piece_bytes_ && (*piece_bytes_ == 0 || *piece_bytes_ > most),
         fmt::format("piece: {} bytes is not 1 to {}", piece_bytes_.value_or(0), most));
  const cuda::DeviceKernel* const on_device = wants_device ? device_kernel_for(cipher) : nullptr;
  const Kernel& kernel = find_kernel(cipher, on_device != nullptr ? "auto" : kernel_);
  warn_about_kernel(kernel.name, kernel.warning);
  if (on_device != nullptr && why_cpu_alone.empty()) {
    warn_about_kernel(on_device->name, on_device->warning);
  }
  const unsigned threads = threads_ != 0 ? threads_ : default_threads_;
  WorkChooser chooser({.kernel = kernel,
                       .schedule = schedule,
                       .threads = make_executor(schedule, threads)->threads(),
                       .piece_bytes = piece_bytes_,
                       .cipher = cipher,
                       .notes = notes,
                       .device_share = device_share_,
                       .is_automatic = why_cpu_alone.empty() && device_ == "auto"});
  if (wants_device && why_cpu_alone.empty()) {
    chooser.open(on_device != nullptr ? kernel_ : "",
                 device_ == "hybrid" ? WhenBusy::decline : WhenBusy::wait);
  } else if (wants_device && notes != Notes::none) {
    print_note("paes: device: the CPU does all of the work: " + why_cpu_alone);
  }
  return chooser;
}

stream::Work WorkChooser::cpu() const {
  return {.kernel = plan_.kernel,
          .piece_bytes = plan_.piece_bytes.value_or(stream::default_piece_bytes),
          .cancel = &cancel()};
}

stream::Work WorkChooser::with_device(WhenBusy when_busy) const {
  stream::Work work = cpu();
  work.piece_bytes =
      std::min(plan_.piece_bytes.value_or(device_->piece_bytes()), device_->piece_bytes());
  work.device_use = {device_.get(), when_busy};
  return work;
}

void WorkChooser::open(const std::string& device_kernel, WhenBusy when_busy) {
  OpenedDevice opened = open_cuda_device(device_kernel, plan_.notes, plan_.device_share);
  if (!opened.has_device) {
    throw Error(ErrorCode::failure, "device: cuda is not available: " + opened.why);
  }
  device_ = std::move(opened.device);
  when_busy_ = when_busy;
}

stream::Work WorkChooser::for_input(std::optional<std::uint64_t> bytes) {
  if (plan_.is_automatic && bytes) {
    measure(*bytes);
  }
  return device_ == nullptr || device_->slots() == 0 ? cpu() : with_device(when_busy_);
}

double WorkChooser::rate_of(stream::Work work, std::size_t piece_bytes, double seconds) const {
  const Trial trial(plan_.cipher, plan_.kernel, work.device_use);
  const auto executor = start_threads(work, std::nullopt);
  return stream::measure_rate([&](MutableBytes piece) { trial(piece); }, *executor, piece_bytes,
                              work.device_use.device, seconds);
}

// Sets device_ to the device if it was measured to be faster than the CPU, else to null.
void WorkChooser::measure_device(stream::Rates& rates) {
  OpenedDevice opened = open_cuda_device("", plan_.notes, plan_.device_share);
  device_ = std::move(opened.device);
  if (device_ == nullptr) {
    throw Error(ErrorCode::failure, "cuda is not available: " + opened.why);
  }
  rates.cpu = rate_of(cpu(), cpu_piece_bytes, measured_seconds);
  const auto rate_with = [&](WhenBusy when_busy) {
    return rate_of(with_device(when_busy), device_->piece_bytes(), measured_seconds);
  };
  rates.device = rate_with(WhenBusy::wait);
  // A slow CPU takes too long to try pieces of a device's size, and it would add little.
  if (rates.cpu > rates.device / 8) {
    rates.hybrid = rate_with(WhenBusy::decline);
  }
  const stream::WorkShare best = best_of(rates);
  when_busy_ = best == stream::WorkShare::hybrid ? WhenBusy::decline : WhenBusy::wait;
  if (best == stream::WorkShare::cpu) {
    device_ = nullptr;
  } else if (plan_.cipher.mode == Mode::ctr) {
    // For CTR, also try a device that copies keystream: less to copy, more for the processor to do.
    std::unique_ptr<Device> copying =
        std::exchange(device_, open_cuda_device("", plan_.notes, plan_.device_share, true).device);
    const double copied = std::max(rates.device, rates.hybrid);
    if (device_ == nullptr || stream::best_of({.cpu = copied, .device = rate_with(when_busy_)}) ==
                                  stream::WorkShare::cpu) {
      device_ = std::move(copying);
    }
  }
}

void WorkChooser::measure(std::uint64_t bytes) {
  if (bytes < least_bytes) {
    return;
  }
  if (estimated_rate_ == 0) {
    estimated_rate_ = rate_of(cpu(), cpu_piece_bytes, estimated_seconds);
  }
  if (static_cast<double>(bytes) < least_cpu_seconds * estimated_rate_) {
    return;
  }
  plan_.is_automatic = false;  // once is enough
  stream::Rates rates;
  std::string found;
  try {
    measure_device(rates);
    found = fmt::format("cpu {:.2f} GB/s, cuda {:.2f}, hybrid {:.2f}", rates.cpu / 1e9,
                        rates.device / 1e9, rates.hybrid / 1e9);
  } catch (const Error& error) {
    device_ = nullptr;
    found = std::string("cpu, because ") + error.what();
  }
  if (plan_.notes == Notes::all) {
    print_note("paes: device: " + found);
  }
}

}  // namespace paes::cli
