// SPDX-License-Identifier: Apache-2.0
// What libraries allocate while they hold keys: nothing comes from here unasked, and nothing stays
// in it.
#include "core/secret_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace paes {
namespace {

TEST(SecretHeap, GivesNothingUnasked) {
  EXPECT_EQ(secret_heap::allocate(100), nullptr);
  {
    const SecretAllocations outer;
    { const SecretAllocations inner; }
    EXPECT_EQ(secret_heap::allocate((32 << 10) + 1), nullptr);
    void* const memory = secret_heap::allocate(100);
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(secret_heap::owns(memory));
    secret_heap::release(memory);
    std::thread([] { EXPECT_EQ(secret_heap::allocate(100), nullptr); }).join();
  }
  EXPECT_EQ(secret_heap::allocate(100), nullptr);
  int other = 0;
  EXPECT_FALSE(secret_heap::owns(&other));
  EXPECT_FALSE(secret_heap::owns(nullptr));
}

TEST(SecretHeap, WipesWhatIsGivenBackAndGivesItAgain) {
  const SecretAllocations secret;
  for (const std::size_t bytes : {1U, 48U, 49U, 1000U, 32752U}) {
    auto* const memory = static_cast<std::uint8_t*>(secret_heap::allocate(bytes));
    ASSERT_NE(memory, nullptr) << bytes;
    ASSERT_GE(secret_heap::size_of(memory), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 16, 0U);
    std::memset(memory, 0xa5, secret_heap::size_of(memory));
    secret_heap::release(memory);
    auto* const again = static_cast<std::uint8_t*>(secret_heap::allocate(bytes));
    EXPECT_EQ(again, memory);
    EXPECT_TRUE(std::all_of(again, again + bytes, [](std::uint8_t byte) { return byte == 0; }));
    secret_heap::release(again);
  }
}

TEST(SecretHeap, BlocksDoNotOverlapAndEndSomewhere) {
  const SecretAllocations secret;
  std::set<std::uint8_t*> blocks;
  while (auto* const memory = static_cast<std::uint8_t*>(secret_heap::allocate(3000))) {
    std::memset(memory, 0x11, 3000);
    ASSERT_TRUE(blocks.insert(memory).second);
    ASSERT_LT(blocks.size(), 10000U);
  }
  EXPECT_GT(blocks.size(), 500U);
  const std::uint8_t* before = nullptr;
  for (const std::uint8_t* const block : blocks) {
    ASSERT_TRUE(before == nullptr || block - before >= 3000);
    before = block;
  }
  for (std::uint8_t* const block : blocks) {
    secret_heap::release(block);
  }
  void* const memory = secret_heap::allocate(3000);
  EXPECT_NE(memory, nullptr);
  secret_heap::release(memory);
}

}  // namespace
}  // namespace paes
