// SPDX-License-Identifier: Apache-2.0
// Secrets that calls must not leave on the stack: of our own kernels, for libcrypto's memory is its
// own, and `compute` and `tables` keep no secrets anyway.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "cipher/ghash.hpp"
#include "cipher/mode/gcm_blocks.hpp"
#include "kernel/registry.hpp"
#include "message/gcm.hpp"
#include "message/raw_key.hpp"
#include "own_stack.hpp"
#include "tested_kernels.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::finds_what_is_left;
using test::is_left_on_stack;
using test::left_on_stack;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

class LeftOnStack : public testing::TestWithParam<const Kernel*> {
 protected:
  void SetUp() override {
    if (!test::keeps_stack()) {
      GTEST_SKIP() << "sanitizers and builds without optimisation keep variables elsewhere";
    }
    if (const std::string reason = unavailable_reason(*GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }

  [[nodiscard]] static const Kernel& kernel() { return *GetParam(); }
};

std::vector<const Kernel*> careful_kernels() {
  std::vector<const Kernel*> kernels = tested_gcm_kernels();
  std::erase_if(kernels, [](const Kernel* kernel) {
    return kernel->warning != nullptr || std::string_view(kernel->name) == "openssl";
  });
  return kernels;
}

Buffer hash_key(const Kernel& kernel, Bytes key) {
  const Buffer zero(block_bytes);
  Buffer h(block_bytes);
  const RawKey raw(Cipher::aes, Mode::ecb, key, kernel);
  RawPosition position = raw.start({});
  raw.crypt(Direction::encrypt, position, zero, h, serial_executor(), 16);
  return h;
}

// The tag that a forgery should have had is what a forger lacks.
TEST_P(LeftOnStack, NoTagOfAForgery) {
  const GcmKey key(varied_bytes(32, 1), kernel());
  const Buffer iv = varied_bytes(12, 2);
  const Buffer text = varied_bytes(100, 3);
  Buffer sealed(text.size());
  Buffer tag(16);
  key.seal(iv, {}, text, sealed, tag);
  const Buffer forged(16);
  Buffer out(text.size());
  ASSERT_TRUE(finds_what_is_left(tag)) << "this test sees nothing";
  // The tag is the hash under a mask, which is all that the tag of nothing is.
  Buffer mask(16);
  key.seal(iv, {}, {}, {}, mask);
  Buffer hash = tag;
  std::transform(hash.begin(), hash.end(), mask.begin(), hash.begin(), std::bit_xor<>());
  for (const Buffer& secret : {tag, hash}) {
    EXPECT_FALSE(
        is_left_on_stack(secret, [&] { EXPECT_FALSE(key.open(iv, {}, sealed, out, forged)); }));
    EXPECT_FALSE(is_left_on_stack(secret, [&] {
      EXPECT_FALSE(key.open(iv, {}, sealed, out, forged, serial_executor(), 48));
    }));
    EXPECT_FALSE(
        is_left_on_stack(secret, [&] { EXPECT_FALSE(key.verify(iv, {}, sealed, forged)); }));
  }
}

// Of an IV of other than 96 bits J0 is a hash under H and nothing but, and gives H away.
TEST_P(LeftOnStack, NoFirstCounterThatIsAHash) {
  const Buffer key_bytes = varied_bytes(16, 1);
  const Buffer iv = varied_bytes(16, 2);
  HashSubkey h = {};
  const Buffer h_bytes = hash_key(kernel(), key_bytes);
  std::copy(h_bytes.begin(), h_bytes.end(), h.bytes);
  HashValue hash = {};
  ghash_update(h, hash, iv.data(), 1);
  const Block lengths = gcm::length_block(0, iv.size());
  ghash_update(h, hash, lengths.bytes, 1);
  const auto counter = std::bit_cast<CounterBlock>(hash);
  const CounterBlock next = gcm::add_counter(counter, 1);

  const GcmKey key(key_bytes, kernel());
  const Buffer text = varied_bytes(1000, 3);
  Buffer sealed(text.size());
  Buffer tag(16);
  const std::vector<Bytes> secrets = {counter.bytes, next.bytes};
  EXPECT_TRUE(left_on_stack(secrets, [&] { key.seal(iv, {}, text, sealed, tag); }).empty());
  EXPECT_TRUE(left_on_stack(secrets, [&] {
                key.seal(iv, {}, text, sealed, tag, serial_executor(), 48);
              }).empty());
  EXPECT_TRUE(
      left_on_stack(secrets, [&] { EXPECT_TRUE(key.verify(iv, {}, sealed, tag)); }).empty());
}

TEST_P(LeftOnStack, NoHashKey) {
  const Buffer key_bytes = varied_bytes(32, 1);
  const Buffer h = hash_key(kernel(), key_bytes);
  // As it is in memory, and as the numbers that its halves are.
  Buffer reversed(h.rbegin(), h.rend());
  const std::vector<Bytes> secrets = {Bytes(h).first(8), Bytes(h).last(8), Bytes(reversed).first(8),
                                      Bytes(reversed).last(8)};
  const Buffer iv = varied_bytes(12, 2);
  const Buffer text = varied_bytes(40000, 3);
  Buffer sealed(text.size());
  Buffer tag(16);
  const GcmKey key(key_bytes, kernel());
  EXPECT_TRUE(left_on_stack(secrets, [&] { key.seal(iv, {}, text, sealed, tag); }).empty());
  EXPECT_TRUE(left_on_stack(secrets, [&] {
                key.seal(iv, {}, text, sealed, tag, serial_executor(), 4096);
              }).empty());
}

// Whole words of it; a word that is zero would be anywhere.
std::vector<Bytes> words_of(Bytes text) {
  std::vector<Bytes> words;
  for (std::size_t at = 0; at + 8 <= text.size(); at += 8) {
    words.push_back(text.subspan(at, 8));
  }
  return words;
}

TEST_P(LeftOnStack, NoTextOfGcm) {
  const GcmKey key(varied_bytes(32, 1), kernel());
  const Buffer iv = varied_bytes(12, 2);
  Buffer tag(16);
  for (const unsigned bytes : {8U, 24U, 31U, 100U, 200U, 1000U}) {
    const Buffer text = varied_bytes(bytes, 3);
    Buffer sealed(bytes);
    Buffer out(bytes);
    auto secrets = words_of(text);
    secrets.push_back(Bytes(text).last(8));
    EXPECT_TRUE(left_on_stack(secrets, [&] { key.seal(iv, {}, text, sealed, tag); }).empty())
        << bytes;
    EXPECT_TRUE(
        left_on_stack(secrets, [&] { EXPECT_TRUE(key.open(iv, {}, sealed, out, tag)); }).empty())
        << bytes;
  }
}

TEST_P(LeftOnStack, NoTextOfRawModes) {
  for (const ModeRow& row : modes) {
    const auto mode = static_cast<Mode>(&row - modes);
    const RawKey key(Cipher::aes, mode, varied_bytes(32, 1), kernel());
    const Buffer iv = varied_bytes(key.iv_bytes(), 2);
    for (const unsigned bytes : {16U, 128U, 200U, 255U, 600U, 1000U, 1024U}) {
      if (!key.takes(bytes)) {
        continue;
      }
      const Buffer text = varied_bytes(bytes, 3);
      Buffer sealed(bytes);
      Buffer out(bytes);
      const auto crypt = [&](Direction direction, Bytes in, MutableBytes to) {
        RawPosition position = key.start(iv);
        key.crypt(direction, position, in, to, serial_executor(), 4096);
      };
      const auto secrets = words_of(text);
      EXPECT_TRUE(left_on_stack(secrets, [&] { crypt(Direction::encrypt, text, sealed); }).empty())
          << row.name << " encrypt " << bytes;
      EXPECT_TRUE(left_on_stack(secrets, [&] { crypt(Direction::decrypt, sealed, out); }).empty())
          << row.name << " decrypt " << bytes;
      EXPECT_EQ(out, text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LeftOnStack, testing::ValuesIn(careful_kernels()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace paes
