// SPDX-License-Identifier: Apache-2.0
#include "gpu/stopwatch.hpp"

#if defined(PAES_HAS_NVCC)
#include <cuda_runtime_api.h>
#endif

namespace paes::cuda {

#if defined(PAES_HAS_NVCC)

namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    throw Error(ErrorCode::failure,
                std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
  }
}

#define PAES_CHECKED(function, ...) check(function(__VA_ARGS__), #function)

class EventStopwatch final : public DeviceStopwatch {
 public:
  explicit EventStopwatch(int ordinal) {
    PAES_CHECKED(cudaSetDevice, ordinal);
    PAES_CHECKED(cudaEventCreate, &start_);
    if (const cudaError_t error = cudaEventCreate(&stop_); error != cudaSuccess) {
      (void)cudaEventDestroy(start_);
      check(error, "cudaEventCreate");
    }
  }
  ~EventStopwatch() override {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
  }
  EventStopwatch(const EventStopwatch&) = delete;
  EventStopwatch& operator=(const EventStopwatch&) = delete;

  void start(Stream stream) override {
    PAES_CHECKED(cudaEventRecord, start_, static_cast<cudaStream_t>(stream.handle));
  }
  void stop(Stream stream) override {
    PAES_CHECKED(cudaEventRecord, stop_, static_cast<cudaStream_t>(stream.handle));
  }
  [[nodiscard]] double seconds() override {
    float milliseconds = 0;
    PAES_CHECKED(cudaEventElapsedTime, &milliseconds, start_, stop_);
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace

DeviceFacts facts_of(int ordinal) {
  int kilohertz = 0;
  DeviceFacts facts = {};
  PAES_CHECKED(cudaDeviceGetAttribute, &kilohertz, cudaDevAttrClockRate, ordinal);
  PAES_CHECKED(cudaDriverGetVersion, &facts.driver);
  PAES_CHECKED(cudaRuntimeGetVersion, &facts.toolkit);
  facts.clock_hz = 1e3 * kilohertz;
  return facts;
}

std::unique_ptr<DeviceStopwatch> make_stopwatch(int ordinal) {
  return std::make_unique<EventStopwatch>(ordinal);
}

#else

DeviceFacts facts_of(int) { throw Error(ErrorCode::failure, "cuda: this build has no CUDA"); }

std::unique_ptr<DeviceStopwatch> make_stopwatch(int) {
  throw Error(ErrorCode::failure, "cuda: this build has no CUDA");
}

#endif

}  // namespace paes::cuda
