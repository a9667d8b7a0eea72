// SPDX-License-Identifier: Apache-2.0
// A device as the source of keystream: the same bytes, from it or without it; what it declines or
// breaks down over, workers compute.
#include "fake_device.hpp"
#include "keystream_subject.hpp"

namespace paes::test {
namespace {

constexpr std::size_t chunk = 512;

struct Stream {
  Stream(const std::shared_ptr<Device>& device, std::int64_t stride = 1, unsigned window = 1024,
         std::string_view of_cipher = "aes-128-ctr",
         std::size_t budget_bytes = std::size_t{4} << 20)
      : engine(
            {.workers = 1, .budget_bytes = budget_bytes, .chunk_bytes = chunk, .device = device}),
        cipher(of_cipher),
        key(key_for(cipher)),
        counter(cipher == "des-ede3-ctr" ? 8 : 16, 0xff),
        context(engine.open(engine.bind(cipher, key, {.kernel = "bitslice"}), counter,
                            {.window_chunks = window, .first_chunk = 100000, .stride = stride})) {}

  [[nodiscard]] bool fills(std::uint64_t chunks) {
    return wait_until([&] { return engine.statistics().filled_chunks >= chunks; });
  }
  void check(std::uint64_t at) {
    const Buffer text = varied_bytes(chunk, at);
    Buffer out(chunk);
    context.encrypt(at * chunk, text, out);
    ASSERT_EQ(out, xor_of(text, stream_of(cipher, key, counter, at * chunk, chunk))) << at;
  }
  // Until so many chunks in order, all right.
  void check_in_order(std::uint64_t chunks, std::int64_t stride = 1) {
    for (std::uint64_t i = 0; i < chunks; ++i) {
      check(100000 + i * static_cast<std::uint64_t>(stride));
    }
  }

  KeystreamEngine engine;
  std::string cipher;
  Buffer key;
  Buffer counter;
  KeystreamContext context;
};

TEST(Device, MakesWideWindows) {
  for (const char* const cipher : {"aes-128-ctr", "aes-256-ctr", "des-ede3-ctr"}) {
    for (const std::int64_t stride : {1, -1}) {
      const auto device = std::make_shared<FakeDevice>(2, std::size_t{1} << 20);
      Stream stream(device, stride, 1024, cipher);
      ASSERT_TRUE(stream.fills(1000)) << cipher;
      EXPECT_GE(stream.engine.statistics().device_chunks, 256U) << "the first run at least";
      EXPECT_EQ(device->calls_outside_pinned_memory(), 0U);
      stream.check_in_order(1200, stride);
      EXPECT_GT(there(stream.context.use()), 256U);
    }
  }
}

TEST(Device, IsLeftAloneByOtherWindows) {
  const auto device = std::make_shared<FakeDevice>(2, std::size_t{1} << 20);
  Stream narrow(device, 1, 16);
  ASSERT_TRUE(narrow.fills(14));
  Stream wide_steps(device, 3, 1024);
  ASSERT_TRUE(wide_steps.fills(900));
  EXPECT_EQ(device->calls(), 0U);
  KeystreamEngine engine({.workers = 1, .chunk_bytes = chunk, .device = device});
  SealedContext sealed =
      engine.open_sealed(engine.bind("aes-128-gcm", key_for("aes-128-gcm"), {.kernel = "bitslice"}),
                         Buffer(12), {.window_messages = 1024});
  ASSERT_TRUE(wait_until([&] { return engine.statistics().filled_chunks >= 900; }));
  EXPECT_EQ(device->calls(), 0U);
}

TEST(Device, ThatFailsIsNotAskedAgain) {
  const auto device = std::make_shared<FakeDevice>(2, std::size_t{1} << 20);
  device->fail_at(1);
  Stream stream(device);
  ASSERT_TRUE(stream.fills(1000));
  stream.check_in_order(1200);
  EXPECT_EQ(device->calls(), 1U);
  EXPECT_EQ(stream.engine.statistics().device_chunks, 0U);
}

TEST(Device, ThatDeclinesCostsNothingButTime) {
  // Pieces of one chunk: a run is more than the device takes.
  const auto device = std::make_shared<FakeDevice>(2, chunk);
  Stream stream(device);
  ASSERT_TRUE(stream.fills(1000));
  stream.check_in_order(1200);
  EXPECT_EQ(stream.engine.statistics().device_chunks, 0U);
}

// Chunks that are used while the device makes them, and windows that move and are evicted.
TEST(Device, UnderRacesAndPressure) {
  const auto device = std::make_shared<FakeDevice>(2, std::size_t{1} << 20);
  Stream stream(device, 1, 1024, "aes-128-ctr", 500000);
  std::uint64_t at = 100000;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 40; ++j) {
      stream.check(at++);
    }
    at += static_cast<std::uint64_t>(i % 3) * 70;
    stream.context.prefetch(at * chunk);
    if (i % 4 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  EXPECT_LE(stream.engine.statistics().memory_bytes, 500000U);
}

TEST(Device, NeedsAWorkerAndRoom) {
  const auto device = std::make_shared<FakeDevice>(2, std::size_t{1} << 20);
  EXPECT_EQ(code_of([&] { const KeystreamEngine e({.device = device}); }), ErrorCode::usage);
  EXPECT_EQ(code_of([&] {
              const KeystreamEngine e({.workers = 1, .budget_bytes = 100000, .device = device});
            }),
            ErrorCode::failure);
}

TEST(Device, LeavesWithTheLastKey) {
  auto device = std::make_shared<FakeDevice>(2, std::size_t{1} << 20);
  const std::weak_ptr<FakeDevice> watched = device;
  auto engine = std::make_unique<KeystreamEngine>(
      KeystreamOptions{.workers = 1, .chunk_bytes = chunk, .device = std::move(device)});
  auto key = std::make_unique<KeystreamKey>(
      engine->bind("aes-128-ctr", Buffer(16), {.kernel = "bitslice"}));
  engine.reset();
  key.reset();
  EXPECT_TRUE(wait_until([&] { return watched.expired(); })) << "when the worker has ended";
}

}  // namespace
}  // namespace paes::test
