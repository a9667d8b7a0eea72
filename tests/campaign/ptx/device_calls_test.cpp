// SPDX-License-Identifier: Apache-2.0
// paes's device over the run-time library, on devices that exist only here: every call of the
// library fails once, for good, for want of memory, or late; several devices, shapes of other
// architectures, and little memory. What comes out is right or an error, and nothing is left
// behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cuda/cuda_device.hpp"
#include "cuda/cuda_runtime.hpp"
#include "emulate/ptx/stand_in.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "on_threads.hpp"
#include "raw_start.hpp"
#include "varied_bytes.hpp"

namespace paes::ptx {
namespace {

using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

constexpr std::size_t text_bytes = 4096;
constexpr std::size_t piece_bytes = std::size_t{64} << 10;
constexpr std::size_t unit_bytes = 512;

// What a device did, and what it said.
struct Outcome {
  bool opened = false;
  std::uint64_t launches = 0;
  std::string why = {};
};

// Pins memory as long as it lives.
class Pin {
 public:
  Pin(Device* device, MutableBytes memory) : device_(device), memory_(memory) {
    if (device_ != nullptr) {
      device_->pin(memory_.data(), memory_.size());
    }
  }
  ~Pin() {
    if (device_ != nullptr) {
      device_->unpin(memory_.data());
    }
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  Device* device_;
  MutableBytes memory_;
};

struct Use {
  bool pins = false;
  std::string kernel = "cuda_compute";
  std::size_t piece_bytes = ptx::piece_bytes;
  unsigned slots = 2;
};

std::uint64_t all_launches(unsigned devices) {
  std::uint64_t all = 0;
  for (unsigned device = 0; device < devices; ++device) {
    all += launches(device);
  }
  return all;
}

// Opens the device and encrypts with XTS and AES-GCM, on the device as far as that can.
Outcome use_device(const Use& use) {
  Outcome outcome;
  const std::shared_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(outcome.why);
  if (runtime == nullptr) {
    return outcome;
  }
  const auto device = cuda::make_device(
      runtime, {.slots = use.slots, .piece_bytes = use.piece_bytes, .kernel = use.kernel},
      outcome.why);
  outcome.opened = device != nullptr;
  const Kernel& kernel = best_kernel(Cipher::aes);
  const Buffer key = varied_bytes(32, 1);
  const Buffer in = varied_bytes(text_bytes, 2);
  const RawStart start = test::raw_start(Mode::xts, {{1}});
  Buffer expected(in.size());
  {
    const RawKey raw(Cipher::aes, Mode::xts, key, kernel, unit_bytes);
    RawPosition position{start};
    raw.crypt(Direction::encrypt, position, in, expected, serial_executor(), in.size());
  }
  Buffer text = in;
  const Pin pin(use.pins ? device.get() : nullptr, text);
  const RawKey raw(Cipher::aes, Mode::xts, key, kernel, unit_bytes, {device.get(), WhenBusy::wait});
  for (unsigned round = 0; round < 2; ++round) {
    std::copy(in.begin(), in.end(), text.begin());
    RawPosition position{start};
    raw.crypt(Direction::encrypt, position, text, text, serial_executor(), text.size());
    EXPECT_TRUE(text == expected);
  }

  const GcmKey gcm(varied_bytes(16, 3), kernel, {device.get(), WhenBusy::wait});
  constexpr std::size_t stride = 1088;
  Buffer chunks = varied_bytes(3 * stride, 4);
  const Buffer plain = chunks;
  CounterBlock counters[3] = {{{1}}, {{2}}, {{3}}};
  Tag tags[3];
  const GcmMessages messages = {chunks.data(), stride, 3, 1024, 100, counters, tags};
  if (gcm.run_on_device(GcmOperation::seal, messages)) {
    EXPECT_TRUE(gcm.run_on_device(GcmOperation::open, messages) || has_failed());
    EXPECT_TRUE(has_failed() || chunks == plain);
  }
  outcome.launches = all_launches(1);
  return outcome;
}

void expect_nothing_left() {
  EXPECT_EQ(complaints(), std::vector<std::string>());
  EXPECT_EQ(left_behind(), std::vector<std::string>());
  forget_complaints();
}

class DeviceCalls : public testing::TestWithParam<std::tuple<Failing, bool>> {};

TEST_P(DeviceCalls, EachFailsAndLeavesNothingBehind) {
  const auto [how, pins] = GetParam();
  reset({});
  const std::uint64_t launches_of_all = use_device({.pins = pins}).launches;
  ASSERT_GT(launches_of_all, 4U);
  std::uint64_t errors = 0;
  std::uint64_t fewer = 0;
  for (std::uint64_t call = 1;; ++call) {
    SCOPED_TRACE(call);
    reset({.seed = call});
    fail_at(call, how);
    try {
      const Outcome outcome = use_device({.pins = pins});
      fewer += outcome.launches < launches_of_all ? 1U : 0U;
      EXPECT_TRUE(outcome.opened || !outcome.why.empty());
    } catch (const Error& error) {
      ++errors;
      EXPECT_EQ(error.code, ErrorCode::failure);
      EXPECT_EQ(std::string(error.what()).rfind("cuda: ", 0), 0U) << error.what();
    }
    expect_nothing_left();
    if (!has_failed()) {
      EXPECT_GT(call, 60U);
      break;
    }
  }
  // What fails late has been launched, and always ends in an error.
  EXPECT_GT(how == Failing::late ? errors : fewer, 5U);
  if (how != Failing::memory) {
    EXPECT_GT(errors, 10U);
  }
}

std::string name_of(const testing::TestParamInfo<DeviceCalls::ParamType>& instance) {
  constexpr const char* names[] = {"once", "lost", "memory", "late"};
  const auto [how, pins] = instance.param;
  return std::string(names[static_cast<unsigned>(how)]) + (pins ? "_pinned" : "_staged");
}

INSTANTIATE_TEST_SUITE_P(All, DeviceCalls,
                         testing::Combine(testing::Values(Failing::once, Failing::lost,
                                                          Failing::memory, Failing::late),
                                          testing::Bool()),
                         name_of);

// paes asks a device once about each kernel, so that a process sees only one architecture.
TEST(DeviceShapesDeathTest, OfEveryArchitectureRunEveryKernel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int architecture : {75, 80, 86, 87, 89, 90, 100, 103, 110, 120}) {
    const auto run_kernels = [&] {
      for (const char* const kernel : {"cuda_tables", "cuda_bitslice", "cuda_compute"}) {
        SCOPED_TRACE(std::to_string(architecture) + " " + kernel);
        reset({.architecture = architecture, .seed = static_cast<unsigned>(architecture)});
        const Outcome outcome = use_device({.kernel = kernel});
        EXPECT_TRUE(outcome.opened) << outcome.why;
        EXPECT_GT(outcome.launches, 3U);
        expect_nothing_left();
      }
      std::exit(testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(run_kernels(), testing::ExitedWithCode(0), "") << architecture;
  }
}

TEST(DeviceMemoryShort, SlotsShrinkAndThenTheProcessorWorks) {
  unsigned shrunk = 0;
  unsigned without = 0;
  for (std::size_t memory = 0; memory <= std::size_t{3} << 20; memory += 100'000) {
    SCOPED_TRACE(memory);
    reset({.memory_bytes = memory});
    const Outcome outcome = use_device({.piece_bytes = std::size_t{1} << 19});
    if (outcome.opened) {
      shrunk += outcome.launches > 0 ? 1U : 0U;
    } else {
      EXPECT_EQ(outcome.why, "cuda: cudaMalloc: out of memory");
      ++without;
    }
    expect_nothing_left();
  }
  EXPECT_GT(shrunk, 3U);
  EXPECT_GT(without, 1U);
}

TEST(DevicePins, RefusedByTheSystemAreNoFault) {
  reset({.pins = false});
  EXPECT_TRUE(use_device({.pins = true}).opened);
  expect_nothing_left();
}

TEST(Devices, SeveralShareTheWork) {
  const Kernel& kernel = best_kernel(Cipher::aes);
  const Buffer key = varied_bytes(32, 5);
  const Buffer in = varied_bytes(text_bytes, 6);
  for (unsigned devices = 2; devices <= 3; ++devices) {
    reset({.devices = devices, .seed = devices});
    {
      std::string why;
      const std::shared_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(why);
      ASSERT_NE(runtime, nullptr) << why;
      ASSERT_EQ(runtime->devices().size(), devices);
      const auto device = cuda::make_device(
          runtime, {.slots = 2, .piece_bytes = piece_bytes, .kernel = "cuda_compute"});
      const auto bound = device->bind_raw(Cipher::aes, Mode::ctr, Direction::encrypt, key, 0);
      const RawKey raw(Cipher::aes, Mode::ctr, key, kernel);
      test::on_threads(24, 6, [&](std::size_t i) {
        CounterBlock counter = {};
        counter.bytes[0] = static_cast<std::uint8_t>(i);
        Buffer expected(in.size()), out(in.size());
        RawPosition position{counter};
        raw.crypt(Direction::encrypt, position, in, expected, serial_executor(), in.size());
        EXPECT_TRUE(bound->crypt(counter, in, out, WhenBusy::wait));
        EXPECT_TRUE(out == expected);
      });
      for (unsigned i = 0; i < devices; ++i) {
        EXPECT_GT(launches(i), 0U) << "device " << i;
      }
    }
    expect_nothing_left();
  }
}

}  // namespace
}  // namespace paes::ptx
