// SPDX-License-Identifier: Apache-2.0
// The CUDA device when something fails: every call of the emulated runtime once, for good, or for
// want of memory; and everything wiped and given back each time.
#include <gtest/gtest.h>

#include <new>

#include "cuda/cuda_device.hpp"
#include "cuda/emulated_device.hpp"
#include "message/gcm.hpp"

namespace paes::cuda {
namespace {

using Fault = EmulatedRuntime::Fault;

TEST(CudaSlots, AreIdleWhateverIsThrown) {
  EmulatedRuntime runtime;
  DeviceSlots slots(runtime, 1, piece_bytes, {});
  Block block = {{1}};
  const auto throws_at_work = [&](Slot& slot) {
    std::memcpy(slot.host_blocks(), &block, sizeof block);
    runtime.copy_out(slot.stream(), slot.host_blocks(), slot.text(), sizeof block);
    throw std::bad_alloc();
  };
  EXPECT_THROW((void)slots.run(WhenBusy::wait, throws_at_work), std::bad_alloc);
  ASSERT_TRUE(slots.run(WhenBusy::wait, [&](Slot& slot) {
    EXPECT_NE(slot.host_blocks()[0].bytes[0], 1) << "the copy is still under way";
  }));
}

// What a program does from the first call to the last. True: the device did all of it.
bool run_scenario(EmulatedRuntime& runtime, const std::shared_ptr<Runtime>& shared, bool pins,
                  bool& declined) {
  const RawCase which = {Cipher::aes, Mode::xts, 32, 512};
  const Buffer key = varied_bytes(32, 1);
  const Buffer in = varied_bytes(4096, 2);
  const Block start = {{1}};
  const auto device = make_device(shared, {.slots = 2, .piece_bytes = piece_bytes});
  Buffer text = in;
  if (device != nullptr && pins) {
    device->pin(text.data(), text.size());
  }
  struct Unpin {
    Device* device;
    void* memory;
    ~Unpin() {
      if (device != nullptr) {
        device->unpin(memory);
      }
    }
  } const unpin{device.get(), text.data()};
  const RawKey raw(which.cipher, which.mode, key, best_kernel(which.cipher), which.unit_bytes,
                   {device.get(), WhenBusy::wait});
  const Buffer want = expected(which, Direction::encrypt, key, start, in);
  const std::uint64_t launches = runtime.launches()[0];
  for (unsigned round = 0; round < 3; ++round) {
    text = in;
    RawPosition position{test::raw_start(which.mode, start)};
    raw.crypt(Direction::encrypt, position, text, text, serial_executor(), text.size());
    EXPECT_TRUE(text == want);
  }
  if (has_gcm()) {
    const GcmKey gcm(varied_bytes(16, 3), best_kernel(Cipher::aes), {device.get(), WhenBusy::wait});
    Chunks chunks(3, 100);
    (void)gcm.run_on_device(GcmOperation::seal, chunks.messages);
  }
  declined = runtime.launches()[0] - launches < 6;
  return true;
}

class Faults : public testing::TestWithParam<std::tuple<Fault, bool>> {};

TEST_P(Faults, OfEveryCallLeaveNothingBehind) {
  const auto [fault, pins] = GetParam();
  std::uint64_t errors = 0;
  std::uint64_t fallbacks = 0;
  for (std::uint64_t call = 1;; ++call) {
    SCOPED_TRACE(call);
    const auto runtime = std::make_shared<EmulatedRuntime>();
    runtime->fail_at(call, fault);
    bool declined = false;
    try {
      run_scenario(*runtime, runtime, pins, declined);
    } catch (const Error& error) {
      ++errors;
      EXPECT_EQ(error.code, ErrorCode::failure);
      EXPECT_EQ(std::string(error.what()).rfind("cuda: ", 0), 0U) << error.what();
      EXPECT_NE(std::string(error.what()).find(": emulated fault"), std::string::npos);
    }
    EXPECT_EQ(runtime->complaints(), std::vector<std::string>());
    if (!runtime->has_failed()) {
      EXPECT_FALSE(declined);
      EXPECT_GT(call, 40U);
      break;
    }
    fallbacks += declined ? 1U : 0U;
  }
  if (fault == Fault::out_of_memory || fault == Fault::passing) {
    EXPECT_GT(fallbacks, 10U);
    // Only a copy into the caller's own memory cannot be taken back.
    EXPECT_EQ(errors != 0, pins);
  } else {
    EXPECT_GT(errors, 20U);
    EXPECT_EQ(fallbacks, 0U);
  }
}

std::string name_of_faults(const testing::TestParamInfo<Faults::ParamType>& instance) {
  constexpr const char* names[] = {"once", "context_lost", "out_of_memory", "passing"};
  const auto [fault, pins] = instance.param;
  return std::string(names[static_cast<unsigned>(fault)]) + (pins ? "_pinned" : "_staged");
}

INSTANTIATE_TEST_SUITE_P(All, Faults,
                         testing::Combine(testing::Values(Fault::once, Fault::context_lost,
                                                          Fault::out_of_memory, Fault::passing),
                                          testing::Bool()),
                         name_of_faults);

TEST(CudaMemory, ShortOfItSlotsShrinkAndThenTheCpuWorks) {
  constexpr std::size_t wanted = std::size_t{1} << 20;
  unsigned shrunk = 0;
  unsigned without = 0;
  for (std::size_t memory = 0; memory <= std::size_t{12} << 20; memory += 300'000) {
    SCOPED_TRACE(memory);
    const auto runtime = std::make_shared<EmulatedRuntime>(EmulatedOptions{.memory_bytes = memory});
    std::vector<std::string> notes;
    std::string why;
    const auto device = make_device(
        runtime,
        {.piece_bytes = wanted, .note = [&](const std::string& note) { notes.push_back(note); }},
        why);
    if (device == nullptr) {
      EXPECT_EQ(why, "cuda: cudaMalloc: out of memory");
      EXPECT_EQ(notes, std::vector<std::string>{why + "; the CPU does the work"});
      ++without;
      continue;
    }
    EXPECT_EQ(notes.size(), device->piece_bytes() < wanted ? 1U : 0U);
    EXPECT_NE(device->bind_raw(Cipher::aes, Mode::ctr, Direction::encrypt, varied_bytes(16, 1), 0),
              nullptr);
    shrunk += device->piece_bytes() < wanted ? 1U : 0U;
  }
  EXPECT_GT(shrunk, 3U);
  EXPECT_GT(without, 1U);
}

// A device with a key of AES-128-CTR whose next calls can be left without memory for staging.
class ShortOfMemory : public testing::Test {
 protected:
  // One call. What a device declines it has not touched.
  bool crypt() {
    Buffer text = in_;
    const bool taken = bound_->crypt(CounterBlock{}, text, text, WhenBusy::wait);
    EXPECT_TRUE(text == (taken ? want_ : in_));
    return taken;
  }
  // The first call of a slot asks for staging before all else.
  void fail_next() { runtime_->fail_at(runtime_->calls() + 1, Fault::out_of_memory); }

  std::shared_ptr<EmulatedRuntime> runtime_ = std::make_shared<EmulatedRuntime>();
  std::vector<std::string> notes_;
  std::unique_ptr<Device> device_ = make_device(
      runtime_, {.slots = 1, .piece_bytes = piece_bytes, .note = [this](const std::string& note) {
                   notes_.push_back(note);
                 }});
  Buffer key_ = varied_bytes(16, 1);
  Buffer in_ = varied_bytes(4096, 2);
  Buffer want_ = expected({Cipher::aes, Mode::ctr, 16}, Direction::encrypt, key_, {}, in_);
  std::unique_ptr<DeviceRaw> bound_ =
      device_->bind_raw(Cipher::aes, Mode::ctr, Direction::encrypt, key_, 0);
};

TEST_F(ShortOfMemory, ForAMomentTheDeviceGoesOnAfterwards) {
  fail_next();
  EXPECT_FALSE(crypt());
  EXPECT_EQ(device_->slots(), 1U);
  EXPECT_TRUE(crypt());
  EXPECT_EQ(notes_,
            std::vector<std::string>{"cuda: cudaHostAlloc: emulated fault; the CPU does the work "
                                     "until a later try succeeds"});
}

// Every call of the runtime in turn: even where the device was already writing into the caller's
// memory, only that one call is lost.
TEST_F(ShortOfMemory, OrAnotherErrorThatPassesRetiresNoDevice) {
  Buffer text(piece_bytes);
  device_->pin(text.data(), text.size());
  const MutableBytes part = MutableBytes(text).first(in_.size());
  ASSERT_TRUE(crypt());
  unsigned thrown = 0;
  for (const Fault fault : {Fault::passing, Fault::out_of_memory}) {
    for (std::uint64_t call = 1;; ++call) {
      SCOPED_TRACE(call);
      std::copy(in_.begin(), in_.end(), text.begin());
      const std::uint64_t failing = runtime_->calls() + call;
      runtime_->fail_at(failing, fault);
      bool taken = false;
      try {
        taken = bound_->crypt(CounterBlock{}, part, part, WhenBusy::wait);
      } catch (const Error& error) {
        EXPECT_NE(dynamic_cast<const PassingError*>(&error), nullptr) << error.what();
        ++thrown;
      }
      const bool was_reached = runtime_->calls() >= failing;
      runtime_->fail_at(UINT64_MAX, fault);
      EXPECT_EQ(device_->slots(), 1U);
      EXPECT_TRUE(crypt()) << "the device does the next call";
      if (!was_reached) {
        EXPECT_TRUE(taken);
        EXPECT_GT(call, 3U);
        break;
      }
      EXPECT_FALSE(taken);
    }
  }
  EXPECT_GT(thrown, 1U) << "no error came after the device had begun to write";
  device_->unpin(text.data());
}

TEST_F(ShortOfMemory, ForAKeyTheNextOneIsBound) {
  fail_next();
  const auto bind = [&] {
    return device_->bind_raw(Cipher::aes, Mode::ctr, Direction::encrypt, key_, 0);
  };
  EXPECT_EQ(bind(), nullptr);
  EXPECT_EQ(device_->slots(), 1U);
  EXPECT_NE(bind(), nullptr);
}

TEST_F(ShortOfMemory, ForGoodItGivesUpAfterSoManyTries) {
  std::uint64_t calls = 0;
  unsigned tries = 0;
  for (; device_->slots() != 0 && calls < 1'000'000; ++calls) {
    const std::uint64_t asked = runtime_->calls();
    fail_next();
    EXPECT_FALSE(crypt());
    tries += runtime_->calls() != asked ? 1U : 0U;
  }
  EXPECT_EQ(device_->slots(), 0U);
  EXPECT_EQ(tries, DeviceSlots::most_tries);
  EXPECT_GT(calls, 10'000U) << "they came too soon after each other";
  EXPECT_EQ(notes_.size(), 2U);
  EXPECT_EQ(notes_.back(), "cuda: cudaHostAlloc: emulated fault; the CPU does the work");
  const std::uint64_t asked = runtime_->calls();
  EXPECT_FALSE(crypt());
  EXPECT_EQ(runtime_->calls(), asked);
}

TEST_F(ShortOfMemory, ACallThatSucceedsBeginsTheCountAnew) {
  for (unsigned round = 0; round < 2 * DeviceSlots::most_tries; ++round) {
    fail_next();
    EXPECT_FALSE(crypt());
    EXPECT_TRUE(crypt());
  }
}

}  // namespace
}  // namespace paes::cuda
