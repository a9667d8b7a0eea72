// SPDX-License-Identifier: Apache-2.0
// A figure is worth nothing if a wrong kernel gets one, or if the arithmetic behind it is off.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "exec/thread_pool.hpp"
#include "fake_device.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "paes-bench/evp_reference.hpp"
#include "paes-bench/statistics.hpp"
#include "paes-bench/turns.hpp"
#include "paes/error.hpp"
#include "rows/rows.hpp"

namespace paes::cli {
namespace {

const Kernel& good() { return find_kernel(Cipher::aes, "compute"); }

// `compute` with one fault in one operation.
void wrong_byte(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
  good().gcm.seal(keys, message, tag);
  message.text.out[message.text.bytes - 1] ^= 1;
}
void wrong_tag(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
  good().gcm.seal(keys, message, tag);
  tag.bytes[15] ^= 1;
}
void wrong_plaintext(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
  good().gcm.open(keys, message, tag);
  message.text.out[0] ^= 1;
}
void accepts_nothing(const KernelKeys& keys, const WholeMessage& message, Tag& tag) noexcept {
  good().gcm.verify(keys, message, tag);
  tag.bytes[0] ^= 0x80;
}

Kernel with_fault(WholeMessageFunction GcmRuns::*operation, WholeMessageFunction fault) {
  Kernel kernel = good();
  kernel.name = "faulty";
  kernel.gcm.*operation = fault;
  return kernel;
}

std::vector<KernelTimes> measure_task(const Kernel& kernel, const BenchTask& task,
                                      unsigned threads = 1) {
  const Kernel* const rows[] = {&good(), &kernel};
  const auto executor = make_thread_pool(threads);
  return take_turns(rows, {task, 0, BenchClock::wall, {}}, *executor);
}

std::vector<KernelTimes> measure(const Kernel& kernel, BenchDirection direction,
                                 unsigned threads = 1) {
  return measure_task(kernel, {&find_cipher_name("aes-256-gcm"), direction, 100}, threads);
}

TEST(Turns, EveryDirectionGivesPairedRounds) {
  for (const BenchDirection direction :
       {BenchDirection::encrypt, BenchDirection::decrypt, BenchDirection::verify}) {
    for (const unsigned threads : {1U, 2U}) {
      const auto times = measure(good(), direction, threads);
      ASSERT_EQ(times.size(), 2U);
      EXPECT_GE(times[0].seconds.size(), 15U);
      EXPECT_EQ(times[0].seconds.size(), times[1].seconds.size());
      EXPECT_TRUE(std::all_of(times[1].seconds.begin(), times[1].seconds.end(),
                              [](double seconds) { return seconds > 0; }));
    }
  }
}

TEST(Turns, WrongOutputGetsNoFigure) {
  const struct {
    WholeMessageFunction fault;
    WholeMessageFunction GcmRuns::*operation;
    BenchDirection direction;
  } cases[] = {{wrong_byte, &GcmRuns::seal, BenchDirection::encrypt},
               {wrong_tag, &GcmRuns::seal, BenchDirection::encrypt},
               {wrong_plaintext, &GcmRuns::open, BenchDirection::decrypt},
               {accepts_nothing, &GcmRuns::verify, BenchDirection::verify}};
  for (const auto& [fault, operation, direction] : cases) {
    const Kernel faulty = with_fault(operation, fault);
    try {
      (void)measure(faulty, direction);
      ADD_FAILURE() << "a wrong output was measured";
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::failure);
      EXPECT_NE(std::strstr(error.what(), "faulty"), nullptr) << error.what();
    }
  }
}

TEST(Turns, RowsThatAreLessThanGcmAreCheckedAgainstTheirClaim) {
  for (const char* name : {"copy", "vaes_loop", "vaes_loop256"}) {
    for (const Kernel* kernel : bench::rows()) {
      if (std::strcmp(kernel->name, name) == 0 && unavailable_reason(*kernel).empty()) {
        (void)measure(*kernel, BenchDirection::encrypt);
        (void)measure(*kernel, BenchDirection::decrypt);
      }
    }
  }
}

// Every raw mode with a fault in it, in every way of running it.
template <Operation which>
void last_byte_wrong(const KernelKeys& keys, const Piece& piece) noexcept {
  good().run(which)(keys, piece);
  piece.text.out[piece.text.bytes - 1] ^= 1;
}
template <Operation which>
void last_message_wrong(const KernelKeys& keys, std::span<Chain> messages) noexcept {
  good().run_chains(which)(keys, messages);
  messages.back().text.out[0] ^= 1;
}

TEST(Turns, RawModesAreCheckedInEveryWay) {
  for (const CipherName& cipher : all_cipher_names()) {
    if (cipher.is_gcm() || !cipher.name.starts_with("aes-128-")) {
      continue;
    }
    const ModeRow& row = row_of(*cipher.mode);
    for (const BenchDirection direction : {BenchDirection::encrypt, BenchDirection::decrypt}) {
      const bool chained = is_chained(cipher, direction);
      const Operation operation = direction == BenchDirection::encrypt ? row.encrypt : row.decrypt;
      Kernel faulty = good();
      faulty.name = "faulty";
      faulty.lanes = 3;
      const auto times = measure_task(faulty, {&cipher, direction, 112});
      EXPECT_EQ(times[1].messages, chained ? 3U : 1U);
      constexpr PieceFunction pieces[] = {
          last_byte_wrong<Operation::ecb_encrypt>, last_byte_wrong<Operation::ecb_decrypt>,
          last_byte_wrong<Operation::ctr>,         last_byte_wrong<Operation::xts_encrypt>,
          last_byte_wrong<Operation::xts_decrypt>, last_byte_wrong<Operation::cbc_decrypt>,
          last_byte_wrong<Operation::cfb_decrypt>};
      constexpr ChainFunction chains[] = {last_message_wrong<Operation::cbc_encrypt>,
                                          last_message_wrong<Operation::cfb_encrypt>,
                                          last_message_wrong<Operation::ofb>};
      const auto index = static_cast<unsigned>(operation);
      if (chained) {
        faulty.modes.chain[index] = chains[index - std::size(pieces)];
      } else {
        faulty.modes.piece[index] = pieces[index];
      }
      EXPECT_THROW((void)measure_task(faulty, {&cipher, direction, 112}, 2), Error) << cipher.name;
      if (!chained) {
        EXPECT_THROW((void)measure_task(faulty, {&cipher, direction, 112, true}, 2), Error)
            << cipher.name;
      }
    }
  }
}

TEST(Turns, ThreadsShareALongMessage) {
  const CipherName& cipher = find_cipher_name("aes-128-ctr");
  const Kernel& kernel = find_kernel(Cipher::aes, "openssl");
  const auto executor = make_thread_pool(2);
  const Kernel* const rows[] = {&kernel, &best_kernel(Cipher::aes)};
  const auto times = take_turns(
      rows,
      {{&cipher, BenchDirection::encrypt, std::size_t{1} << 20, true}, 0, BenchClock::wall, {}},
      *executor);
  EXPECT_GE(times[1].seconds.size(), 15U);
}

// A device bound to another key than it was given.
class WrongDevice final : public Device {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "wrong"; }
  [[nodiscard]] unsigned slots() const noexcept override { return device_.slots(); }
  [[nodiscard]] std::size_t piece_bytes() const noexcept override { return device_.piece_bytes(); }
  void pin(void* memory, std::size_t bytes) noexcept override { device_.pin(memory, bytes); }
  void unpin(void* memory) noexcept override { device_.unpin(memory); }
  [[nodiscard]] std::unique_ptr<DeviceRaw> bind_raw(Cipher cipher, Mode mode, Direction direction,
                                                    Bytes key, std::size_t unit_bytes) override {
    return device_.bind_raw(cipher, mode, direction, other(key), unit_bytes);
  }
  [[nodiscard]] std::unique_ptr<DeviceGcm> bind_gcm(Bytes key) override {
    return device_.bind_gcm(other(key));
  }

 private:
  static std::vector<std::uint8_t> other(Bytes key) {
    std::vector<std::uint8_t> changed(key.begin(), key.end());
    changed[0] ^= 2;
    return changed;
  }
  FakeDevice device_;
};

std::vector<KernelTimes> measure_device(const CipherName& cipher, BenchDirection direction,
                                        Device& device, const Kernel& kernel = good()) {
  const Kernel* const row = &kernel;
  const auto executor = make_thread_pool(2);
  return take_turns({&row, 1}, {{&cipher, direction, 112}, 0, BenchClock::wall, {}, &device},
                    *executor);
}

TEST(Turns, AnDeviceHasItsTurnsInPinnedMemory) {
  unsigned measured = 0;
  for (const CipherName& cipher : all_cipher_names()) {
    for (const BenchDirection direction :
         {BenchDirection::encrypt, BenchDirection::decrypt, BenchDirection::verify}) {
      if (!cipher.name.starts_with("aes-128-") || !device_can_do(cipher, direction) ||
          !can_do(good(), cipher, direction)) {
        continue;
      }
      SCOPED_TRACE(cipher.name);
      FakeDevice device;
      const auto times = measure_device(cipher, direction, device);
      ASSERT_EQ(times.size(), 2U);
      EXPECT_EQ(times[0].device, nullptr);
      EXPECT_EQ(times[1].device, &device);
      EXPECT_EQ(times[0].seconds.size(), times[1].seconds.size());
      EXPECT_GE(device.calls(), 2 * times[1].seconds.size());
      EXPECT_EQ(device.calls_outside_pinned_memory(), 0U);
      WrongDevice wrong;
      EXPECT_THROW((void)measure_device(cipher, direction, wrong), Error);
      FakeDevice failing;
      failing.fail_at(20);
      EXPECT_THROW((void)measure_device(cipher, direction, failing), Error);
      ++measured;
    }
  }
  // GCM three ways, ECB and CTR both ways, CBC and CFB backwards.
  EXPECT_EQ(measured, 9U);
  // Beside a row that encrypts nothing, too.
  FakeDevice device;
  const auto times = measure_device(find_cipher_name("aes-128-gcm"), BenchDirection::decrypt,
                                    device, find_kernel(Cipher::aes, "copy", bench::rows()));
  EXPECT_STREQ(times[1].kernel->name, best_kernel(Cipher::aes).name);
}

TEST(Turns, TripleDesIsCheckedAgainstLibcrypto) {
  for (const Kernel* kernel : all_kernels()) {
    if (kernel->cipher == Cipher::des_ede3 && unavailable_reason(*kernel).empty()) {
      for (const CipherName& cipher : all_cipher_names()) {
        for (const BenchDirection direction : {BenchDirection::encrypt, BenchDirection::decrypt}) {
          if (has_cipher(*kernel, cipher)) {
            (void)take_turns({&kernel, 1}, {{&cipher, direction, 112}, 0, BenchClock::wall, {}},
                             serial_executor());
          }
        }
      }
    }
  }
}

TEST(Statistics, Median) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 100}), 3);
}

TEST(Statistics, RatiosArePairedByRound) {
  // Both rows slow down together in the second round; the ratio must not see it.
  const Ratio ratio = rate_ratio({1, 10, 1}, {2, 20, 4});
  EXPECT_EQ(ratio.median, 2);
  EXPECT_EQ(ratio.min, 2);
  EXPECT_EQ(ratio.max, 4);
}

}  // namespace
}  // namespace paes::cli
