// SPDX-License-Identifier: Apache-2.0
#include "cuda_runtime/runtime_stand_in.hpp"

#include <cstdlib>
#include <cstring>
#include <map>

using paes::test::stand_in;

namespace paes::test {

StandIn& stand_in() {
  static StandIn one;
  return one;
}

}  // namespace paes::test

namespace {

std::map<void*, std::size_t>& allocated() {
  static std::map<void*, std::size_t> all;
  return all;
}

const paes::test::StandInDevice& device(int ordinal) {
  return stand_in().devices.at(static_cast<std::size_t>(ordinal));
}

}  // namespace

// What nvcc's objects call when the program starts and when they launch.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): NVIDIA's names
void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, void*) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) { return cudaSuccess; }
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  ++stand_in().launches;
  return cudaSuccess;
}
// NOLINTEND(bugprone-reserved-identifier)

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) {
  return device(stand_in().current).code;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  ++stand_in().questions;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   std::size_t, unsigned) {
  ++stand_in().questions;
  *blocks = 1;
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbolAsync(const void*, const void*, std::size_t, std::size_t,
                                    cudaMemcpyKind, cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(stand_in().devices.size());
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  switch (attribute) {
    case cudaDevAttrComputeMode:
      *value = device(ordinal).compute_mode;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = device(ordinal).architecture / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = device(ordinal).architecture % 10;
      break;
    default:
      *value = 1 << 16;
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  std::memset(static_cast<void*>(properties), 0, sizeof *properties);
  constexpr char name[] = "stand-in";
  std::memcpy(properties->name, name, sizeof name);
  properties->major = device(ordinal).architecture / 10;
  properties->minor = device(ordinal).architecture % 10;
  properties->multiProcessorCount = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int ordinal) {
  stand_in().current = ordinal;
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice ? "no kernel image is available"
         : error == cudaErrorMemoryAllocation     ? "out of memory"
                                                  : "another error";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (bytes > stand_in().memory_bytes - stand_in().used_bytes) {
    return cudaErrorMemoryAllocation;
  }
  *memory = std::malloc(bytes);
  stand_in().used_bytes += bytes;
  allocated()[*memory] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  stand_in().used_bytes -= allocated()[memory];
  allocated().erase(memory);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void*, int, std::size_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return stand_in().when_waiting; }
}
