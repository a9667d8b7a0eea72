// SPDX-License-Identifier: Apache-2.0
// What --device auto decides by: a device is taken only where it is clearly faster, and the
// measurement sees which is.
#include "stream/transfer/device_rates.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "exec/thread_pool.hpp"
#include "fake_device.hpp"

namespace paes::stream {
namespace {

TEST(DeviceRates, InDoubtTheCpuWorksAlone) {
  EXPECT_EQ(best_of({.cpu = 1, .device = 0, .hybrid = 0}), WorkShare::cpu);
  EXPECT_EQ(best_of({.cpu = 1, .device = 0.9, .hybrid = 1.05}), WorkShare::cpu);
  EXPECT_EQ(best_of({.cpu = 1, .device = 1.05, .hybrid = 0}), WorkShare::cpu);
  EXPECT_EQ(best_of({.cpu = 1, .device = 2, .hybrid = 0}), WorkShare::device);
  EXPECT_EQ(best_of({.cpu = 1, .device = 2, .hybrid = 1.9}), WorkShare::device);
  EXPECT_EQ(best_of({.cpu = 1, .device = 2, .hybrid = 2.5}), WorkShare::hybrid);
  EXPECT_EQ(best_of({.cpu = 1, .device = 0.5, .hybrid = 1.4}), WorkShare::hybrid);
}

double rate_of(std::chrono::milliseconds each, unsigned threads, Device* device = nullptr) {
  const auto executor = make_thread_pool(threads);
  return measure_rate([&](MutableBytes) { std::this_thread::sleep_for(each); }, *executor, 10'000,
                      device, 0.05);
}

// Sleeping takes its time at least, on a machine however busy.
TEST(DeviceRates, AreBytesASecondOfAllThreads) {
  using std::chrono::milliseconds;
  const double one = rate_of(milliseconds(5), 1);
  EXPECT_GT(one, 0);
  EXPECT_LE(one, 10'000 / 0.005);
  EXPECT_LE(rate_of(milliseconds(5), 4), 4 * 10'000 / 0.005);
  EXPECT_GT(rate_of(milliseconds(1), 4), rate_of(milliseconds(40), 1));
  EXPECT_EQ(best_of({.cpu = rate_of(milliseconds(1), 1), .device = rate_of(milliseconds(40), 1)}),
            WorkShare::cpu);
}

TEST(DeviceRates, PiecesArePinned) {
  FakeDevice device;
  const std::vector<std::uint8_t> key(16);
  const RawKey raw(Cipher::aes, Mode::ctr, key, best_kernel(Cipher::aes), 0, {&device});
  const auto executor = make_thread_pool(3);
  const double rate = measure_rate(
      [&](MutableBytes piece) {
        RawPosition position{CounterBlock{}};
        raw.crypt(Direction::encrypt, position, piece, piece, serial_executor(), piece.size());
      },
      *executor, device.piece_bytes(), &device, 0.01);
  EXPECT_GT(rate, 0);
  EXPECT_GT(device.calls(), 2U);
  EXPECT_EQ(device.calls_outside_pinned_memory(), 0U);
}

TEST(DeviceRates, AFailureComesOut) {
  const auto executor = make_thread_pool(2);
  EXPECT_THROW((void)measure_rate([](MutableBytes) { throw Error(ErrorCode::failure, "x: y"); },
                                  *executor, 1000, nullptr, 0.01),
               Error);
}

}  // namespace
}  // namespace paes::stream
