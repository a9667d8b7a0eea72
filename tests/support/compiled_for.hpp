// SPDX-License-Identifier: Apache-2.0
// Checks a table of kernels whose files are compiled for instruction sets. A file's flags let the
// compiler use those instructions anywhere in it, so its row must require all of them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <sstream>
#include <string>

#include "tested_kernels.hpp"

namespace paes::test {

struct CompiledRow {
  const char* name;
  const char* flags;
};

// Adds the features that these imply; features_of never reports one without the other.
inline CpuFeatures with_implied(CpuFeatures features) {
  if (features.contain(Feature::avx512)) {
    features = features | Feature::avx2;
  }
  for (const Feature wide : {Feature::avx2, Feature::vaes, Feature::vpclmul}) {
    if (features.contain(wide)) {
      features = features | Feature::avx;
    }
  }
  return features;
}

// `compiled` has the table's lines, `kernels` its rows.
inline void expect_needs_of_flags(std::span<const CompiledRow> compiled,
                                  std::span<const Kernel* const> kernels) {
  const std::map<std::string, CpuFeatures> features_of_flag = {
      {"-maes", Feature::aes},
      {"-mpclmul", Feature::pclmul},
      {"-mavx", Feature::avx},
      {"-mavx2", Feature::avx2},
      {"-mvaes", Feature::vaes},
      {"-mvpclmulqdq", Feature::vpclmul},
      {"-mavx512f", Feature::avx512},
      {"-mavx512bw", Feature::avx512},
      {"-mavx512dq", Feature::avx512},
      {"-mavx512vl", Feature::avx512},
      {"-mavx512vbmi", Feature::avx512_vbmi},
      {"-march=armv8-a+crypto", Feature::armv8_aes | Feature::armv8_pmull},
  };
  std::map<std::string, const Kernel*> rows;
  for (const Kernel* kernel : kernels) {
    rows[test_name(*kernel)] = kernel;
  }
  EXPECT_EQ(compiled.size(), kernels.size());
  for (const CompiledRow& row : compiled) {
    ASSERT_TRUE(rows.contains(row.name)) << row.name;
    std::istringstream flags(row.flags);
    for (std::string flag; flags >> flag;) {
      ASSERT_TRUE(features_of_flag.contains(flag)) << flag << ": which feature is that?";
      EXPECT_TRUE(with_implied(rows[row.name]->needs).contain(features_of_flag.at(flag)))
          << row.name << " is compiled with " << flag << " and does not need it";
    }
  }
}

}  // namespace paes::test
