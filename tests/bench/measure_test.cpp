// A figure is worth nothing if a wrong kernel gets one, or if the arithmetic behind it is off.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "paes/bench_kernel_turns.hpp"
#include "paes/bench_reference.hpp"
#include "paes/bench_statistics.hpp"
#include "paes/error.hpp"

namespace paes::cli {
namespace {

const Kernel& good() { return find_kernel(Cipher::aes, "compute"); }

// `compute` with one fault in one operation.
void wrong_byte(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  good().run(GcmOperation::seal)(keys, state, piece);
  piece.out[piece.bytes - 1] ^= 1;
}
void wrong_tag(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  good().run(GcmOperation::seal)(keys, state, piece);
  piece.hash->bytes[15] ^= 1;
}
void wrong_plaintext(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  good().run(GcmOperation::open)(keys, state, piece);
  piece.out[0] ^= 1;
}
void accepts_nothing(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  good().run(GcmOperation::verify)(keys, state, piece);
  piece.hash->bytes[0] ^= 0x80;
}

Kernel with_fault(GcmOperation operation, RunFunction fault) {
  Kernel kernel = good();
  kernel.name = "faulty";
  kernel.gcm.function[static_cast<unsigned>(operation)] = fault;
  return kernel;
}

std::vector<KernelTimes> measure(const Kernel& kernel, Direction direction, unsigned threads = 1) {
  const Kernel* const rows[] = {&good(), &kernel};
  const auto executor =
      make_executor(threads == 1 ? Schedule::serial : Schedule::omp_static, threads);
  return take_turns(rows, {32, direction, 100, 0, BenchClock::wall, {}}, *executor);
}

TEST(Turns, EveryDirectionGivesPairedRounds) {
  for (const Direction direction : {Direction::encrypt, Direction::decrypt, Direction::verify}) {
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
    RunFunction fault;
    GcmOperation operation;
    Direction direction;
  } cases[] = {{wrong_byte, GcmOperation::seal, Direction::encrypt},
               {wrong_tag, GcmOperation::seal, Direction::encrypt},
               {wrong_plaintext, GcmOperation::open, Direction::decrypt},
               {accepts_nothing, GcmOperation::verify, Direction::verify}};
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
  for (const char* name : {"copy", "vaes_loop"}) {
    for (const Kernel* kernel : all_kernels()) {
      if (std::strcmp(kernel->name, name) == 0 && unavailable_reason(*kernel).empty()) {
        (void)measure(*kernel, Direction::encrypt);
        (void)measure(*kernel, Direction::decrypt);
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
