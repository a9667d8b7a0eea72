// SPDX-License-Identifier: Apache-2.0
// Plain AES with its tables in each memory, emulated: the processor's ECB at every size of key and
// with every number of threads, errors for what the kernels do not take, and no key that is left.
#include "gpu/placed_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "emulated_device_kernels.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"

namespace paes::test {
namespace {

using cuda::DeviceShape;
using cuda::Job;
using cuda::PlacedKernel;
using cuda::TablePlace;

class Placed : public ::testing::TestWithParam<PlacedKernel> {
 protected:
  static const cuda::DeviceRuns& runs() { return cuda::Emulation::of(GetParam().kernel); }
  static int run(std::size_t key_bytes, const Job& job, const DeviceShape& shape) {
    const DeviceMemory image(GetParam().kernel.image_bytes);
    GetParam().kernel.prepare(varied_bytes(key_bytes, 1), image.data());
    return runs().run({image.data(), key_bytes, shape, 0, nullptr}, job);
  }
};

TEST_P(Placed, IsEcb) {
  for (const unsigned threads : {0U, 32U}) {  // 0: the kernel's own
    const DeviceShape shape = {2, 0, threads};
    for (const std::size_t key_bytes : {16U, 24U, 32U}) {
      for (const std::size_t blocks : {0U, 1U, 33U, 2 * GetParam().threads + 44}) {
        const std::vector<std::uint8_t> text = varied_bytes(blocks * block_bytes, blocks);
        const std::vector<std::uint8_t> expected = reference_ecb(varied_bytes(key_bytes, 1), text);
        const DeviceMemory in(text.data(), text.size());
        const DeviceMemory out(text.size());
        ASSERT_EQ(
            run(key_bytes, {Operation::ecb_encrypt, in.data(), out.data(), text.size()}, shape), 0);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.data())) << blocks;
        EXPECT_TRUE(std::equal(text.begin(), text.end(), in.data()));
        ASSERT_EQ(
            run(key_bytes, {Operation::ecb_encrypt, in.data(), in.data(), text.size()}, shape), 0);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), in.data())) << blocks;
      }
    }
  }
}

TEST_P(Placed, TakesNothingElse) {
  const DeviceMemory text(32);
  const DeviceShape shape = {2, 0};
  EXPECT_NE(run(16, {Operation::ecb_decrypt, text.data(), text.data(), 32}, shape), 0);
  EXPECT_NE(run(16, {Operation::ctr, text.data(), text.data(), 32}, shape), 0);
  EXPECT_NE(run(16, {Operation::ecb_encrypt, text.data(), text.data(), 17}, shape), 0);
}

TEST_P(Placed, ReadsItsKeyFromConstantMemoryAndWipesIt) {
  const std::vector<std::uint8_t> text = varied_bytes(32, 2);
  const std::vector<std::uint8_t> expected = reference_ecb(varied_bytes(16, 1), text);
  const DeviceMemory image(GetParam().kernel.image_bytes);
  GetParam().kernel.prepare(varied_bytes(16, 1), image.data());
  const DeviceMemory out(text.data(), text.size());
  cuda::EmulatedConstant constant;
  const cuda::Launch launch = {image.data(), 16, {2, 0}, 0, &constant};
  ASSERT_EQ(runs().run(launch, {Operation::ecb_encrypt, out.data(), out.data(), text.size()}), 0);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.data()));
  const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
  ASSERT_FALSE(std::all_of(constant.begin(), constant.end(), is_zero));
  ASSERT_EQ(runs().wipe(launch), 0);
  EXPECT_TRUE(std::all_of(constant.begin(), constant.end(), is_zero));
}

TEST(PlacedKernels, AreEveryMemoryWithEveryNumberOfThreads) {
  std::set<std::tuple<TablePlace, unsigned, bool>> found;
  std::set<std::string> names;
  for (const PlacedKernel& placed : cuda::placed_kernels()) {
    found.emplace(placed.place, placed.threads, placed.is_alone);
    EXPECT_EQ(placed.kernel.name, std::string("study_") + name_of(placed.place) + "_" +
                                      std::to_string(placed.threads) +
                                      (placed.is_alone ? "_alone" : ""));
    names.emplace(placed.kernel.name);
  }
  for (const TablePlace place :
       {TablePlace::compute, TablePlace::constant, TablePlace::global, TablePlace::shared}) {
    for (const unsigned threads : {64U, 128U, 256U, 512U, 1024U}) {
      EXPECT_TRUE(found.contains({place, threads, true}) && found.contains({place, threads, false}))
          << name_of(place) << " with " << threads;
    }
  }
  EXPECT_EQ(names.size(), cuda::placed_kernels().size());
}

INSTANTIATE_TEST_SUITE_P(Kernels, Placed, ::testing::ValuesIn(cuda::placed_kernels()),
                         [](const auto& tested) { return std::string(tested.param.kernel.name); });

}  // namespace
}  // namespace paes::test
