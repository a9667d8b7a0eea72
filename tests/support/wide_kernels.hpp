// SPDX-License-Identifier: Apache-2.0
// The kernels that this processor must be able to run, according to the system's list of features
// (on Armv8, to a register of the processor) and not to ours. If our list missed a feature, its
// kernel would silently never run. Tests that run all kernels record here which ones they ran, and
// fail if one is missing.
#pragma once

#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernel/registry.hpp"

namespace paes::test {

struct WideKernel {
  Cipher cipher;
  const char* name;
  const char* needs;  // as in Linux's /proc/cpuinfo
};

inline constexpr WideKernel wide_kernels[] = {
#if defined(__x86_64__)
    {Cipher::aes, "aesni", "aes pclmulqdq sse4_1 avx"},
    {Cipher::aes, "vaes256", "aes pclmulqdq avx2 vaes vpclmulqdq"},
    {Cipher::aes, "vaes512",
     "aes pclmulqdq avx2 vaes vpclmulqdq avx512f avx512bw avx512dq avx512vl avx512vbmi"},
    {Cipher::des_ede3, "bitslice_avx2", "avx2"},
    {Cipher::des_ede3, "bitslice_avx512", "avx2 avx512f avx512bw avx512dq avx512vl"},
#elif defined(__aarch64__)
    {Cipher::aes, "armv8", "aes pmull sha1 sha2"},
#endif
    {Cipher::aes, "bitslice", ""},
    {Cipher::des_ede3, "bitslice", ""},
};

#if defined(__aarch64__)
// From ID_AA64ISAR0_EL1, which Linux reads for programs that may not (arm64/cpu-feature-registers),
// because under an emulator /proc/cpuinfo can be that of the surrounding machine. In bits 7 to 4, a
// 1 means AES, and a 2 also PMULL.
inline std::set<std::string> system_features() {
  std::uint64_t features = 0;
  asm("mrs %0, id_aa64isar0_el1" : "=r"(features));
  const auto field = [features](unsigned lowest_bit) { return features >> lowest_bit & 15; };
  std::set<std::string> names = {"asimd"};
  if (field(4) >= 1) {
    names.insert("aes");
  }
  if (field(4) >= 2) {
    names.insert("pmull");
  }
  if (field(8) >= 1) {
    names.insert("sha1");
  }
  if (field(12) >= 1) {
    names.insert("sha2");
  }
  return names;
}
#else
// The features that the system lists for the first processor.
inline std::set<std::string> system_features() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> features;
  std::string line;
  while (features.empty() && std::getline(file, line)) {
    if (line.starts_with("flags") || line.starts_with("Features")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) {
        features.insert(word);
      }
    }
  }
  return features;
}
#endif

class Exercised {
 public:
  void add(const Kernel& kernel) { names_.insert({kernel.cipher, kernel.name}); }
  [[nodiscard]] std::size_t count() const { return names_.size(); }

  // A sentence for each wide kernel that this processor has but nobody ran.
  [[nodiscard]] std::vector<std::string> missing() const {
    const std::set<std::string> features = system_features();
    std::vector<std::string> sentences;
    if (features.empty()) {
      sentences.emplace_back("the system does not tell the processor's features");
    }
    for (const WideKernel& wide : wide_kernels) {
      std::istringstream needs(wide.needs);
      bool is_here = true;
      for (std::string need; needs >> need;) {
        is_here = is_here && features.contains(need);
      }
      if (is_here && !names_.contains({wide.cipher, wide.name})) {
        sentences.push_back(std::string(wide.cipher == Cipher::aes ? "AES " : "3DES ") + wide.name +
                            " was not exercised, though this processor has what it needs");
      }
    }
    return sentences;
  }

 private:
  std::set<std::pair<Cipher, std::string>> names_;
};

}  // namespace paes::test
