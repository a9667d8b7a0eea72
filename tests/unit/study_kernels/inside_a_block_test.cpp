// SPDX-License-Identifier: Apache-2.0
// The kernels that share a block among threads, emulated: the processor's ECB at every size of key,
// in place and not, and errors for what they do not take.
#include <gtest/gtest.h>

#include "emulated_device_kernels.hpp"
#include "gpu/study_kernels.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes::test {
namespace {

using cuda::DeviceKernel;
using cuda::Job;

class InsideABlock : public ::testing::TestWithParam<const DeviceKernel*> {
 protected:
  static int run(std::size_t key_bytes, Job job) {
    const DeviceMemory image(GetParam()->image_bytes);
    GetParam()->prepare(varied_bytes(key_bytes, 1), image.data());
    return cuda::Emulation::of(*GetParam()).run({image.data(), key_bytes, {2, 0}, 0, nullptr}, job);
  }
};

TEST_P(InsideABlock, IsEcb) {
  for (const std::size_t key_bytes : {16U, 24U, 32U}) {
    for (const std::size_t blocks : {0U, 1U, 17U, 300U}) {
      const std::vector<std::uint8_t> text = varied_bytes(blocks * block_bytes, blocks);
      const std::vector<std::uint8_t> expected = reference_ecb(varied_bytes(key_bytes, 1), text);
      const DeviceMemory in(text.data(), text.size());
      const DeviceMemory out(text.size());
      ASSERT_EQ(run(key_bytes, {Operation::ecb_encrypt, in.data(), out.data(), text.size()}), 0);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.data())) << blocks << " blocks";
      EXPECT_TRUE(std::equal(text.begin(), text.end(), in.data()));
      ASSERT_EQ(run(key_bytes, {Operation::ecb_encrypt, in.data(), in.data(), text.size()}), 0);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), in.data())) << blocks << " blocks";
    }
  }
}

TEST_P(InsideABlock, TakesNothingElse) {
  const DeviceMemory text(32);
  EXPECT_NE(run(16, {Operation::ecb_decrypt, text.data(), text.data(), 32}), 0);
  EXPECT_NE(run(16, {Operation::ctr, text.data(), text.data(), 32}), 0);
  EXPECT_NE(run(16, {Operation::ecb_encrypt, text.data(), text.data(), 17}), 0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, InsideABlock,
                         ::testing::Values(&cuda::study_kernel_inside, &cuda::study_kernel_steps,
                                           &cuda::study_kernel_grid),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace paes::test
