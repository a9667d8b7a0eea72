#include "paes/engine_cuda.hpp"

#include "cuda/cuda_runtime.hpp"
#include "cuda/engine.hpp"
#include "paes/report.hpp"

namespace paes::cli {

std::unique_ptr<Engine> open_cuda_engine(const std::string& device_kernel, std::string& why,
                                         Notes notes, std::optional<unsigned> share,
                                         bool copies_keystream) {
  std::unique_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(why, share);
  if (runtime == nullptr) {
    return nullptr;
  }
  return cuda::make_engine(std::move(runtime), {.copies_keystream = copies_keystream,
                                                .kernel = device_kernel,
                                                .note = [notes](const std::string& note) {
                                                  if (notes != Notes::none) {
                                                    print_note("paes: " + note);
                                                  }
                                                }});
}

}  // namespace paes::cli
