// SPDX-License-Identifier: Apache-2.0
#include "paes-mpi-bench/runs.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "cipher/mode/gcm_blocks.hpp"
#include "cli/decimal.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "cli/work_options.hpp"
#include "core/secret.hpp"
#include "cuda/cuda_runtime.hpp"
#include "cuda/device_kernel.hpp"
#include "exec/schedule/schedule.hpp"
#include "kernel/registry.hpp"
#include "message/gcm_message.hpp"
#include "mpi/together.hpp"
#include "paes-bench/bench_report.hpp"
#include "paes-bench/statistics.hpp"
#include "paes-mpi-bench/job_machines.hpp"
#include "paes-mpi/ranks.hpp"
#include "stream/container/container_file.hpp"

namespace paes::cli {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Collective. From the options or this rank's share, and at least one for each call that the device
// serves at a time.
unsigned rank_threads(const RankOptions& options, const RankDevice& device) {
  const unsigned share = own_processors();
  const unsigned least = device.device != nullptr ? device.device->slots() : 1;
  return std::max(options.threads != 0 ? options.threads : share, least);
}

std::uint64_t word_at(std::uint64_t index) { return (index + 1) * 0x9e3779b97f4a7c15U; }

// The device's kernel of this name, or for "auto" its best one for the cipher.
const cuda::DeviceKernel& find_device_kernel(const CipherName& cipher, const std::string& name) {
  for (const cuda::DeviceKernel* const kernel : cuda::device_kernels()) {
    if ((name == "auto" || name == kernel->name) && kernel->cipher == cipher.cipher &&
        (!cipher.is_gcm() || kernel->has_gcm())) {
      return *kernel;
    }
  }
  throw Error(ErrorCode::usage, "kernel: no device kernel '" + name + "' has " + cipher.name);
}

// A key that the device does not take is the processor's, whose time must not count as the
// device's.
void require_bound(bool is_bound) {
  if (!is_bound) {
    throw Error(ErrorCode::failure, "device: cuda took no key");
  }
}

}  // namespace

void RankOptions::declare_ranks(CLI::App& app) {
  app.add_option("-T,--threads", threads,
                 "threads of each rank; 0, the default, is its share of the processors")
      ->check(decimal())
      ->check(CLI::Range(0U, 4096U));
  app.add_option("--runs", runs, "runs (the default is 5)")
      ->check(decimal())
      ->check(CLI::Range(1U, 1000U));
  app.add_flag("--json", json, "print JSON (bench/schema/bench-mpi.schema.json)");
}

void RunOptions::declare_runs(CLI::App& app, const char* about_bytes) {
  takes_bytes(app.add_option("--bytes", bytes, about_bytes)->delimiter(','));
  app.add_option("--kernel", kernel, "the kernel by name")->capture_default_str();
  declare_ranks(app);
}

void MemoryOptions::declare(CLI::App& app, const char* about_bytes) {
  app.add_option("--cipher", cipher,
                 "aes-256-gcm (the default) or another whose encryption is parallel");
  app.add_option("--device", device,
                 "cpu (the default) or cuda: each rank has a GPU, and --kernel names its kernel")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  declare_runs(app, about_bytes);
}

double seconds_of_all(const std::function<void()>& work) {
  mpi::together(ranks(), [] { cancel().check(); });
  // Whoever waits long for a barrier naps. At the second barrier all ranks are awake.
  ranks().barrier();
  ranks().barrier();
  const Clock::time_point start = Clock::now();
  work();
  ranks().barrier();
  // A rank may leave a barrier late, after others have begun, where it has no core of its own. So
  // the time is that of the rank that began first, which is the longest.
  const std::chrono::nanoseconds own = Clock::now() - start;
  return std::chrono::duration<double>(std::chrono::nanoseconds(-ranks().least(-own.count())))
      .count();
}

ordered_json summary_of(const std::vector<double>& seconds) {
  const auto [min, max] = std::minmax_element(seconds.begin(), seconds.end());
  return {{"median", median(seconds)}, {"min", *min}, {"max", *max}};
}

double gb_per_s(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / 1e9 / seconds;
}

void print_rows(const RankOptions& options, const char* command,
                const std::vector<ordered_json>& rows,
                const std::function<std::string(const ordered_json& row)>& line,
                const RankDevice& device) {
  const JobMachines job = find_job_machines(rank_threads(options, device), device.properties.uuid);
  on_first([&] {
    if (options.json) {
      ordered_json mpi = {{"library", mpi::Communicator::library()},
                          {"ranks", ranks().ranks()},
                          {"hosts", job.hosts},
                          {"machines", job.machines},
                          {"cores", job.cores},
                          {"oversubscribed", job.is_oversubscribed}};
      if (device.device != nullptr) {
        mpi["devices"] = {{"count", job.devices},
                          {"name", device.properties.name},
                          {"memory_bytes", device.properties.memory_bytes}};
      }
      print_json(
          {{"command", command}, {"machine", describe_machine()}, {"mpi", mpi}, {"results", rows}});
      return;
    }
    std::string text = machine_line();
    for (const ordered_json& row : rows) {
      text += line(row) + "\n";
    }
    print_result(text);
  });
}

RankDevice open_rank_device(const MemoryOptions& options) {
  RankDevice opened;
  if (options.device == "cpu") {
    return opened;
  }
  mpi::together(ranks(), [&] {
    const cuda::DeviceKernel& kernel =
        find_device_kernel(find_cipher_name(options.cipher), options.kernel);
    OpenedDevice found = open_cuda_device(kernel.name, Notes::none, ranks().local_rank());
    if (found.device == nullptr) {
      throw Error(ErrorCode::failure, "device: cuda is not available: " + found.why);
    }
    opened.device = std::move(found.device);
    std::string why;
    const std::vector<cuda::DeviceProperties> devices = cuda::list_cuda_devices(why);
    if (devices.empty()) {
      throw Error(ErrorCode::failure, "device: cuda is not available: " + why);
    }
    opened.properties = devices.at(ranks().local_rank() % devices.size());
  });
  return opened;
}

std::unique_ptr<Executor> make_rank_executor(const RankOptions& options, const RankDevice& device) {
  const unsigned threads = rank_threads(options, device);
  std::unique_ptr<Executor> executor;
  mpi::together(ranks(), [&] {
    executor = make_executor(Schedule::omp_dynamic, threads);
    executor->start();
  });
  return executor;
}

MemoryCipher::MemoryCipher(const MemoryOptions& options, const RankDevice& device,
                           std::uint64_t message_bytes)
    : name_([&]() -> const CipherName& {
        const CipherName* found = nullptr;
        mpi::together(ranks(), [&] { found = &find_cipher_name(options.cipher); });
        return *found;
      }()) {
  on_first([&] {
    secrets_.key = SecretBytes(name_.key_bytes);
    random_bytes(secrets_.key);
    secrets_.iv.resize(name_.iv_bytes());
    random_bytes(secrets_.iv);
  });
  mpi::share(ranks(), secrets_);
  mpi::together(ranks(), [&] {
    const DeviceUse use = {device.device.get(), WhenBusy::wait};
    if (use.device != nullptr) {
      device_kernel_ = &find_device_kernel(name_, options.kernel);
      piece_bytes_ = use.device->piece_bytes();
    }
    kernel_ = &find_kernel(name_, use.device != nullptr ? "auto" : options.kernel);
    if (name_.is_gcm()) {
      if (message_bytes > gcm::max_plaintext_bytes) {
        throw Error(ErrorCode::usage, "bytes: more than a message of GCM may have (64 GiB)");
      }
      gcm_.emplace(secrets_.key, *kernel_, use);
      require_bound(use.device == nullptr || gcm_->has_device());
      return;
    }
    raw_.emplace(name_.cipher, *name_.mode, secrets_.key, *kernel_,
                 row_of(*name_.mode).has_units ? page_bytes : 0, use);
    require_bound(use.device == nullptr ||
                  (raw_->has_device(Direction::encrypt) && raw_->has_device(Direction::decrypt)));
    unit_bytes_ = raw_->unit_bytes() != 0 ? page_bytes : block_bytes;
    if (!raw_->is_parallel(Direction::encrypt)) {
      throw Error(ErrorCode::usage,
                  "cipher: " + name_.name + " encrypts one block after the other");
    }
  });
}

void MemoryCipher::crypt(Direction direction, std::uint64_t offset, MutableBytes data,
                         const Executor& executor) const {
  if (raw_) {
    RawPosition position = raw_->at(secrets_.iv, offset, {});
    raw_->crypt(direction, position, data, data, executor, piece_bytes_);
    return;
  }
  const GcmMessage message(*gcm_, secrets_.iv, {});
  executor.for_each((data.size() + piece_bytes_ - 1) / piece_bytes_, [&](std::size_t index) {
    const std::size_t first = index * piece_bytes_;
    const MutableBytes piece = data.subspan(first, std::min(piece_bytes_, data.size() - first));
    GhashPart part = direction == Direction::encrypt
                         ? message.encrypt(offset + first, piece, piece)
                         : message.decrypt(offset + first, piece, piece);
    wipe(part.value.bytes);
  });
}

const char* MemoryCipher::kernel_name() const noexcept {
  return device_kernel_ != nullptr ? device_kernel_->name : kernel_->name;
}

std::uint64_t MemoryCipher::whole_units(std::uint64_t bytes) const noexcept {
  return std::max<std::uint64_t>((bytes + unit_bytes_ - 1) / unit_bytes_, 1) * unit_bytes_;
}

ordered_json memory_row(const MemoryOptions& options, const MemoryCipher& cipher,
                        const Executor& executor, std::uint64_t bytes) {
  return {{"cipher", options.cipher},
          {"kernel", cipher.kernel_name()},
          {"threads", executor.threads()},
          {"bytes", bytes},
          {"runs", options.runs}};
}

std::string name_of(const ordered_json& row) {
  return fmt::format("{} {}, {} threads a rank, {}", row["cipher"].get<std::string>(),
                     row["kernel"].get<std::string>(), row["threads"].get<unsigned>(),
                     exact_bytes(row["bytes"].get<std::uint64_t>()));
}

void fill_pattern(std::uint64_t offset, MutableBytes data) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at((offset + at) / sizeof word);
    std::memcpy(data.data() + at, &word, sizeof word);
  }
}

bool is_pattern(std::uint64_t offset, Bytes data) {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at((offset + at) / sizeof word);
    if (std::memcmp(data.data() + at, &word, sizeof word) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace paes::cli
