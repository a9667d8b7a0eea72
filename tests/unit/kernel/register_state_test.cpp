// SPDX-License-Identifier: Apache-2.0
// Kernels on wide registers leave the upper halves zero, as the calling convention asks (System V
// AMD64 ABI, section 3.2.1). Where they do not, each narrow instruction of everybody else's that
// follows may have to save and restore them: 200 ns a time on a Sapphire Rapids, more than a short
// message takes.
#include <gtest/gtest.h>

#include "core/secret.hpp"
#include "kernel_cases.hpp"
#include "varied_bytes.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

namespace paes {
namespace {

// The components of the processor's state that are not as they were at first (XINUSE; Intel SDM
// volume 1, section 13.6): 2 and 6 are the upper parts of the registers that narrow instructions
// have, too.
bool can_ask() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(1, 0, &a, &b, &c, &d) != 0 && (c & bit_OSXSAVE) != 0 &&
         __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a & 4U) != 0;
}

inline bool are_upper_halves_clean() {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & (1U << 2 | 1U << 6)) == 0;
}

class RegisterState : public ::testing::TestWithParam<const Kernel*> {
 protected:
  void SetUp() override {
    kernel_ = GetParam();
    if (const std::string reason = unavailable_reason(*kernel_); !reason.empty()) {
      GTEST_SKIP() << "NOT RUN: " << kernel_->name << ": " << reason;
    }
    if (!can_ask()) {
      GTEST_SKIP() << "NOT RUN: the processor does not say which registers are in use";
    }
  }

  const Kernel* kernel_ = nullptr;
};

TEST_P(RegisterState, IsCleanAfterEachOperation) {
  const std::vector<std::uint8_t> key_bytes =
      test::varied_bytes(kernel_->cipher == Cipher::aes ? 16 : 24, 1);
  Secret<KernelKeys> keys;
  kernel_->prepare(key_bytes, *keys);
  EXPECT_TRUE(are_upper_halves_clean()) << "prepare";
  std::vector<std::uint8_t> text(16384);
  for (const std::size_t bytes : {16U, 64U, 208U, 1024U, 4144U, 16384U}) {
    for (const bool streams : {false, true}) {
      const std::uint8_t iv[16] = {};
      const CounterBlock counter = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
      const Tweak tweak = {};
      const ChainBlock before = {};
      HashValue hash = {};
      Tag tag = {};
      const Text whole = {text.data(), text.data(), bytes};
      const auto expect_clean = [&](const char* what, unsigned index) {
        const bool is_clean = are_upper_halves_clean();
        EXPECT_TRUE(is_clean) << what << " " << index << ", " << bytes;
      };
      for (unsigned index = 0; index < operation_count; ++index) {
        const auto which = static_cast<Operation>(index);
        if (const PieceFunction run = kernel_->run(which); run != nullptr) {
          run(*keys, {.text = whole,
                      .counter = &counter,
                      .tweak = &tweak,
                      .before = &before,
                      .is_counter_public = true,
                      .bypasses_caches = streams});
          expect_clean("operation", index);
        }
        if (const ChainFunction run = kernel_->run_chains(which); run != nullptr) {
          Chain chains[3] = {{whole, {}},
                             {{text.data(), text.data(), 16}, {}},
                             {{text.data(), text.data(), 48}, {}}};
          run(*keys, std::span<Chain>(chains));
          expect_clean("chained operation", index);
        }
      }
      const GcmRuns& gcm = kernel_->gcm;
      if (gcm.hash != nullptr) {
        gcm.hash(*keys, text.data(), bytes, hash);
        expect_clean("hash", 0);
      }
      for (const GcmPieceFunction run : {gcm.encrypt, gcm.decrypt}) {
        if (run != nullptr) {
          run(*keys, {whole, &counter, true}, hash);
          expect_clean("piece of GCM", run == gcm.decrypt);
        }
      }
      for (const WholeMessageFunction run : {gcm.seal, gcm.open, gcm.verify}) {
        if (run != nullptr) {
          run(*keys,
              {.text = {text.data(), run == gcm.verify ? nullptr : text.data(), bytes},
               .iv = Bytes(iv).first(12),
               .pre_counter = &counter,
               .is_counter_public = true,
               .aad = {},
               .aad_hash = &hash,
               .claimed_tag = iv},
              tag);
          expect_clean("message of GCM", run == gcm.seal ? 0 : run == gcm.open ? 1 : 2);
        }
      }
    }
  }
  if (kernel_->release != nullptr) {
    kernel_->release(*keys);
  }
}

// Emulated ones have no registers of their own.
std::vector<const Kernel*> kernels_of_the_processor() {
  std::vector<const Kernel*> kernels = all_tested_kernels();
  std::erase_if(kernels, [](const Kernel* kernel) { return test::is_emulated(*kernel); });
  return kernels;
}

INSTANTIATE_TEST_SUITE_P(Kernels, RegisterState, ::testing::ValuesIn(kernels_of_the_processor()),
                         [](const auto& row) { return test_name(*row.param); });

}  // namespace
}  // namespace paes
#endif
