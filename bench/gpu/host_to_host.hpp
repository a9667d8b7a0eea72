// SPDX-License-Identifier: Apache-2.0
// Data in the host's memory before and after, through the device, by the processor, or by both.
// Every way encrypts one text, and its output is compared with the processor's before it is timed.
#pragma once

#include <optional>

#include "cuda/cuda_device.hpp"
#include "gpu/gpu_session.hpp"
#include "kernel/registry.hpp"

namespace paes::bench {

inline constexpr std::size_t mebibyte = std::size_t{1} << 20;

template <class Body>
double seconds_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class HostToHost {
 public:
  HostToHost(GpuSession& session, std::size_t bytes)
      : session_(session),
        runtime_(std::shared_ptr<cuda::Runtime>(), &session.runtime),
        bytes_(bytes),
        memory_(static_cast<std::uint8_t*>(operator new (bytes, std::align_val_t{page_bytes}))),
        expected_(bytes) {}

  // Sets what is encrypted or decrypted from now on. No device may be bound.
  void expect(const test::RawSubject& subject) {
    subject_ = subject;
    processor_.emplace(test::processor_key(subject, unit_bytes()));
    const test::Buffer iv = test::varied_bytes(processor_->iv_bytes(), 6);
    iv_ = iv;
    RawPosition position = processor_->start(iv_);
    processor_->crypt(subject.direction, position, text(bytes_), expected_, *session_.processor,
                      mebibyte);
  }
  [[nodiscard]] const test::RawSubject& subject() const { return subject_; }
  [[nodiscard]] const Kernel& processor() const { return processor_->kernel(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // The subject's key on a device, which may pin the memory.
  class Bound {
   public:
    Bound(const HostToHost& host, const cuda::DeviceOptions& options, bool is_pinned)
        : memory_(is_pinned ? host.memory_.get() : nullptr),
          device_(cuda::make_device(host.runtime_, options)) {
      if (device_ == nullptr) {
        return;
      }
      if (memory_ != nullptr) {
        device_->pin(memory_, host.bytes_);
      }
      key_ = device_->bind_raw(host.subject_.cipher, host.subject_.mode, host.subject_.direction,
                               host.subject_.key(), host.unit_bytes());
    }
    ~Bound() {
      key_.reset();
      if (device_ != nullptr && memory_ != nullptr) {
        device_->unpin(memory_);
      }
    }
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

    [[nodiscard]] const Device& device() const { return *device_; }
    [[nodiscard]] const DeviceRaw* key() const { return key_.get(); }

   private:
    std::uint8_t* memory_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<DeviceRaw> key_;
  };

  // Null, and noted, if there is no device.
  [[nodiscard]] std::unique_ptr<Bound> bind(const char* way, const cuda::DeviceOptions& options,
                                            bool is_pinned) {
    auto bound = std::make_unique<Bound>(*this, options, is_pinned);
    if (bound->key() == nullptr) {
      session_.report.left_out.push_back(subject_.name() + ", " + way + ": no device");
      return nullptr;
    }
    return bound;
  }

  struct Taken {
    double seconds;
    double device_share;  // of the bytes
  };

  // Transforms the first `bytes` with `threads` callers, each of which takes the next piece: on the
  // device, or by the processor if `bound` is null. With `shares`, a caller that finds the device
  // busy computes the piece itself.
  Taken run(const Bound* bound, unsigned threads, bool shares, std::size_t bytes) {
    std::copy(text(bytes).begin(), text(bytes).end(), memory_.get());
    std::atomic<std::size_t> on_device{0};
    const MutableBytes data(memory_.get(), bytes);
    const std::size_t piece = bound == nullptr ? mebibyte : bound->device().piece_bytes();
    const std::size_t count = (bytes + piece - 1) / piece;
    const double seconds = seconds_of([&] {
      test::on_threads(count, threads, [&](std::size_t i) {
        const std::size_t at = i * piece;
        const MutableBytes part = data.subspan(at, std::min(piece, data.size() - at));
        // In place, the ciphertext before a piece may be gone already, so it is taken from the
        // text.
        const std::size_t before = std::min<std::size_t>(at, subject_.block_size());
        RawPosition position = processor_->at(iv_, at, text(bytes).subspan(at - before, before));
        const WhenBusy when = shares ? WhenBusy::decline : WhenBusy::wait;
        if (bound != nullptr && bound->key()->crypt(position.next, part, part, when)) {
          on_device += part.size();
        } else {
          processor_->crypt(subject_.direction, position, part, part, serial_executor(),
                            part.size());
        }
      });
    });
    return {seconds, static_cast<double>(on_device) / static_cast<double>(bytes)};
  }

  // Checks what run() has left.
  [[nodiscard]] bool is_right(std::size_t bytes) const {
    return std::memcmp(memory_.get(), expected_.data(), bytes) == 0;
  }

 private:
  static constexpr std::size_t page_bytes = 4096;

  [[nodiscard]] Bytes text(std::size_t bytes) const { return session_.text->bytes().first(bytes); }
  [[nodiscard]] std::size_t unit_bytes() const {
    return subject_.mode == Mode::xts ? page_bytes : 0;
  }

  GpuSession& session_;
  std::shared_ptr<cuda::Runtime> runtime_;
  std::size_t bytes_;
  // This memory is not the runtime's, because the device pins it if it is to be pinned.
  struct Free {
    void operator()(std::uint8_t* memory) const {
      operator delete (memory, std::align_val_t{page_bytes});
    }
  };
  std::unique_ptr<std::uint8_t, Free> memory_;
  test::Buffer expected_;
  test::RawSubject subject_ = {Cipher::aes, Mode::ctr, Direction::encrypt, 16};
  std::optional<RawKey> processor_;
  test::Buffer iv_;
};

}  // namespace paes::bench
