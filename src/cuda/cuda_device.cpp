// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_device.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <map>
#include <variant>

#include "cuda/key_image.hpp"

namespace paes::cuda {

namespace {

// The first kernel of the table that `fits`, or, given a name, only that kernel. Null if none fits.
template <typename Fits>
const DeviceKernel* find_kernel(const std::string& name, Fits&& fits) {
  for (const DeviceKernel* const kernel : device_kernels()) {
    if ((name.empty() || name == kernel->name) && fits(*kernel)) {
      return kernel;
    }
  }
  return nullptr;
}

void check_name(const std::string& name) {
  std::string known;
  for (const DeviceKernel* const kernel : device_kernels()) {
    if (name.empty() || name == kernel->name) {
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(kernel->name);
  }
  throw Error(ErrorCode::usage, "device kernel: unknown name '" + name + "'",
              "there are: " + known);
}

// Memory that buffers have pinned.
class PinnedRanges {
 public:
  void add(std::uint8_t* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ranges_.emplace(memory, bytes);
  }
  [[nodiscard]] bool remove(std::uint8_t* memory) {
    const std::lock_guard lock(mutex_);
    return ranges_.erase(memory) != 0;
  }
  [[nodiscard]] bool contains(const std::uint8_t* memory, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto after = ranges_.upper_bound(memory);
    return after != ranges_.begin() &&
           memory + bytes <= std::prev(after)->first + std::prev(after)->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<const std::uint8_t*, std::size_t> ranges_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<Runtime> runtime, const DeviceOptions& options)
      : runtime_(std::move(runtime)),
        options_(options),
        keys_(*runtime_),
        slots_(*runtime_, std::min(options.slots, max_slots), options.piece_bytes, options.note) {}

  [[nodiscard]] const char* name() const noexcept override { return "cuda"; }
  [[nodiscard]] unsigned slots() const noexcept override { return slots_.count(); }
  [[nodiscard]] std::size_t piece_bytes() const noexcept override { return slots_.piece_bytes(); }

  void pin(void* memory, std::size_t bytes) noexcept override {
    if (runtime_->pin(memory, bytes)) {
      pinned_.add(static_cast<std::uint8_t*>(memory), bytes);
    }
  }
  void unpin(void* memory) noexcept override {
    if (pinned_.remove(static_cast<std::uint8_t*>(memory))) {
      runtime_->unpin(memory);
    }
  }

  [[nodiscard]] std::unique_ptr<DeviceRaw> bind_raw(Cipher cipher, Mode mode, Direction direction,
                                                    Bytes key, std::size_t unit_bytes) override;
  [[nodiscard]] std::unique_ptr<DeviceGcm> bind_gcm(Bytes key) override;

  [[nodiscard]] DeviceSlots& all_slots() noexcept { return slots_; }
  [[nodiscard]] bool takes(std::size_t text_bytes, std::size_t messages = 1) const noexcept {
    return text_bytes <= Slot::max_text_bytes(piece_bytes()) &&
           messages <= Slot::max_messages(piece_bytes());
  }
  [[nodiscard]] bool copies_keystream() const noexcept { return options_.copies_keystream; }

  void copy_text_in(Slot& slot, const std::uint8_t* from, std::size_t bytes) {
    if (bytes == 0) {
      return;
    }
    const std::uint8_t* source = from;
    if (!pinned_.contains(from, bytes)) {
      std::memcpy(slot.staging(), from, bytes);
      source = slot.staging();
    }
    runtime_->copy_in(slot.stream(), slot.text(), source, bytes);
  }

  // Copies the text out, and finishes the call.
  void copy_text_out(Slot& slot, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
    const bool is_direct = bytes == 0 || pinned_.contains(to, bytes);
    std::uint8_t* const target = is_direct ? to : slot.staging();
    if (is_direct) {
      slot.touch();
    }
    if (bytes != 0) {
      runtime_->copy_out(slot.stream(), target, from, bytes);
    }
    slot.finish();
    if (!is_direct) {
      std::memcpy(to, target, bytes);
    }
  }

 private:
  // Null after an error that passes.
  std::unique_ptr<KeyImage> make_image(const DeviceKernel& kernel, Bytes key) {
    const unsigned failed_before = slots_.failed_tries();
    try {
      return std::make_unique<KeyImage>(*runtime_, keys_, kernel, key);
    } catch (const PassingError& error) {
      slots_.fail_try(failed_before, error);
      return nullptr;
    }
  }

  std::shared_ptr<Runtime> runtime_;
  DeviceOptions options_;
  PinnedRanges pinned_;
  KeyRoom keys_;
  DeviceSlots slots_;
};

class CudaRaw final : public DeviceRaw {
 public:
  // `tweak_key` is null except for XTS.
  CudaRaw(CudaDevice& device, Operation operation, std::size_t cipher_block_bytes,
          std::size_t unit_bytes, std::unique_ptr<KeyImage> key,
          std::unique_ptr<KeyImage> tweak_key)
      : device_(device),
        operation_(operation),
        cipher_block_bytes_(cipher_block_bytes),
        unit_blocks_(static_cast<std::uint32_t>(unit_bytes / block_bytes)),
        key_(std::move(key)),
        tweak_key_(std::move(tweak_key)) {}

  [[nodiscard]] bool crypt(const RawStart& start, Bytes in, MutableBytes out,
                           WhenBusy when_busy) const override {
    assert(in.size() == out.size());
    return device_.takes(in.size()) &&
           device_.all_slots().run(when_busy, [&](Slot& slot) { run(slot, start, in, out); });
  }

 private:
  void run(Slot& slot, const RawStart& start, Bytes in, MutableBytes out) const {
    Job job = {.operation = operation_, .in = slot.text(), .out = slot.text(), .bytes = in.size()};
    if (operation_ == Operation::ctr) {
      job.counter = std::bit_cast<Block>(std::get<CounterBlock>(start));
      job.counter_bits = static_cast<unsigned>(8 * cipher_block_bytes_);
      if (device_.copies_keystream()) {
        run_keystream(slot, job, in, out);
        return;
      }
    }
    device_.copy_text_in(slot, in.data(), in.size());
    std::uint8_t* result = slot.text();
    if (formula_of(operation_).has_before()) {
      job.before = std::bit_cast<Block>(std::get<ChainBlock>(start));
      job.out = result = slot.other().data();
    } else if (tweak_key_ != nullptr) {
      add_tweaks(slot, std::get<UnitNumber>(start), job);
    }
    key_->launch(slot, job);
    device_.copy_text_out(slot, out.data(), result, out.size());
  }

  void run_keystream(Slot& slot, const Job& job, Bytes in, MutableBytes out) const {
    std::uint8_t* const keystream = slot.staging();
    slot.runtime().fill_zero(slot.stream(), slot.text(), in.size());
    key_->launch(slot, job);
    slot.runtime().copy_out(slot.stream(), keystream, slot.text(), in.size());
    slot.finish();
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = in[i] ^ keystream[i];
    }
  }

  // Copies the first unit's number to the device, where the tweaks are made after it.
  void add_tweaks(Slot& slot, const UnitNumber& number, Job& job) const {
    Block* const first = slot.other().blocks();
    const auto blocks = static_cast<std::uint32_t>(job.bytes / block_bytes);
    assert((1 + tweak_count(blocks, unit_blocks_)) * sizeof(Block) <= slot.other().bytes());
    slot.host_blocks()[0] = std::bit_cast<Block>(number);
    slot.runtime().copy_in(slot.stream(), first, slot.host_blocks(), sizeof(Block));
    tweak_key_->launch(slot, TweakJob{.first = first,
                                      .is_tweak = false,
                                      .unit_blocks = unit_blocks_,
                                      .blocks = blocks,
                                      .out = first + 1});
    job.tweaks = first + 1;
    job.unit_blocks = unit_blocks_;
  }

  CudaDevice& device_;
  Operation operation_;
  std::size_t cipher_block_bytes_;
  std::uint32_t unit_blocks_;
  std::unique_ptr<KeyImage> key_;
  std::unique_ptr<KeyImage> tweak_key_;
};

class CudaGcm final : public DeviceGcm {
 public:
  CudaGcm(CudaDevice& device, std::unique_ptr<KeyImage> key)
      : device_(device), key_(std::move(key)) {}

  [[nodiscard]] bool run(GcmOperation operation, const GcmMessages& messages,
                         WhenBusy when_busy) const override {
    GcmJob job = {};
    job.operation = operation;
    job.in_stride = job.out_stride = messages.stride_bytes;
    job.count = static_cast<std::uint32_t>(messages.count);
    job.text_bytes = messages.text_bytes;
    job.last_text_bytes = messages.last_text_bytes;
    const Bytes in(messages.text, messages.memory_bytes());
    const MutableBytes out(messages.text, operation == GcmOperation::verify ? 0 : in.size());
    return messages.stride_bytes % block_bytes == 0 && device_.takes(in.size(), messages.count) &&
           device_.all_slots().run(when_busy, [&](Slot& slot) {
             run(slot, job, messages.pre_counters, in, out, messages.tags);
           });
  }

  [[nodiscard]] bool run(GcmOperation operation, const CounterBlock& counter, Bytes in,
                         MutableBytes out, HashValue& hash, WhenBusy when_busy) const override {
    GcmJob job = {};
    job.operation = operation;
    job.count = 1;
    job.text_bytes = job.last_text_bytes = in.size();
    return device_.takes(in.size()) && device_.all_slots().run(when_busy, [&](Slot& slot) {
      run(slot, job, &counter, in, out, &hash);
    });
  }

 private:
  // Sets the job's addresses and runs it. `counters` and `results` have a block for each message,
  // or one for a part; device memory has them in this order, and then the scratch.
  void run(Slot& slot, GcmJob job, const CounterBlock* counters, Bytes in, MutableBytes out,
           void* results) const {
    Runtime& runtime = slot.runtime();
    const std::size_t list_bytes = job.count * sizeof(Block);
    Block* const device_counters = slot.other().blocks();
    Block* const device_results = device_counters + job.count;
    Block* const host_results = slot.host_blocks() + job.count;
    std::memcpy(slot.host_blocks(), counters, list_bytes);
    runtime.copy_in(slot.stream(), device_counters, slot.host_blocks(), list_bytes);
    device_.copy_text_in(slot, in.data(), in.size());
    job.in = job.out = slot.text();
    job.counters = device_counters;
    job.tags = device_results;
    job.scratch = device_results + job.count;
    key_->launch(slot, job);
    runtime.copy_out(slot.stream(), host_results, device_results, list_bytes);
    device_.copy_text_out(slot, out.data(), slot.text(), out.size());
    std::memcpy(results, host_results, list_bytes);
  }

  CudaDevice& device_;
  std::unique_ptr<KeyImage> key_;
};

std::unique_ptr<DeviceRaw> CudaDevice::bind_raw(Cipher cipher, Mode mode, Direction direction,
                                                Bytes key, std::size_t unit_bytes) {
  const ModeRow& row = row_of(mode);
  const Operation operation = row.operation(direction);
  const DeviceKernel* const kernel =
      find_kernel(options_.kernel, [&](const DeviceKernel& candidate) {
        return candidate.cipher == cipher && candidate.has(operation);
      });
  if (kernel == nullptr || unit_bytes % block_bytes != 0 || slots() == 0) {
    return nullptr;
  }
  const std::size_t half = row.has_units ? key.size() / 2 : key.size();
  auto image = make_image(*kernel, key.first(half));
  auto tweak_image =
      row.has_units && image != nullptr ? make_image(*kernel, key.subspan(half)) : nullptr;
  if (image == nullptr || (row.has_units && tweak_image == nullptr)) {
    return nullptr;
  }
  return std::make_unique<CudaRaw>(*this, operation, block_bytes_of(cipher), unit_bytes,
                                   std::move(image), std::move(tweak_image));
}

std::unique_ptr<DeviceGcm> CudaDevice::bind_gcm(Bytes key) {
  const DeviceKernel* const kernel =
      find_kernel(options_.kernel, [&](const DeviceKernel& candidate) {
        return candidate.cipher == Cipher::aes && candidate.has_gcm();
      });
  if (kernel == nullptr || slots() == 0) {
    return nullptr;
  }
  auto image = make_image(*kernel, key);
  return image == nullptr ? nullptr : std::make_unique<CudaGcm>(*this, std::move(image));
}

}  // namespace

std::unique_ptr<Device> make_device(std::shared_ptr<Runtime> runtime, const DeviceOptions& options,
                                    std::string& why) {
  check_name(options.kernel);
  try {
    return std::make_unique<CudaDevice>(std::move(runtime), options);
  } catch (const PassingError& error) {
    why = error.what();
    if (options.note) {
      options.note(std::string(error.what()) + cpu_does_the_work);
    }
    return nullptr;
  }
}

}  // namespace paes::cuda
