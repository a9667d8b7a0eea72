// SPDX-License-Identifier: Apache-2.0
// The kernels that tests run: the rows of the kernel table, and emulated device kernels in programs
// that ask for them; or only the kernels of a real device. PAES_TEST_KERNELS may select some by
// name ("vaes512 des_bitslice_avx512"), for machines that are too slow for all.
#pragma once

#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernel/registry.hpp"
#if defined(PAES_TEST_EMULATED_KERNELS)
#include "emulated_device_kernels.hpp"
#elif defined(PAES_TEST_DEVICE_KERNELS)
#include "tested_device_kernels.hpp"
#else
namespace paes::test {
[[nodiscard]] inline bool is_emulated(const Kernel& /*kernel*/) { return false; }
}  // namespace paes::test
#endif

namespace paes {

// Rows of different ciphers may share a name.
inline std::string test_name(const Kernel& kernel) {
  return (kernel.cipher == Cipher::aes ? "" : "des_") + std::string(kernel.name);
}

// The names in PAES_TEST_KERNELS, even if no such kernel exists: a test must fail if one is
// missing.
inline std::set<std::string> names_of_some_kernels() {
  const char* const names = std::getenv("PAES_TEST_KERNELS");
  std::istringstream words(names == nullptr ? "" : names);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

inline bool tests_only_some_kernels() { return !names_of_some_kernels().empty(); }

inline bool is_to_be_tested(const Kernel& kernel) {
  return !tests_only_some_kernels() || names_of_some_kernels().contains(test_name(kernel));
}

inline std::vector<const Kernel*> tested_kernels(Cipher cipher = Cipher::aes) {
  std::vector<const Kernel*> tested;
#if defined(PAES_TEST_DEVICE_KERNELS)
  for (const Kernel* kernel : test::device_rows()) {
    if (kernel->cipher == cipher && test::is_whole_device(*kernel)) {
      tested.push_back(kernel);
    }
  }
#else
  for (const Kernel* kernel : all_kernels()) {
    if (kernel->cipher == cipher && is_to_be_tested(*kernel)) {
      tested.push_back(kernel);
    }
  }
#endif
#if defined(PAES_TEST_EMULATED_KERNELS)
  for (const Kernel* kernel : test::emulated_kernels()) {
    if (kernel->cipher == cipher && is_to_be_tested(*kernel)) {
      tested.push_back(kernel);
    }
  }
#endif
  return tested;
}

inline bool has_gcm(const Kernel& kernel) { return kernel.gcm.seal != nullptr; }

// Those that have GCM.
inline std::vector<const Kernel*> tested_gcm_kernels() {
  std::vector<const Kernel*> tested = tested_kernels();
  std::erase_if(tested, [](const Kernel* kernel) { return !has_gcm(*kernel); });
  return tested;
}

// Those of every cipher.
inline std::vector<const Kernel*> all_tested_kernels() {
  std::vector<const Kernel*> tested = tested_kernels(Cipher::aes);
  const std::vector<const Kernel*> des = tested_kernels(Cipher::des_ede3);
  tested.insert(tested.end(), des.begin(), des.end());
  return tested;
}

}  // namespace paes
