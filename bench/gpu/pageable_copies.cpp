// SPDX-License-Identifier: Apache-2.0
#include "gpu/pageable_copies.hpp"

#if defined(PAES_HAS_NVCC)
#include <cuda_runtime_api.h>
#endif

namespace paes::cuda {

#if defined(PAES_HAS_NVCC)

namespace {

class DriverCopies final : public PageableCopies {
 public:
  explicit DriverCopies(int ordinal) : ordinal_(ordinal) {}

  void in(Stream stream, void* device_memory, const void* host, std::size_t bytes) override {
    copy(stream, device_memory, host, bytes, cudaMemcpyHostToDevice);
  }
  void out(Stream stream, void* host, const void* device_memory, std::size_t bytes) override {
    copy(stream, host, device_memory, bytes, cudaMemcpyDeviceToHost);
  }

 private:
  void copy(Stream stream, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaSetDevice(ordinal_), "cudaSetDevice");
    check(cudaMemcpyAsync(to, from, bytes, kind, static_cast<cudaStream_t>(stream.handle)),
          "cudaMemcpyAsync of pageable memory");
  }
  static void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
      (void)cudaGetLastError();
      throw Error(ErrorCode::failure,
                  std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
    }
  }

  int ordinal_;
};

}  // namespace

std::unique_ptr<PageableCopies> make_pageable_copies(int ordinal) {
  return std::make_unique<DriverCopies>(ordinal);
}

#else

std::unique_ptr<PageableCopies> make_pageable_copies(int) {
  throw Error(ErrorCode::failure, "cuda: this build has no CUDA");
}

#endif

}  // namespace paes::cuda
