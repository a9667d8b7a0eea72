#include "paes/cuda_device.hpp"

#include "cuda/cuda_device.hpp"
#include "cuda/cuda_runtime.hpp"
#include "paes/report.hpp"

namespace paes::cli {

OpenedDevice open_cuda_device(const std::string& device_kernel, Notes notes,
                              std::optional<unsigned> share, bool copies_keystream) {
  OpenedDevice opened;
  std::unique_ptr<cuda::Runtime> runtime = cuda::open_cuda_runtime(opened.why, share);
  if (runtime == nullptr) {
    return opened;
  }
  opened.has_device = true;
  opened.device = cuda::make_device(std::move(runtime),
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
