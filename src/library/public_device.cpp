// SPDX-License-Identifier: Apache-2.0
// The public header's device: CudaDevice over NVIDIA's run-time library.
#include "cuda/cuda_device.hpp"
#include "cuda/cuda_runtime.hpp"
#include "paes/device.hpp"

std::shared_ptr<paes::Device> paes::open_device(std::string& why) {
  std::unique_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(why, std::nullopt);
  if (runtime == nullptr) {
    return nullptr;
  }
  return cuda::make_device(std::move(runtime), {.copies_keystream = true}, why);
}
