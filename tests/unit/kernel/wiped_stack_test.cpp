// SPDX-License-Identifier: Apache-2.0
// Nothing is left of a kernel's frames: a call's stack is searched for any byte that is neither
// what was there before nor zero. So no secret is left, whichever places a compiler chose for it.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "core/secret.hpp"
#include "kernel_cases.hpp"
#include "own_stack.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

constexpr std::uint8_t paint = 0xa5;
// More than the frame of the wrapper that wipes, in which there are only addresses.
constexpr std::size_t wrapper_bytes = 64;

__attribute__((noinline)) std::uint8_t* own_frame() {
  return static_cast<std::uint8_t*>(__builtin_frame_address(0));
}

// How far below the frame of its caller a function leaves anything; 0 if nothing is left. `end` is
// the lower end of the stack that this runs on. Nothing else is called between painting and
// looking.
template <class... Arguments>
__attribute__((noinline)) std::size_t depth_of_what_is_left(volatile std::uint8_t* end,
                                                            void (*run)(Arguments...),
                                                            Arguments... arguments) {
  run(arguments...);  // the first call of a library's function is the dynamic linker's as well
  volatile std::uint8_t* const begin = own_frame() - wrapper_bytes;
  for (volatile std::uint8_t* at = end; at != begin; at = at + 1) {
    *at = paint;
  }
  run(arguments...);
  for (volatile std::uint8_t* at = end; at != begin; at = at + 1) {
    if (*at != paint && *at != 0) {
      return static_cast<std::size_t>(begin - at) + wrapper_bytes;
    }
  }
  return 0;
}

// A row's functions, called with everything that they take.
class Calls {
 public:
  Calls(const Kernel& kernel, std::size_t key_bytes, std::uint8_t* stack_end)
      : kernel_(kernel), key_(test::varied_bytes(key_bytes, 1)), stack_end_(stack_end) {}

  void prepare() { expect_nothing("prepare", 0, kernel_.prepare, key_, *keys_); }

  void modes(std::size_t bytes, bool is_counter_public, bool bypasses_caches) {
    const Piece piece = {.text = {text_.data(), out_.data(), bytes},
                         .counter = &counter_,
                         .tweak = &tweak_,
                         .before = &before_,
                         .is_counter_public = is_counter_public,
                         .bypasses_caches = bypasses_caches};
    for (unsigned index = 0; index < operation_count; ++index) {
      const auto which = static_cast<Operation>(index);
      const std::string name = "operation " + std::to_string(index);
      if (kernel_.run(which) != nullptr) {
        expect_nothing(name, bytes, kernel_.run(which), *keys_, piece);
      }
      for (const std::size_t count : {std::size_t{1}, std::size_t{kernel_.lanes} + 3}) {
        if (kernel_.run_chains(which) == nullptr || bytes > 1024) {
          break;
        }
        std::vector<Chain> chains(count, {{text_.data(), out_.data(), bytes}, {}});
        chains.front().text.bytes += 16;
        expect_nothing(name, bytes, kernel_.run_chains(which), *keys_, chains);
      }
    }
  }

  void gcm(std::size_t bytes, bool is_counter_public) {
    const GcmRuns& gcm = kernel_.gcm;
    const Text text = {text_.data(), out_.data(), bytes};
    const WholeMessage message = {.text = text,
                                  .iv = key_,
                                  .pre_counter = &counter_,
                                  .is_counter_public = is_counter_public,
                                  .aad = {},
                                  .aad_hash = &hash_,
                                  .claimed_tag = key_};
    WholeMessage verified = message;
    verified.text.out = nullptr;
    expect_nothing("seal", bytes, gcm.seal, *keys_, message, tag_);
    expect_nothing("open", bytes, gcm.open, *keys_, message, tag_);
    expect_nothing("verify", bytes, gcm.verify, *keys_, verified, tag_);
    GcmPiece piece = {text, &counter_, is_counter_public};
    piece.text.bytes -= bytes % block_bytes;
    expect_nothing("hash", bytes, gcm.hash, *keys_, text.in, piece.text.bytes, hash_);
    expect_nothing("encrypt", bytes, gcm.encrypt, *keys_, piece, hash_);
    expect_nothing("decrypt", bytes, gcm.decrypt, *keys_, piece, hash_);
  }

 private:
  template <class... Arguments>
  void expect_nothing(const std::string& what, std::size_t bytes, void (*run)(Arguments...),
                      std::type_identity_t<Arguments>... arguments) {
    EXPECT_EQ(depth_of_what_is_left<Arguments...>(stack_end_, run, arguments...), 0U)
        << what << ": " << bytes << " bytes, key of " << key_.size();
  }

  const Kernel& kernel_;
  std::vector<std::uint8_t> key_;
  std::uint8_t* stack_end_;
  Secret<KernelKeys> keys_;
  std::vector<std::uint8_t> text_ = test::varied_bytes(40000, 2);
  std::vector<std::uint8_t> out_ = std::vector<std::uint8_t>(40000);
  CounterBlock counter_ = {{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 1}};
  Tweak tweak_ = {{3, 1, 4, 1, 5}};
  ChainBlock before_ = {{2, 7, 1, 8}};
  HashValue hash_ = {{1, 6, 1, 8}};
  Tag tag_ = {};
};

class WipedStack : public ::testing::TestWithParam<const Kernel*> {};

TEST_P(WipedStack, AfterEachOperation) {
  const Kernel& kernel = *GetParam();
  if (!test::keeps_stack()) {
    GTEST_SKIP() << "sanitizers and builds without optimisation keep variables elsewhere";
  }
  if (const std::string reason = unavailable_reason(kernel); !reason.empty()) {
    GTEST_SKIP() << "NOT RUN: " << kernel.name << ": " << reason;
  }
  test::on_own_stack([&](MutableBytes stack) {
    for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
      if (kernel.cipher != Cipher::aes && key_bytes != 24) {
        continue;
      }
      Calls calls(kernel, key_bytes, stack.data());
      calls.prepare();
      for (const std::size_t bytes : {16U, 64U, 208U, 1008U, 4144U, 16400U}) {
        calls.modes(bytes, true, false);
        calls.modes(bytes, false, true);
        for (const std::size_t more : {0U, 7U}) {
          if (has_gcm(kernel)) {
            calls.gcm(bytes + more, true);
            calls.gcm(bytes + more, false);
          }
        }
      }
    }
  });
}

// Those of the processor whose keys and code are our own: libcrypto's stack is its own matter.
std::vector<const Kernel*> own_kernels() {
  std::vector<const Kernel*> kernels = all_tested_kernels();
  std::erase_if(kernels, [](const Kernel* kernel) {
    return test::is_emulated(*kernel) || kernel->release != nullptr;
  });
  return kernels;
}

INSTANTIATE_TEST_SUITE_P(Kernels, WipedStack, ::testing::ValuesIn(own_kernels()),
                         [](const auto& row) { return test_name(*row.param); });

}  // namespace
}  // namespace paes
