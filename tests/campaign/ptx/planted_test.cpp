// SPDX-License-Identifier: Apache-2.0
// Faults that were planted in device code and in the calls of a program, each of which must be
// found; and the same without the fault, which must pass.
#include <array>
#include <cstring>

#include "ptx/api.hpp"

namespace paes::ptx {
namespace {

TEST_F(PlantedFaults, CodeWithoutThemPasses) {
  for (const int architecture : {75, 80, 86, 90, 120}) {
    finish();
    start({.architecture = architecture, .seed = static_cast<unsigned>(architecture)});
    ASSERT_EQ(run("copy_words", 32, 0, at(0), at(128)), cudaSuccess);
    ASSERT_EQ(run("reverse", 64, 256, at(0)), cudaSuccess);
    EXPECT_EQ(words()[0], 63U);
    EXPECT_EQ(words()[63], 0U);
    ASSERT_EQ(run("sum_of_warp", 32, 0, at(0), ~0U), cudaSuccess);
    EXPECT_EQ(words()[5], 31U * 32 / 2);
    ASSERT_EQ(run("reverse_in_warp", 32, 32, at(0), 1U), cudaSuccess);
    EXPECT_EQ(words()[0], 0x1c1d1e1fU);
    EXPECT_EQ(complaints(), std::vector<std::string>());
  }
  finish();
  EXPECT_EQ(complaints(), std::vector<std::string>());
}

TEST_F(PlantedFaults, AccessOutOfBounds) {
  // The last word is read from behind what was allocated.
  EXPECT_EQ(run("copy_words", 32, 0, at(132), at(0)), cudaErrorIllegalAddress);
  expect_complaint({"planted.ptx:31", "global read out of bounds", "4 bytes", "copy_words"});
  EXPECT_EQ(run("copy_words", 1, 0, at(0), at(0)), cudaErrorIllegalAddress) << "it was forgotten";
  finish();
}

TEST_F(PlantedFaults, WriteOutOfBounds) {
  EXPECT_EQ(run("copy_words", 32, 0, at(0), at(132)), cudaErrorIllegalAddress);
  expect_complaint({"planted.ptx:32", "global write out of bounds"});
  finish();
}

TEST_F(PlantedFaults, MemoryOfTheHost) {
  std::array<std::uint32_t, 32> mine = {};
  EXPECT_EQ(run("copy_words", 32, 0, mine.data(), at(0)), cudaErrorIllegalAddress);
  expect_complaint({"global read out of bounds"});
  finish();
}

TEST_F(PlantedFaults, MemoryThatWasFreed) {
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&other, 128), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(other, 0, 128, stream_), cudaSuccess);
  ASSERT_EQ(cudaFree(other), cudaSuccess);
  EXPECT_EQ(run("copy_words", 32, 0, other, at(0)), cudaErrorIllegalAddress);
  expect_complaint({"global read out of bounds"});
  finish();
}

TEST_F(PlantedFaults, MisalignedAccess) {
  EXPECT_EQ(run("copy_words", 8, 0, at(2), at(128)), cudaErrorMisalignedAddress);
  expect_complaint({"planted.ptx:31", "misaligned access of 4 bytes"});
  finish();
}

TEST_F(PlantedFaults, BeyondSharedMemory) {
  EXPECT_EQ(run("read_beyond_shared", 1, 256, at(0)), cudaErrorIllegalAddress);
  expect_complaint({"shared read out of bounds"});
  finish();
}

TEST_F(PlantedFaults, SharedMemoryThatNobodyWrote) {
  EXPECT_EQ(run("read_unwritten", 1, 256, at(0)), cudaSuccess);
  expect_complaint({"nobody has written", "read_unwritten"});
  finish();
}

TEST_F(PlantedFaults, AMissingBarrier) {
  // In every order: a thread that comes first has read what is not there yet.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    finish();
    start({.seed = seed});
    EXPECT_EQ(run("reverse_without_barrier", 64, 256, at(0)), cudaSuccess);
    const std::vector<std::string> found = complaints();
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const std::string& what) {
      return what.find("planted.ptx:") == 0 &&
             what.find("race in shared memory") != std::string::npos;
    })) << testing::PrintToString(found);
  }
  finish();
}

TEST_F(PlantedFaults, AMissingSecondBarrier) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    finish();
    start({.seed = seed});
    EXPECT_EQ(run("overwrite_too_early", 64, 256, at(0)), cudaSuccess);
    const std::vector<std::string> found = complaints();
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].find("race in shared memory"), std::string::npos) << found[0];
  }
  finish();
}

TEST_F(PlantedFaults, AMissingSynchronisationOfAWarp) {
  EXPECT_EQ(run("reverse_in_warp", 32, 32, at(0), 0U), cudaSuccess);
  const std::vector<std::string> found = complaints();
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const std::string& what) {
    return what.find("race in shared memory") != std::string::npos;
  }));
  finish();
}

TEST_F(PlantedFaults, AMaskWithoutTheLaneItself) {
  EXPECT_EQ(run("sum_of_warp", 32, 0, at(0), 0xffffU), cudaErrorLaunchFailure);
  expect_complaint({"mask does not name", "0xffff", "sum_of_warp"});
  finish();
}

TEST_F(PlantedFaults, AMaskWithLanesThatDoNotExist) {
  EXPECT_EQ(run("sum_of_warp", 16, 0, at(0), ~0U), cudaErrorLaunchFailure);
  expect_complaint({"does not exist or has ended", "0xffffffff"});
  finish();
}

TEST_F(PlantedFaults, AnExchangeWithALaneOutsideOfTheMask) {
  EXPECT_EQ(run("sum_of_warp", 16, 0, at(0), 0xffffU), cudaErrorLaunchFailure);
  expect_complaint({"which the mask does not name"});
  finish();
}

TEST_F(PlantedFaults, ABarrierThatNotAllReach) {
  EXPECT_EQ(run("leave_before_barrier", 32, 0, at(0)), cudaErrorLaunchFailure);
  expect_complaint({"a barrier that other threads never reach"});
  finish();
}

TEST_F(PlantedFaults, MoreThanTheDeviceHas) {
  EXPECT_EQ(run("reverse", 64, 49 << 10, at(0)), cudaErrorInvalidValue) << "without the attribute";
  EXPECT_EQ(run("reverse", 1025, 256, at(0)), cudaErrorInvalidConfiguration);
  EXPECT_EQ(complaints(), std::vector<std::string>());
  finish();
}

TEST_F(PlantedFaults, MemoryThatWasNotWiped) {
  (void)cudaFree(memory_);
  expect_complaint({"cudaFree: memory of the device that was not wiped"});
  (void)cudaStreamDestroy(stream_);
}

TEST_F(PlantedFaults, PinnedMemoryThatWasNotWiped) {
  void* host = nullptr;
  ASSERT_EQ(cudaHostAlloc(&host, 64, cudaHostAllocPortable), cudaSuccess);
  ASSERT_EQ(cudaFreeHost(host), cudaSuccess) << "nobody has written to it";
  EXPECT_EQ(complaints(), std::vector<std::string>());
  ASSERT_EQ(cudaHostAlloc(&host, 64, cudaHostAllocPortable), cudaSuccess);
  static_cast<std::uint8_t*>(host)[63] = 1;
  ASSERT_EQ(cudaFreeHost(host), cudaSuccess);
  expect_complaint({"cudaFreeHost: memory that was not wiped"});
  finish();
}

TEST_F(PlantedFaults, MemoryThatIsNotPinned) {
  std::array<std::uint8_t, 64> mine = {};
  EXPECT_EQ(cudaMemcpyAsync(memory_, mine.data(), mine.size(), cudaMemcpyHostToDevice, stream_),
            cudaErrorInvalidValue);
  expect_complaint({"memory of the host that is not pinned"});
  finish();
}

TEST_F(PlantedFaults, ACopyOutsideOfWhatWasAllocated) {
  EXPECT_EQ(cudaMemsetAsync(at(1), 0, bytes, stream_), cudaErrorInvalidValue);
  expect_complaint({"cudaMemsetAsync: outside of what was allocated"});
  finish();
}

TEST_F(PlantedFaults, PinnedMemoryFreedUnderACopy) {
  // Until the copy happens not to be done early.
  for (std::uint64_t seed = 0;; ++seed) {
    finish();
    start({.seed = seed});
    void* host = nullptr;
    ASSERT_EQ(cudaHostAlloc(&host, 64, cudaHostAllocPortable), cudaSuccess);
    std::memset(host, 0, 64);
    ASSERT_EQ(cudaMemcpyAsync(memory_, host, 64, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    (void)cudaFreeHost(host);
    if (!complaints().empty()) {
      expect_complaint({"a copy of this memory is still under way"});
      break;
    }
    ASSERT_LT(seed, 100U);
  }
  // The copy would read what is not there any more.
  reset({});
}

TEST_F(PlantedFaults, AKeyThatOutlivesItsImage) {
  static char symbol;
  __cudaRegisterVar(nullptr, &symbol, nullptr, "round_keys", 0, 64, 1, 0);
  void* image = nullptr;
  ASSERT_EQ(cudaMalloc(&image, 32), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(image, 3, 32, stream_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyToSymbolAsync(&symbol, image, 32, 16, cudaMemcpyDeviceToDevice, stream_),
            cudaSuccess);
  ASSERT_EQ(run("read_variables", 1, 0, at(0)), cudaSuccess);
  EXPECT_EQ(words()[0], 0x03030303U);
  EXPECT_EQ(words()[4], 4U);
  ASSERT_EQ(cudaMemsetAsync(image, 0, 32, stream_), cudaSuccess);
  ASSERT_EQ(cudaFree(image), cudaSuccess);
  expect_complaint({"a copy of it is in constant memory"});
  finish();
  EXPECT_EQ(left_behind(), std::vector<std::string>{"keys in constant memory"});
  reset({});
}

// Gives its first allocation back only if all went well.
bool leaks_where_a_call_fails(cudaStream_t stream) {
  void* first = nullptr;
  void* second = nullptr;
  if (cudaMalloc(&first, 64) != cudaSuccess ||
      cudaMemsetAsync(first, 0, 64, stream) != cudaSuccess ||
      cudaMalloc(&second, 64) != cudaSuccess) {
    return false;
  }
  (void)cudaMemsetAsync(second, 0, 64, stream);
  return cudaFree(first) == cudaSuccess && cudaFree(second) == cudaSuccess;
}

TEST_F(PlantedFaults, AFailingCallThatLeaks) {
  EXPECT_TRUE(leaks_where_a_call_fails(stream_));
  const std::size_t used = used_bytes(0);
  EXPECT_EQ(used, bytes);
  for (const std::uint64_t failing : {2U, 3U}) {
    fail_at(calls() + failing, Failing::once);
    EXPECT_FALSE(leaks_where_a_call_fails(stream_));
    EXPECT_TRUE(has_failed());
  }
  EXPECT_EQ(used_bytes(0), used + 128);
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"3 allocations on a device", "1 streams"}));
  reset({});
}

TEST_F(PlantedFaults, WorkThatFailsLate) {
  fail_at(calls() + 1, Failing::late);
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, bytes, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaMemsetAsync(memory_, 1, bytes, stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(complaints(), std::vector<std::string>());
  finish();
}

TEST_F(PlantedFaults, AnEventThatIsReadTooEarly) {
  cudaEvent_t first = nullptr;
  cudaEvent_t second = nullptr;
  ASSERT_EQ(cudaEventCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&second), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, second), cudaErrorNotReady);
  ASSERT_EQ(cudaEventRecord(first, stream_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(second, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, second), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cudaEventDestroy(first), cudaSuccess);
  EXPECT_EQ(left_behind().back(), "1 events");
  EXPECT_EQ(cudaEventDestroy(second), cudaSuccess);
  finish();
}

TEST_F(PlantedFaults, ASeedRepeatsTheOrder) {
  const auto order_of = [&](std::uint64_t seed) {
    finish();
    start({.seed = seed});
    (void)run("reverse_without_barrier", 64, 256, at(0));
    return complaints();
  };
  EXPECT_EQ(order_of(5), order_of(5));
  std::size_t others = 0;
  for (std::uint64_t seed = 6; seed < 16; ++seed) {
    others += order_of(seed) != order_of(5) ? 1U : 0U;
  }
  EXPECT_GT(others, 0U);
  finish();
}

}  // namespace
}  // namespace paes::ptx
