// SPDX-License-Identifier: Apache-2.0
// The device that a test program runs on: a real one, or an emulated one if PAES_EMULATED_DEVICE is
// set. Also its ports: streams with memory on both sides, for tests that launch one thing after the
// other.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/secret.hpp"
#include "cuda/cuda_runtime.hpp"
#include "cuda/device_kernel.hpp"
#include "emulated/emulated_runtime.hpp"

namespace paes::test {

inline bool is_device_emulated() { return std::getenv("PAES_EMULATED_DEVICE") != nullptr; }

// Whether the device is really the host's processor, so that tests must be selective: it is
// emulated, or runs nvcc's code on the host (tests/campaign/ptx).
inline bool is_device_on_host() {
#if defined(PAES_TEST_DEVICE_ON_HOST)
  return true;
#else
  return is_device_emulated();
#endif
}

// The device that a test program runs on. If there is none, the program ends here, in one line.
inline cuda::Runtime& runtime_under_test() {
  static const std::unique_ptr<cuda::Runtime> runtime = []() -> std::unique_ptr<cuda::Runtime> {
    if (is_device_emulated()) {
      cuda::EmulatedOptions options;
      // PAES_EMULATED_MEMORY is the device's memory in bytes. With a small value, tests run out of
      // it.
      const char* const memory = std::getenv("PAES_EMULATED_MEMORY");
      options.memory_bytes = memory != nullptr ? std::stoul(memory) : std::size_t{64} << 20;
      return std::make_unique<cuda::EmulatedRuntime>(options);
    }
    std::string why;
    std::unique_ptr<cuda::Runtime> opened = cuda::open_cuda_runtime(why);
    if (opened == nullptr) {
      std::fprintf(stderr, "no CUDA device: %s\n", why.c_str());
      std::exit(1);
    }
    return opened;
  }();
  return *runtime;
}

// A stream of device 0 with memory on both sides, laid out alike: what is written to `host` is at
// the same place of `device` once it has been sent.
class Port {
 public:
  explicit Port(unsigned slot)
      : runtime_(runtime_under_test()), stream_(runtime_.open_stream(0)), slot_(slot) {}
  ~Port() {
    release();
    runtime_.close_stream(stream_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) {
      return;
    }
    release();
    bytes_ = std::max<std::size_t>(bytes + bytes / 2, 1 << 16);
    host_ = static_cast<std::uint8_t*>(runtime_.allocate_pinned(bytes_));
    device_ = static_cast<std::uint8_t*>(runtime_.allocate(0, bytes_));
  }
  [[nodiscard]] std::uint8_t* host() const { return host_; }
  [[nodiscard]] std::uint8_t* device() const { return device_; }

  void send(std::size_t bytes) { runtime_.copy_in(stream_, device_, host_, bytes); }
  void fetch(std::size_t at, std::size_t bytes) {
    if (bytes != 0) {
      runtime_.copy_out(stream_, host_ + at, device_ + at, bytes);
    }
  }
  void wait() { runtime_.wait(stream_); }

  // `shared_bytes`: launch as if the device had only this much shared memory; 0: use its own.
  void launch(const cuda::DeviceKernel& kernel, std::size_t key_bytes, std::size_t image_at,
              std::size_t shared_bytes, const cuda::AnyJob& job) {
    cuda::Launch launch = {device_ + image_at, key_bytes, {}, slot_, stream_.handle};
    if (shared_bytes == 0) {
      launched_.insert(&kernel);
      runtime_.launch(stream_, kernel, launch, job);
      return;
    }
    // The runtime has no device of that shape, so this launches without it.
    launch.shape = runtime_.devices()[0].shape;
    launch.shape.shared_bytes = shared_bytes;
    if (is_device_emulated()) {
      launch.stream = nullptr;  // keys are read from the image
    }
    launched_.insert(&kernel);
    wait();
    const cuda::DeviceRuns& runs =
        is_device_emulated() ? cuda::Emulation::of(kernel) : *kernel.device;
    if (const int error = runs.start(launch, job); error != 0) {
      throw Error(ErrorCode::failure, "launch of " + std::string(kernel.name) + ": CUDA error " +
                                          std::to_string(error));
    }
  }

 private:
  void release() {
    if (bytes_ != 0) {
      for (const cuda::DeviceKernel* const kernel : launched_) {
        runtime_.wipe_keys(stream_, *kernel, slot_);
      }
      launched_.clear();
      runtime_.fill_zero(stream_, device_, bytes_);
      runtime_.wait(stream_);
      runtime_.free(0, device_);
      wipe(host_, bytes_);
      runtime_.free_pinned(host_);
      bytes_ = 0;
    }
  }

  cuda::Runtime& runtime_;
  cuda::Stream stream_;
  unsigned slot_;
  // The kernels that have left keys in the slot.
  std::set<const cuda::DeviceKernel*> launched_;
  std::size_t bytes_ = 0;
  std::uint8_t* host_ = nullptr;
  std::uint8_t* device_ = nullptr;
};

// At most max_slots ports. A thread that finds none free waits.
class Ports {
 public:
  // Calls `body(port)`. A failing device ends the program, because a kernel's run cannot fail.
  template <class Body>
  void use(const Body& body) noexcept {
    try {
      std::unique_ptr<Port> port = take();
      body(*port);
      give(std::move(port));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(1);
    }
  }

 private:
  std::unique_ptr<Port> take() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !free_.empty() || made_ < cuda::max_slots; });
    if (free_.empty()) {
      return std::make_unique<Port>(made_++);
    }
    std::unique_ptr<Port> port = std::move(free_.back());
    free_.pop_back();
    return port;
  }
  void give(std::unique_ptr<Port> port) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(port));
    freed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Port>> free_;
  unsigned made_ = 0;
};

inline Ports& ports() {
  runtime_under_test();  // made first, so that it is destroyed last
  static Ports all;
  return all;
}

}  // namespace paes::test
