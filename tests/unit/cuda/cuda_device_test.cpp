// SPDX-License-Identifier: Apache-2.0
// The CUDA device over an emulated runtime: every mode as the kernels of the processor compute
// it, from pinned memory and from other, on one device and on several.
#include "cuda/cuda_device.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "cuda/emulated_device.hpp"
#include "message/gcm_message.hpp"

namespace paes::cuda {
namespace {

constexpr RawCase raw_cases[] = {
    {Cipher::aes, Mode::ecb, 16},      {Cipher::aes, Mode::cbc, 24},
    {Cipher::aes, Mode::cfb, 32},      {Cipher::aes, Mode::ctr, 16},
    {Cipher::aes, Mode::xts, 32, 512}, {Cipher::aes, Mode::xts, 64, 48},
    {Cipher::aes, Mode::xts, 32, 16},  {Cipher::des_ede3, Mode::ecb, 24},
    {Cipher::des_ede3, Mode::cbc, 24}, {Cipher::des_ede3, Mode::cfb, 24},
    {Cipher::des_ede3, Mode::ctr, 24},
};

bool has_kernel(Cipher cipher, Operation operation) {
  for (const DeviceKernel* const kernel : device_kernels()) {
    if (kernel->cipher == cipher && kernel->has(operation)) {
      return true;
    }
  }
  return false;
}

void check_raw(Device& device, const RawCase& which, Direction direction, std::size_t bytes) {
  const Operation operation = row_of(which.mode).operation(direction);
  if (formula_of(operation).is_chained()) {
    return;
  }
  SCOPED_TRACE(testing::Message() << row_of(which.mode).name << ", " << bytes << " bytes");
  const Buffer key = varied_bytes(which.key_bytes, 1);
  const auto bound = device.bind_raw(which.cipher, which.mode, direction, key, which.unit_bytes);
  if (!has_kernel(which.cipher, operation)) {
    EXPECT_EQ(bound, nullptr);
    return;
  }
  ASSERT_NE(bound, nullptr);
  Block start;
  std::memset(start.bytes, 0xff, sizeof start.bytes);  // carries at once
  const Buffer in = varied_bytes(bytes, 2);
  const Buffer want = expected(which, direction, key, start, in);
  Buffer out(bytes);
  EXPECT_TRUE(bound->crypt(test::raw_start(which.mode, start), in, out, WhenBusy::wait));
  EXPECT_TRUE(out == want);
  out = in;
  EXPECT_TRUE(bound->crypt(test::raw_start(which.mode, start), out, out, WhenBusy::wait));
  EXPECT_TRUE(out == want);
}

TEST(CudaDevice, ComputesEveryRawMode) {
  Emulated device;
  EXPECT_EQ(device->slots(), 4U);
  for (const RawCase& which : raw_cases) {
    const std::size_t step =
        which.unit_bytes == 0 ? block_bytes_of(which.cipher) : which.unit_bytes;
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      for (const std::size_t bytes : {step, 3 * step, piece_bytes / step * step}) {
        check_raw(*device, which, direction, bytes);
      }
      if (row_of(which.mode).tail == Tail::any) {
        check_raw(*device, which, direction, 1);
        check_raw(*device, which, direction, 1029);
      }
    }
  }
}

TEST(CudaDevice, AddsKeystreamOnTheHostWhenTold) {
  Emulated device({}, {.copies_keystream = true});
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, piece_bytes}) {
    check_raw(*device, {Cipher::aes, Mode::ctr, 32}, Direction::encrypt, bytes);
  }
}

// The memory of a key that is gone is wiped at once, and serves the next key.
TEST(CudaDevice, KeepsTheMemoryOfKeysForOtherKeys) {
  Emulated device({.devices = 2});
  const auto bind = [&](const Buffer& key) {
    return device->bind_raw(Cipher::aes, Mode::ctr, Direction::encrypt, key, 0);
  };
  const Buffer first_key = varied_bytes(16, 1);
  auto first = bind(first_key);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(device.runtime().has_on_device(first_key)) << "the image has another form";
  first.reset();
  EXPECT_FALSE(device.runtime().has_on_device(first_key));
  const std::uint64_t allocations = device.runtime().allocations();
  for (unsigned round = 0; round < 3; ++round) {
    EXPECT_NE(bind(varied_bytes(32, round)), nullptr);
  }
  EXPECT_EQ(device.runtime().allocations(), allocations);
  std::vector<std::unique_ptr<DeviceRaw>> many;
  for (unsigned i = 0; i < 40; ++i) {
    many.push_back(bind(varied_bytes(16, i)));
    ASSERT_NE(many.back(), nullptr);
  }
  EXPECT_EQ(device.runtime().allocations(), allocations + 2 * 39);
  many.clear();
  const std::uint64_t after = device.runtime().allocations();
  EXPECT_NE(bind(first_key), nullptr);
  EXPECT_EQ(device.runtime().allocations(), after);
}

TEST(CudaDevice, DeclinesWhatItIsNotMadeFor) {
  Emulated device;
  const Buffer key = varied_bytes(64, 1);
  EXPECT_EQ(device->bind_raw(Cipher::aes, Mode::xts, Direction::encrypt, key, 520), nullptr);
  const auto ecb =
      device->bind_raw(Cipher::aes, Mode::ecb, Direction::encrypt, Bytes(key).first(16), 0);
  ASSERT_NE(ecb, nullptr);
  Buffer text(2 * piece_bytes);
  EXPECT_FALSE(ecb->crypt({}, text, text, WhenBusy::wait));
  EXPECT_TRUE(text == Buffer(2 * piece_bytes));
  EXPECT_THROW((void)make_device(std::make_shared<EmulatedRuntime>(), {.kernel = "no_such"}),
               Error);
}

void check_messages(Device& under_test, std::size_t count, std::size_t last_bytes) {
  SCOPED_TRACE(testing::Message() << count << " messages, the last of " << last_bytes);
  const Buffer key = varied_bytes(32, 1);
  const auto bound = under_test.bind_gcm(key);
  ASSERT_NE(bound, nullptr);
  const GcmKey cpu(key, best_kernel(Cipher::aes));
  Chunks device(count, last_bytes);
  Chunks host(count, last_bytes);
  ASSERT_TRUE(bound->run(GcmOperation::seal, device.messages, WhenBusy::wait));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = i + 1 == count ? last_bytes : Chunks::text_bytes;
    std::uint8_t* const text = host.memory.data() + i * Chunks::stride;
    cpu.seal(Bytes(host.counters[i].bytes, 12), {}, Bytes(text, bytes), MutableBytes(text, bytes),
             host.tags[i].bytes);
    EXPECT_TRUE(std::equal(host.tags[i].bytes, host.tags[i].bytes + 16, device.tags[i].bytes));
  }
  EXPECT_TRUE(device.memory == host.memory) << "the gaps stay, too";
  device.tags.assign(count, {});
  ASSERT_TRUE(bound->run(GcmOperation::verify, device.messages, WhenBusy::wait));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(std::equal(host.tags[i].bytes, host.tags[i].bytes + 16, device.tags[i].bytes));
  }
  EXPECT_TRUE(device.memory == host.memory);
  device.tags.assign(count, {});
  ASSERT_TRUE(bound->run(GcmOperation::open, device.messages, WhenBusy::wait));
  EXPECT_TRUE(device.memory == Chunks(count, last_bytes).memory);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(std::equal(host.tags[i].bytes, host.tags[i].bytes + 16, device.tags[i].bytes));
  }
}

TEST(CudaDevice, ComputesManyGcmMessagesAtOnce) {
  if (!has_gcm()) {
    GTEST_SKIP() << "no device kernel has GCM";
  }
  Emulated device;
  check_messages(*device, 1, 0);
  check_messages(*device, 1, 17);
  check_messages(*device, 3, Chunks::text_bytes);
  check_messages(*device, 60, 1);
}

TEST(CudaDevice, ComputesPartsOfOneGcmMessage) {
  if (!has_gcm()) {
    GTEST_SKIP() << "no device kernel has GCM";
  }
  Emulated device;
  const Buffer key = varied_bytes(16, 1);
  const Buffer iv = varied_bytes(12, 2);
  const GcmKey on_cpu(key, best_kernel(Cipher::aes));
  const GcmKey on_device(key, best_kernel(Cipher::aes), {&*device, WhenBusy::wait});
  const GcmMessage want(on_cpu, iv, {});
  const GcmMessage got(on_device, iv, {});
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{4096 + 5}, piece_bytes}) {
    const Buffer text = varied_bytes(bytes, 4);
    Buffer a(bytes);
    Buffer b(bytes);
    const std::uint64_t launches = device.runtime().launches()[0];
    const GhashPart encrypted = got.encrypt(std::uint64_t{48} << 20, text, a);
    EXPECT_GT(device.runtime().launches()[0], launches);
    const GhashPart reference = want.encrypt(std::uint64_t{48} << 20, text, b);
    EXPECT_TRUE(a == b);
    const GhashPart hashed = got.hash(b);
    const GhashPart decrypted = got.decrypt(std::uint64_t{48} << 20, a, a);
    EXPECT_TRUE(a == text);
    for (const GhashPart& part : {encrypted, hashed, decrypted}) {
      EXPECT_EQ(part.blocks, reference.blocks);
      EXPECT_TRUE(std::equal(part.value.bytes, part.value.bytes + 16, reference.value.bytes));
    }
  }
}

TEST(CudaDevice, ThreadsShareItsSlots) {
  for (const unsigned devices : {1U, 3U}) {
    Emulated device({.devices = devices}, {.slots = 2});
    EXPECT_EQ(device->slots(), 2 * devices);
    const RawCase which = {Cipher::aes, Mode::ctr, 16};
    const Buffer key = varied_bytes(16, 1);
    const auto bound = device->bind_raw(which.cipher, which.mode, Direction::encrypt, key, 0);
    ASSERT_NE(bound, nullptr);
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 8; ++number) {
      threads.emplace_back([&, number] {
        Buffer text = varied_bytes(5000 + number, number);
        device->pin(text.data(), text.size());
        for (unsigned round = 0; round < 4; ++round) {
          Block start = {};
          start.bytes[0] = static_cast<std::uint8_t>(number);
          const Buffer want = expected(which, Direction::encrypt, key, start, text);
          const WhenBusy when_busy = number % 2 == 0 ? WhenBusy::wait : WhenBusy::decline;
          const bool taken =
              bound->crypt(test::raw_start(which.mode, start), text, text, when_busy);
          EXPECT_TRUE(taken || when_busy == WhenBusy::decline);
          EXPECT_TRUE(!taken || text == want);
        }
        device->unpin(text.data());
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const std::uint64_t launches : device.runtime().launches()) {
      EXPECT_NE(launches, 0U) << "a device without work";
    }
  }
}

// As `--device auto` has them for a while. Constant memory is the device's, whosever device it is.
TEST(CudaDevice, SeveralOnADeviceHaveSlotsOfTheirOwn) {
  const auto runtime = std::make_shared<EmulatedRuntime>(EmulatedOptions{.devices = 2});
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) { notes.push_back(text); };
  std::string why;
  const auto make = [&](unsigned slots) {
    return make_device(runtime, {.slots = slots, .piece_bytes = piece_bytes, .note = note}, why);
  };
  {
    const auto first = make(5);
    EXPECT_EQ(first->slots(), 10U);
    const auto second = make(5);
    EXPECT_EQ(second->slots(), 6U);
    EXPECT_TRUE(notes.empty());
    EXPECT_EQ(make(5), nullptr);
    EXPECT_EQ(why, "cuda: this process uses all 8 slots of the device already");
    EXPECT_EQ(notes, std::vector<std::string>{why + "; the CPU does the work"});
    std::vector<std::thread> threads;
    for (Device* const device : {first.get(), second.get()}) {
      for (unsigned number = 0; number < 4; ++number) {
        threads.emplace_back([=] {
          check_raw(*device, {Cipher::aes, Mode::ctr, 16}, Direction::encrypt, 4096);
        });
      }
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  EXPECT_EQ(make(5)->slots(), 10U) << "they were not given back";
  EXPECT_EQ(runtime->complaints(), std::vector<std::string>());
}

TEST(CudaDevice, KeysLeaveConstantMemoryWithTheirCall) {
  const auto runtime = std::make_shared<EmulatedRuntime>();
  const auto device = make_device(runtime, {.piece_bytes = piece_bytes});
  const Buffer key = varied_bytes(16, 1);
  for (const char* const what : {"first", "second"}) {
    SCOPED_TRACE(what);
    auto bound = device->bind_raw(Cipher::aes, Mode::ctr, Direction::encrypt, key, 0);
    Buffer text(1000);
    ASSERT_TRUE(bound->crypt(CounterBlock{}, text, text, WhenBusy::wait));
    bound.reset();
    // The device and its slots are still there, and nothing else is amiss.
    EXPECT_EQ(runtime->complaints(),
              (std::vector<std::string>{"device memory was not freed",
                                        "pinned memory was not freed", "a stream was not closed"}));
  }
}

// What the emulated device is there to notice.
TEST(EmulatedRuntime, ComplainsOfKeysLeftInConstantMemory) {
  EmulatedRuntime runtime;
  const DeviceKernel& kernel = *device_kernels().front();
  const unsigned slot = *runtime.take_slot(0);
  const OwnedStream stream(runtime, 0);
  const auto run = [&](bool wipes) {
    DeviceMemory image(runtime, stream.get(), kernel.image_bytes);
    DeviceMemory text(runtime, stream.get(), block_bytes);
    const Job job = {Operation::ctr, text.data(), text.data(), block_bytes};
    runtime.launch(stream.get(), kernel, {image.data(), 16, {}, slot, nullptr}, job);
    if (wipes) {
      runtime.wipe_keys(stream.get(), kernel, slot);
    }
    runtime.wait(stream.get());
  };
  run(true);
  EXPECT_EQ(runtime.complaints(), std::vector<std::string>{"a stream was not closed"});
  run(false);
  runtime.give_slot(0, slot);
  EXPECT_EQ(runtime.complaints().size(), 3U);
}

TEST(CudaDevice, TweaksOfEveryBlockHaveRoom) {
  Emulated device;
  check_raw(*device, {Cipher::aes, Mode::xts, 32, 16}, Direction::encrypt,
            Slot::max_text_bytes(piece_bytes));
}

TEST(CudaMemory, WhereNothingCanBePinnedItIsStaged) {
  Emulated device({.pins = false});
  Buffer text = varied_bytes(5000, 1);
  device->pin(text.data(), text.size());
  check_raw(*device, {Cipher::aes, Mode::ctr, 16}, Direction::encrypt, 5000);
  device->unpin(text.data());
}

}  // namespace
}  // namespace paes::cuda
