// The public header's device: CUDA's engine over the driver's run-time library.
#include "cuda/cuda_runtime.hpp"
#include "cuda/engine.hpp"
#include "paes/device.hpp"

namespace paes {

std::shared_ptr<Engine> open_device(std::string& why) {
  std::unique_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(why, std::nullopt);
  if (runtime == nullptr) {
    return nullptr;
  }
  return cuda::make_engine(std::move(runtime), {.copies_keystream = true}, why);
}

}  // namespace paes
