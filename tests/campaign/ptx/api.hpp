// SPDX-License-Identifier: Apache-2.0
// The run-time library as the tests of tools/emulate/ptx call it, and kernels of planted.ptx by
// their names.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "emulate/ptx/stand_in.hpp"

// What nvcc's objects tell the library of a kernel and of a variable.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): NVIDIA's names
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace paes::ptx {

// A device with one stream and memory, which is filled with a pattern.
class PlantedFaults : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 256;

  PlantedFaults() { start({}); }
  ~PlantedFaults() override {
    EXPECT_EQ(left_behind(), std::vector<std::string>());
    forget_complaints();
  }

  void start(const Options& options) {
    reset(options);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory_, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory_, 7, bytes, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  // Gives everything back; what was wiped on a device that is lost nobody can say.
  void finish() {
    (void)cudaMemsetAsync(memory_, 0, bytes, stream_);
    (void)cudaStreamSynchronize(stream_);
    (void)cudaFree(memory_);
    (void)cudaStreamDestroy(stream_);
  }

  // Launches one thread block of a kernel and waits.
  template <class... Arguments>
  cudaError_t run(const char* kernel, unsigned threads, std::size_t shared,
                  Arguments... arguments) {
    static char functions[64];
    static std::vector<std::string> names;
    auto found = std::find(names.begin(), names.end(), kernel);
    if (found == names.end()) {
      found = names.insert(found, kernel);
      __cudaRegisterFunction(nullptr, functions + names.size() - 1, nullptr, kernel, -1, nullptr,
                             nullptr, nullptr, nullptr, nullptr);
    }
    void* all[] = {&arguments...};
    const cudaError_t error = cudaLaunchKernel(functions + (found - names.begin()), dim3(1),
                                               dim3(threads), all, shared, stream_);
    return error != cudaSuccess ? error : cudaStreamSynchronize(stream_);
  }

  // The memory as words.
  std::vector<std::uint32_t> words() {
    void* host = nullptr;
    EXPECT_EQ(cudaHostAlloc(&host, bytes, cudaHostAllocPortable), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(host, memory_, bytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    const auto* const first = static_cast<const std::uint32_t*>(host);
    std::vector<std::uint32_t> copied(first, first + bytes / 4);
    std::fill_n(static_cast<std::uint8_t*>(host), bytes, std::uint8_t{0});
    EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
    return copied;
  }

  // Exactly one complaint, which has all of these words.
  static void expect_complaint(const std::vector<std::string>& wanted) {
    const std::vector<std::string> found = complaints();
    ASSERT_EQ(found.size(), 1U) << testing::PrintToString(found);
    for (const std::string& word : wanted) {
      EXPECT_NE(found[0].find(word), std::string::npos) << found[0] << "\nlacks: " << word;
    }
  }

  [[nodiscard]] std::uint8_t* at(std::size_t offset) const {
    return static_cast<std::uint8_t*>(memory_) + offset;
  }

  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace paes::ptx
