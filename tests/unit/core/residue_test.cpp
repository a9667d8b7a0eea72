// SPDX-License-Identifier: Apache-2.0
// What calls leave on the stack and in vector registers is gone after the scope that wipes it.
#include "core/residue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "own_stack.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

const std::vector<std::uint8_t> secret = test::varied_bytes(16, 1);

// Leaves the secret so deep below its caller.
template <std::size_t depth>
[[gnu::noinline]] void leave_secret() {
  std::uint8_t deep[depth + 16];
  std::copy(secret.begin(), secret.end(), deep);
  asm volatile("" : : "r"(deep) : "memory");
}

TEST(Residue, NothingIsLeftOnTheStack) {
  if (!test::keeps_stack()) {
    GTEST_SKIP() << "sanitizers and builds without optimisation keep variables elsewhere";
  }
  const auto leaves = [](bool wipes, void (*leave)()) {
    return test::is_left_on_stack(secret, [&] {
      if (wipes) {
        const WipeResidueOnExit wiped;
        leave();
      } else {
        leave();
      }
    });
  };
  for (void (*const leave)() :
       {leave_secret<4000>, leave_secret<10'000>, leave_secret<30'000>, leave_secret<60'000>}) {
    ASSERT_TRUE(leaves(false, leave)) << "this test sees nothing";
    EXPECT_FALSE(leaves(true, leave));
  }
}

#if defined(__x86_64__)

// Fills registers, and gives the number of them that still have something after the scope. There is
// no call between the two but that which wipes.
#define PAES_TEST_REGISTER(instruction, name)                                           \
  [&] {                                                                                 \
    std::uint64_t after = 0;                                                            \
    {                                                                                   \
      const WipeResidueOnExit wiped;                                                    \
      asm volatile(instruction " %0, %%" name : : "r"(std::uint64_t{0x5ec2e7}) : name); \
    }                                                                                   \
    asm volatile(instruction " %%" name ", %0" : "=r"(after));                          \
    return after;                                                                       \
  }()

TEST(Residue, NothingIsLeftInRegisters) {
  EXPECT_EQ(PAES_TEST_REGISTER("movq", "xmm0"), 0U);
  EXPECT_EQ(PAES_TEST_REGISTER("movq", "xmm7"), 0U);
  EXPECT_EQ(PAES_TEST_REGISTER("movq", "xmm15"), 0U);
}

[[gnu::target("avx512f")]] std::uint64_t left_in_register_of_avx512() {
  return PAES_TEST_REGISTER("vmovq", "xmm31");
}

TEST(Residue, NothingIsLeftInRegistersOfAvx512) {
  if (!__builtin_cpu_supports("avx512f")) {
    GTEST_SKIP() << "NOT RUN: the processor has no AVX-512";
  }
  EXPECT_EQ(left_in_register_of_avx512(), 0U);
}

#endif

}  // namespace
}  // namespace paes
