// SPDX-License-Identifier: Apache-2.0
// One run of gpu_bench: the device, the text in pinned memory, the clock that says when to stop,
// and the results.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "core/secret.hpp"
#include "gpu/checks.hpp"
#include "gpu/gpu_report.hpp"
#include "gpu/pageable_copies.hpp"
#include "gpu/stopwatch.hpp"

namespace paes::bench {

// Pinned memory of the host, or memory of device 0. Wiped before it is freed.
class Memory {
 public:
  enum class Place { host, device };
  Memory(cuda::Runtime& runtime, cuda::Stream stream, Place place, std::size_t bytes)
      : runtime_(runtime), stream_(stream), place_(place), bytes_(bytes) {
    data_ = static_cast<std::uint8_t*>(place == Place::host ? runtime.allocate_pinned(bytes)
                                                            : runtime.allocate(0, bytes));
  }
  ~Memory() {
    if (place_ == Place::host) {
      wipe(data_, bytes_);
      runtime_.free_pinned(data_);
      return;
    }
    try {
      runtime_.fill_zero(stream_, data_, bytes_);
      runtime_.wait(stream_);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    runtime_.free(0, data_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] Block* blocks() const { return reinterpret_cast<Block*>(data_); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] Bytes bytes() const { return {data_, bytes_}; }

 private:
  cuda::Runtime& runtime_;
  cuda::Stream stream_;
  Place place_;
  std::size_t bytes_;
  std::uint8_t* data_;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class GpuSession {
 public:
  GpuSession(cuda::Runtime& device, bool emulated, double seconds, std::size_t text_bytes);
  ~GpuSession() { runtime.close_stream(stream); }
  GpuSession(const GpuSession&) = delete;
  GpuSession& operator=(const GpuSession&) = delete;

  // False once the time is up; notes that `what` is left out.
  [[nodiscard]] bool has_time_for(const std::string& what) {
    if (std::chrono::steady_clock::now() < end_) {
      return true;
    }
    report.left_out.push_back(what);
    return false;
  }
  [[nodiscard]] std::unique_ptr<Memory> host_memory(std::size_t bytes) {
    return std::make_unique<Memory>(runtime, stream, Memory::Place::host, bytes);
  }
  [[nodiscard]] std::unique_ptr<Memory> device_memory(std::size_t bytes) {
    return std::make_unique<Memory>(runtime, stream, Memory::Place::device, bytes);
  }
  void copy_in(const Memory& to, const Memory& from, std::size_t bytes) {
    runtime.copy_in(stream, to.data(), from.data(), bytes);
    runtime.wait(stream);
  }
  void copy_out(const Memory& to, const Memory& from, std::size_t bytes) {
    runtime.copy_out(stream, to.data(), from.data(), bytes);
    runtime.wait(stream);
  }

  cuda::Runtime& runtime;
  bool is_emulated;
  cuda::Stream stream;
  std::unique_ptr<cuda::DeviceStopwatch> stopwatch;
  std::unique_ptr<cuda::PageableCopies> pageable;
  std::unique_ptr<Executor> processor;  // all its cores
  Report report = {};
  std::unique_ptr<Memory> text;  // varied
  // Keeps the report as it is, for the case that the next part is never finished.
  std::function<void()> keep = [] {};

 private:
  std::chrono::steady_clock::time_point end_;
};

// The parts of the benchmark. With `best`, only the first device kernel of each cipher; otherwise
// the others.
void measure_resident(GpuSession& session, bool best);
void measure_host(GpuSession& session);

}  // namespace paes::bench
