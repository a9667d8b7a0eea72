// SPDX-License-Identifier: Apache-2.0
// Measures the CUDA device, beside what the device allows, with data resident on the device and
// from host to host. Needs neither libcrypto nor a JSON library. `./dev gpu bench` runs it.
//
//   gpu_bench [--seconds N] [--json FILE] [--study E1]... [--full]
//
// --study runs only that of the lab's experiments, and may be repeated; --full adds the studies'
// sizes. If not everything fits into N seconds, it says what it left out, and the exit code is 3.
// With PAES_EMULATED_DEVICE set, the device is emulated on the host: that tests this program and
// measures nothing.
#include <cstdlib>
#include <exception>
#include <thread>

#include "exec/thread_pool.hpp"
#include "gpu/gpu_session.hpp"
#include "gpu/studies.hpp"
#include "kernel/features.hpp"
#include "tested_device_kernels.hpp"

namespace paes::bench {
namespace {

// The emulation does its work in wait().
class HostStopwatch final : public cuda::DeviceStopwatch {
 public:
  void start(cuda::Stream) override { start_ = std::chrono::steady_clock::now(); }
  void stop(cuda::Stream) override {}
  [[nodiscard]] double seconds() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

// The emulation takes pinned memory alone, as the runtime does. So these do by hand what a driver
// does: they carry the data through pinned memory, one part after the other.
class StagedCopies final : public cuda::PageableCopies {
 public:
  explicit StagedCopies(cuda::Runtime& runtime)
      : runtime_(runtime), staging_(runtime, {}, Memory::Place::host, std::size_t{1} << 9) {}

  void in(cuda::Stream stream, void* device_memory, const void* host, std::size_t bytes) override {
    for_each_part(bytes, [&](std::size_t at, std::size_t part) {
      std::memcpy(staging_.data(), static_cast<const std::uint8_t*>(host) + at, part);
      runtime_.copy_in(stream, static_cast<std::uint8_t*>(device_memory) + at, staging_.data(),
                       part);
      runtime_.wait(stream);
    });
  }
  void out(cuda::Stream stream, void* host, const void* device_memory, std::size_t bytes) override {
    for_each_part(bytes, [&](std::size_t at, std::size_t part) {
      runtime_.copy_out(stream, staging_.data(),
                        static_cast<const std::uint8_t*>(device_memory) + at, part);
      runtime_.wait(stream);
      std::memcpy(static_cast<std::uint8_t*>(host) + at, staging_.data(), part);
    });
  }

 private:
  template <class Body>
  void for_each_part(std::size_t bytes, const Body& body) const {
    for (std::size_t at = 0; at < bytes; at += staging_.size()) {
      body(at, std::min(staging_.size(), bytes - at));
    }
  }

  cuda::Runtime& runtime_;
  Memory staging_;
};

}  // namespace

GpuSession::GpuSession(cuda::Runtime& device, bool emulated, double seconds, std::size_t text_bytes)
    : runtime(device),
      is_emulated(emulated),
      stream(device.open_stream(0)),
      end_(std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(seconds))) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  processor = make_thread_pool(cores);
  const cuda::DeviceProperties& described = device.devices()[0];
  const cuda::DeviceFacts facts =
      emulated ? cuda::DeviceFacts{1e9, 0, 0} : cuda::facts_of(described.ordinal);
  if (emulated) {
    stopwatch = std::make_unique<HostStopwatch>();
    pageable = std::make_unique<StagedCopies>(runtime);
  } else {
    stopwatch = cuda::make_stopwatch(described.ordinal);
    pageable = cuda::make_pageable_copies(described.ordinal);
  }
  report.device = described.name;
  report.architecture = described.architecture;
  report.multiprocessors = described.shape.multiprocessors;
  report.clock_hz = facts.clock_hz;
  report.memory_bytes = described.memory_bytes;
  report.shared_bytes = described.shape.shared_bytes;
  report.driver = facts.driver;
  report.toolkit = facts.toolkit;
  report.processor = machine_name();
  report.threads = cores;
  report.is_emulated = emulated;
  text = host_memory(emulated ? std::size_t{1} << 18 : text_bytes);
  const test::RawSubject source = {Cipher::aes, Mode::ctr, Direction::encrypt, 16};
  RawPosition position{CounterBlock{}};
  const MutableBytes whole(text->data(), text->size());
  std::memset(text->data(), 0, text->size());
  test::processor_key(source).crypt(Direction::encrypt, position, whole, whole, *processor,
                                    std::size_t{1} << 20);
}

namespace {

struct Options {
  double seconds = 150;
  const char* json = nullptr;
  std::vector<std::string> studies;  // these alone; if there are none, everything
  bool is_full = false;
};

// The whole of `report` in the place of what `name` had: whoever ends this program finds what it
// had measured until then.
void write(const Report& report, const std::string& name) {
  const std::string unfinished = name + ".new";
  std::FILE* const file = std::fopen(unfinished.c_str(), "w");
  if (file == nullptr) {
    throw Error(ErrorCode::failure, "cannot write " + unfinished);
  }
  write_json(report, file);
  if (std::fclose(file) != 0 || std::rename(unfinished.c_str(), name.c_str()) != 0) {
    throw Error(ErrorCode::failure, "cannot write " + name);
  }
}

int run(const Options& options) {
  // Only E10 of the studies is about long texts.
  const bool is_short =
      !options.studies.empty() &&
      std::find(options.studies.begin(), options.studies.end(), "E10") == options.studies.end();
  GpuSession session(test::runtime_under_test(), test::is_device_emulated(), options.seconds,
                     std::size_t{1} << (is_short ? 28 : 30));
  const Report& report = session.report;
  if (options.json != nullptr) {
    session.keep = [&] { write(report, options.json); };
  }
  std::printf("device: %s, %s, %u multiprocessors at %.0f MHz%s\n", report.device.c_str(),
              report.architecture.c_str(), report.multiprocessors, report.clock_hz / 1e6,
              report.is_emulated ? "; EMULATED, its figures mean nothing" : "");
  if (options.studies.empty()) {
    measure_resident(session, true);
    session.keep();
    measure_host(session);
    session.keep();
    measure_studies(session, {}, !options.is_full);
    measure_resident(session, false);
  } else {
    measure_studies(session, options.studies, !options.is_full);
  }
  for (const std::string& what : report.left_out) {
    std::printf("left out: %s\n", what.c_str());
  }
  session.keep();
  if (report.failures != 0 || (report.resident.empty() && report.studies.empty())) {
    std::printf("%u rows FAILED\n", report.failures);
    return 1;
  }
  return report.left_out.empty() ? 0 : 3;
}

}  // namespace
}  // namespace paes::bench

int main(int argc, char** argv) {
  paes::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) {
      options.seconds = std::atof(argv[++i]);
    } else if (argument == "--json" && i + 1 < argc) {
      options.json = argv[++i];
    } else if (argument == "--study" && i + 1 < argc) {
      options.studies.emplace_back(argv[++i]);
    } else if (argument == "--full") {
      options.is_full = true;
    } else {
      std::fprintf(stderr,
                   "usage: gpu_bench [--seconds N] [--json FILE] [--study E1]... [--full]\n");
      return 2;
    }
  }
  try {
    return paes::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 1;
  }
}
