// SPDX-License-Identifier: Apache-2.0
// Which devices are taken and which are refused, and with what words; and why a device of the
// public header is not there.
#include "cuda/cuda_runtime.hpp"

#include <gtest/gtest.h>

#include "cuda_runtime/runtime_stand_in.hpp"
#include "paes/device.hpp"

namespace paes {
namespace {

using test::stand_in;

class CudaRuntime : public testing::Test {
 protected:
  CudaRuntime() { stand_in() = {}; }

  // How many devices are taken.
  std::size_t open() {
    const auto runtime = cuda::open_cuda_runtime(why_);
    return runtime == nullptr ? 0 : runtime->devices().size();
  }

  std::string why_;
};

TEST_F(CudaRuntime, RefusesADeviceWithoutCodeInOneLine) {
  stand_in().devices = {{.architecture = 86, .code = cudaErrorNoKernelImageForDevice}};
  EXPECT_EQ(open(), 0U);
  EXPECT_EQ(why_, "stand-in (sm_86) runs no kernel of this build: no kernel image is available");
}

TEST_F(CudaRuntime, TakesWhatTheDriverHasCodeFor) {
  for (const int architecture : {75, 80, 86, 89, 90, 103, 120}) {
    stand_in().devices = {{.architecture = architecture}};
    EXPECT_EQ(open(), 1U) << architecture;
    EXPECT_EQ(why_, "");
  }
}

TEST_F(CudaRuntime, LeavesOutDevicesWithoutCode) {
  stand_in().devices = {{.architecture = 80},
                        {.architecture = 87, .code = cudaErrorUnsupportedPtxVersion},
                        {.architecture = 90}};
  EXPECT_EQ(open(), 2U);
}

TEST_F(CudaRuntime, RefusesOldAndProhibitedDevicesWithoutStartingThem) {
  stand_in().devices = {{.architecture = 61}};
  EXPECT_TRUE(cuda::list_cuda_devices(why_).empty());
  EXPECT_EQ(why_.rfind("sm_61 is older than sm_", 0), 0U) << why_;
  stand_in().devices = {{.architecture = 90, .compute_mode = cudaComputeModeProhibited}};
  EXPECT_EQ(open(), 0U);
  EXPECT_EQ(why_, "its compute mode is \"prohibited\"");
}

TEST_F(CudaRuntime, WithAllSlotsTakenADeviceSaysSo) {
  stand_in().devices = {{.architecture = 90}};
  const auto first = open_device(why_);
  const auto second = open_device(why_);
  ASSERT_NE(first, nullptr) << why_;
  ASSERT_NE(second, nullptr) << why_;
  EXPECT_EQ(open_device(why_), nullptr);
  EXPECT_EQ(why_, "cuda: this process uses all 8 slots of the device already");
}

TEST_F(CudaRuntime, WithoutMemoryADeviceSaysSo) {
  stand_in().devices = {{.architecture = 90}};
  stand_in().memory_bytes = 1000;
  EXPECT_EQ(open_device(why_), nullptr);
  EXPECT_EQ(why_, "cuda: cudaMalloc: out of memory");
}

TEST_F(CudaRuntime, AsksEachDeviceOnceAboutAKernel) {
  stand_in().devices = {{.architecture = 90}, {.architecture = 90}};
  const auto runtime = cuda::open_cuda_runtime(why_);
  ASSERT_NE(runtime, nullptr) << why_;
  const cuda::DeviceKernel& kernel = *cuda::device_kernels().front();
  const std::vector<std::uint8_t> image(kernel.image_bytes);
  const cuda::Launch launch = {image.data(), 16, {}, 0, nullptr};
  for (const Operation operation : {Operation::ctr, Operation::ecb_encrypt}) {
    const cuda::Job job = {.operation = operation, .in = nullptr, .out = nullptr, .bytes = 16};
    for (unsigned device = 0; device < 2; ++device) {
      for (unsigned round = 0; round < 3; ++round) {
        stand_in().questions = 0;
        stand_in().launches = 0;
        runtime->launch({device, nullptr}, kernel, launch, job);
        EXPECT_EQ(stand_in().launches, 1U);
        EXPECT_EQ(stand_in().questions, round == 0 ? 2U : 0U);
      }
    }
  }
}

// What a wait throws when the run-time library answers it with `error`.
enum class Thrown : unsigned { nothing, passing, out_of_memory, lasting };
Thrown thrown_by(cuda::Runtime& runtime, cudaError_t error) {
  stand_in().when_waiting = error;
  try {
    runtime.wait({});
  } catch (const cuda::OutOfMemory&) {
    return Thrown::out_of_memory;
  } catch (const cuda::PassingError&) {
    return Thrown::passing;
  } catch (const Error&) {
    return Thrown::lasting;
  }
  return Thrown::nothing;
}

TEST_F(CudaRuntime, KnowsWhichErrorsPass) {
  stand_in().devices = {{.architecture = 90}};
  const auto runtime = cuda::open_cuda_runtime(why_);
  ASSERT_NE(runtime, nullptr) << why_;
  EXPECT_EQ(thrown_by(*runtime, cudaSuccess), Thrown::nothing);
  EXPECT_EQ(thrown_by(*runtime, cudaErrorMemoryAllocation), Thrown::out_of_memory);
  for (const cudaError_t error :
       {cudaErrorDevicesUnavailable, cudaErrorSystemNotReady, cudaErrorMpsServerNotReady,
        cudaErrorMpsMaxClientsReached, cudaErrorMpsMaxConnectionsReached}) {
    EXPECT_EQ(thrown_by(*runtime, error), Thrown::passing) << error;
  }
  for (const cudaError_t error :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorLaunchTimeout,
        cudaErrorECCUncorrectable, cudaErrorInvalidValue, cudaErrorLaunchOutOfResources,
        cudaErrorNoKernelImageForDevice, cudaErrorUnknown, cudaErrorOperatingSystem}) {
    EXPECT_EQ(thrown_by(*runtime, error), Thrown::lasting) << error;
  }
}

}  // namespace
}  // namespace paes
