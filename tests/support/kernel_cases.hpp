// SPDX-License-Identifier: Apache-2.0
// Runs tests once for each row of the kernel table that has GCM (PAES_FOR_ALL_KERNELS), so that a
// new kernel is covered by its line in the table. A kernel that cannot run on this machine is
// reported with the reason.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/secret.hpp"
#include "tested_kernels.hpp"

namespace paes {

class KernelCase : public ::testing::TestWithParam<const Kernel*> {
 protected:
  [[nodiscard]] static const Kernel& kernel() { return *GetParam(); }
};

namespace test {

// A kernel's form of a key, which releases itself.
class PreparedKeys {
 public:
  PreparedKeys(const Kernel& kernel, Bytes key) : kernel_(kernel) { kernel.prepare(key, *keys_); }
  ~PreparedKeys() {
    if (kernel_.release != nullptr) {
      kernel_.release(*keys_);
    }
  }
  PreparedKeys(const PreparedKeys&) = delete;
  PreparedKeys& operator=(const PreparedKeys&) = delete;
  [[nodiscard]] const KernelKeys& operator*() const { return *keys_; }

 private:
  const Kernel& kernel_;
  Secret<KernelKeys> keys_;
};

}  // namespace test

}  // namespace paes

#define PAES_SKIP_IF_UNAVAILABLE()                                                        \
  if (const std::string reason = ::paes::unavailable_reason(kernel()); !reason.empty()) { \
    GTEST_SKIP() << "NOT RUN: " << kernel().name << ": " << reason;                       \
  }                                                                                       \
  static_assert(true)

#define PAES_FOR_ALL_KERNELS(suite)                                                   \
  INSTANTIATE_TEST_SUITE_P(Kernels, suite, ::testing::ValuesIn(tested_gcm_kernels()), \
                           [](const auto& row) { return std::string(row.param->name); })
