// SPDX-License-Identifier: Apache-2.0
// A device that computes with a kernel of the CPU, for tests of code that calls devices. It counts
// and checks what it gets, declines when its slots are taken, and fails on request.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "gcm_operations.hpp"
#include "kernel/registry.hpp"
#include "message/device.hpp"
#include "message/raw_key.hpp"
#include "paes/error.hpp"

namespace paes {

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(unsigned slots = 2, std::size_t piece_bytes = std::size_t{64} << 10)
      : slots_(slots), free_(slots), piece_bytes_(piece_bytes) {}
  ~FakeDevice() override { EXPECT_TRUE(pinned_.empty()); }

  // Makes the call of this number (counted from 1) and all later calls throw.
  void fail_at(std::uint64_t call) { fails_at_ = call; }
  [[nodiscard]] std::uint64_t calls() const { return calls_.load(); }
  [[nodiscard]] std::uint64_t calls_outside_pinned_memory() const { return unpinned_calls_.load(); }

  [[nodiscard]] const char* name() const noexcept override { return "fake"; }
  [[nodiscard]] unsigned slots() const noexcept override { return slots_; }
  [[nodiscard]] std::size_t piece_bytes() const noexcept override { return piece_bytes_; }

  void pin(void* memory, std::size_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(pinned_.emplace(static_cast<std::uint8_t*>(memory), bytes).second);
  }
  void unpin(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(pinned_.erase(static_cast<std::uint8_t*>(memory)), 1U);
  }

  [[nodiscard]] std::unique_ptr<DeviceRaw> bind_raw(Cipher cipher, Mode mode, Direction direction,
                                                    Bytes key, std::size_t unit_bytes) override {
    if (unit_bytes % block_bytes != 0) {
      return nullptr;
    }
    return std::make_unique<Raw>(*this, cipher, mode, direction, key, unit_bytes);
  }
  [[nodiscard]] std::unique_ptr<DeviceGcm> bind_gcm(Bytes key) override {
    return std::make_unique<Gcm>(*this, key);
  }

 private:
  // Counts a call and holds a slot.
  class Call {
   public:
    Call(FakeDevice& device, const std::uint8_t* memory, std::size_t bytes, WhenBusy when_busy)
        : device_(device), taken_(device.take(memory, bytes, when_busy)) {}
    ~Call() {
      if (taken_) {
        device_.give_back();
      }
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    [[nodiscard]] bool taken() const { return taken_; }

   private:
    FakeDevice& device_;
    bool taken_;
  };

  class Raw final : public DeviceRaw {
   public:
    Raw(FakeDevice& device, Cipher cipher, Mode mode, Direction direction, Bytes key,
        std::size_t unit_bytes)
        : device_(device),
          direction_(direction),
          key_(cipher, mode, key, best_kernel(cipher), unit_bytes) {
      EXPECT_TRUE(key_.is_parallel(direction));
    }
    [[nodiscard]] bool crypt(const RawStart& start, Bytes in, MutableBytes out,
                             WhenBusy when_busy) const override {
      EXPECT_EQ(in.size(), out.size());
      EXPECT_TRUE(key_.takes(in.size()));
      EXPECT_TRUE(key_.mode() != Mode::xts || in.size() % key_.unit_bytes() == 0);
      const Call call(device_, in.data(), in.size(), when_busy);
      if (call.taken()) {
        RawPosition position{start};
        key_.crypt(direction_, position, in, out, serial_executor(), in.size());
      }
      return call.taken();
    }

   private:
    FakeDevice& device_;
    Direction direction_;
    RawKey key_;
  };

  class Gcm final : public DeviceGcm {
   public:
    Gcm(FakeDevice& device, Bytes key) : device_(device), kernel_(best_kernel(Cipher::aes)) {
      kernel_.prepare(key, *keys_);
    }
    [[nodiscard]] bool run(GcmOperation operation, const GcmMessages& messages,
                           WhenBusy when_busy) const override {
      const Call call(device_, messages.text, messages.memory_bytes(), when_busy);
      for (std::size_t i = 0; call.taken() && i < messages.count; ++i) {
        const test::BareMessage message{messages.pre_counters[i]};
        std::uint8_t* const text = messages.text + i * messages.stride_bytes;
        test::run_gcm(kernel_, operation, *keys_,
                      message.with({text, operation == GcmOperation::verify ? nullptr : text,
                                    i + 1 == messages.count ? messages.last_text_bytes
                                                            : messages.text_bytes}),
                      messages.tags[i]);
      }
      return call.taken();
    }
    [[nodiscard]] bool run(GcmOperation operation, const CounterBlock& counter, Bytes in,
                           MutableBytes out, HashValue& hash, WhenBusy when_busy) const override {
      EXPECT_TRUE(!in.empty() && in.size() % block_bytes == 0);
      EXPECT_EQ(out.size(), operation == GcmOperation::hash ? 0 : in.size());
      const Call call(device_, in.data(), in.size(), when_busy);
      if (call.taken()) {
        hash = {};
        test::run_gcm(kernel_, operation, *keys_,
                      GcmPiece{{in.data(), out.data(), in.size()}, &counter}, hash);
      }
      return call.taken();
    }

   private:
    FakeDevice& device_;
    const Kernel& kernel_;
    Secret<KernelKeys> keys_;
  };

  bool take(const std::uint8_t* memory, std::size_t bytes, WhenBusy when_busy) {
    if (bytes > piece_bytes_ + piece_bytes_ / 64) {
      return false;
    }
    std::unique_lock lock(mutex_);
    if (free_ == 0 && when_busy == WhenBusy::decline) {
      return false;
    }
    freed_.wait(lock, [&] { return free_ != 0; });
    if (++calls_ >= fails_at_) {
      throw Error(ErrorCode::failure, "fake: failed");
    }
    const auto after = pinned_.upper_bound(const_cast<std::uint8_t*>(memory));
    const bool is_pinned = after != pinned_.begin() &&
                           memory + bytes <= std::prev(after)->first + std::prev(after)->second;
    unpinned_calls_ += is_pinned ? 0 : 1;
    --free_;
    return true;
  }

  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

  unsigned slots_;
  unsigned free_;
  std::size_t piece_bytes_;
  std::uint64_t fails_at_ = UINT64_MAX;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> unpinned_calls_{0};
  std::mutex mutex_;
  std::condition_variable freed_;
  std::map<std::uint8_t*, std::size_t> pinned_;
};

}  // namespace paes
