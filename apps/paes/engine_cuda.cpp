#include "paes/engine_cuda.hpp"

#include "cuda/cuda_runtime.hpp"
#include "cuda/engine.hpp"
#include "paes/report.hpp"

namespace paes::cli {

CudaEngine open_cuda_engine(const std::string& device_kernel, Notes notes,
                            std::optional<unsigned> share, bool copies_keystream) {
  CudaEngine opened;
  std::unique_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(opened.why, share);
  if (runtime == nullptr) {
    return opened;
  }
  opened.has_device = true;
  opened.engine = cuda::make_engine(std::move(runtime),
                                    {.copies_keystream = copies_keystream,
                                     .kernel = device_kernel,
                                     .note =
                                         [notes](const std::string& note) {
                                           if (notes != Notes::none) {
                                             print_note("paes: " + note);
                                           }
                                         }},
                                    opened.why);
  return opened;
}

}  // namespace paes::cli
