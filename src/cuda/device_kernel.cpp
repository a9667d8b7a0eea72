// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_kernel.hpp"

namespace paes::cuda {

namespace {

#define PAES_DEVICE_KERNEL(name) &device_kernel_##name,
constexpr const DeviceKernel* const rows[] = {
#include "cuda/device_kernels.def"
};
#undef PAES_DEVICE_KERNEL

}  // namespace

std::span<const DeviceKernel* const> device_kernels() noexcept { return rows; }

}  // namespace paes::cuda
