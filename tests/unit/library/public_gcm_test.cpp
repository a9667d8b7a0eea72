// SPDX-License-Identifier: Apache-2.0
// The public header: lengths it must accept and refuse, and one message beside its threaded twin.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "paes/gcm.hpp"
#include "without_call.hpp"

namespace {

using Buffer = std::vector<std::uint8_t>;

Buffer counting_bytes(std::size_t bytes) {
  Buffer buffer(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    buffer[i] = static_cast<std::uint8_t>(i * 7 + 1);
  }
  return buffer;
}

// SP 800-38D's companion vectors (McGrew and Viega, "The Galois/Counter Mode of Operation", test
// case 2).
TEST(PublicGcm, KnownAnswer) {
  const Buffer zero_key(16);
  const Buffer zero_iv(12);
  const Buffer text(16);
  Buffer cipher(16);
  Buffer tag(16);
  paes::Gcm(zero_key).seal(zero_iv, {}, text, cipher, tag);
  EXPECT_EQ(cipher, (Buffer{0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2, 0xb9,
                            0x71, 0xb2, 0xfe, 0x78}));
  EXPECT_EQ(tag, (Buffer{0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd, 0xf5, 0x3a, 0x67, 0xb2,
                         0x12, 0x57, 0xbd, 0xdf}));
}

TEST(PublicGcm, ThreadsWriteTheSameBytes) {
  const paes::Gcm one(counting_bytes(32));
  const paes::Gcm three(counting_bytes(32), {.threads = 3});
  const Buffer text = counting_bytes((std::size_t{3} << 20) + 5);
  const Buffer aad = counting_bytes(21);
  for (const std::size_t iv_bytes : {1U, 12U, 16U, 77U}) {
    const Buffer iv = counting_bytes(iv_bytes);
    Buffer cipher(text.size());
    Buffer threaded(text.size());
    Buffer tag(16);
    Buffer threaded_tag(16);
    one.seal(iv, aad, text, cipher, tag);
    three.seal(iv, aad, text, threaded, threaded_tag);
    EXPECT_EQ(cipher, threaded);
    EXPECT_EQ(tag, threaded_tag);
    ASSERT_TRUE(three.open(iv, aad, threaded, threaded, tag));
    EXPECT_EQ(text, threaded);
    tag[15] ^= 1;
    EXPECT_FALSE(three.open(iv, aad, cipher, cipher, tag));
    EXPECT_EQ(cipher, Buffer(text.size())) << "what was not authentic must not be left behind";
  }
}

// Only what needs the threads asks for them. No other test has as many.
TEST(PublicGcm, ThreadsThatCannotStartAreAnError) {
  const paes::Gcm gcm(counting_bytes(32), {.threads = 67});
  const Buffer iv = counting_bytes(12);
  const Buffer text = counting_bytes(std::size_t{1} << 20);
  Buffer cipher(text.size());
  Buffer tag(16);
  const std::string thrown = paes::run_without({SYS_clone, SYS_clone3}, EAGAIN, [&] {
    EXPECT_THROW(gcm.seal(iv, {}, text, cipher, tag), paes::Error);
    EXPECT_THROW((void)gcm.open(iv, {}, text, cipher, tag), paes::Error);
    EXPECT_EQ(cipher, Buffer(text.size()));
    gcm.seal(iv, {}, Buffer(100), std::span(cipher).first(100), tag);
  });
  EXPECT_EQ(thrown, "");
  gcm.seal(iv, {}, text, cipher, tag);
  EXPECT_TRUE(gcm.open(iv, {}, cipher, cipher, tag));
}

TEST(PublicGcm, TakesTheStandardsTagLengthsAndNoOther) {
  const paes::Gcm gcm(counting_bytes(24));
  const Buffer iv = counting_bytes(12);
  const Buffer text = counting_bytes(40);
  Buffer cipher(40);
  for (std::size_t bytes = 0; bytes <= 17; ++bytes) {
    Buffer tag(bytes);
    if (bytes == 4 || bytes == 8 || (bytes >= 12 && bytes <= 16)) {
      gcm.seal(iv, {}, text, cipher, tag);
      Buffer opened(40);
      EXPECT_TRUE(gcm.open(iv, {}, cipher, opened, tag)) << bytes;
      EXPECT_EQ(opened, text);
    } else {
      EXPECT_THROW(gcm.seal(iv, {}, text, cipher, tag), paes::Error) << bytes;
    }
  }
}

TEST(PublicGcm, RefusesWhatCannotBe) {
  for (const std::size_t bytes : {0U, 15U, 17U, 31U, 33U}) {
    EXPECT_THROW(paes::Gcm{counting_bytes(bytes)}, paes::Error);
  }
  EXPECT_THROW(paes::Gcm(counting_bytes(16), {.kernel = "no-such-kernel"}), paes::Error);
  EXPECT_THROW(paes::Gcm(counting_bytes(16), {.kernel = "copy"}), paes::Error)
      << "a row of paes-bench alone";
  const paes::Gcm gcm(counting_bytes(16));
  Buffer text(16);
  Buffer shorter(15);
  Buffer tag(16);
  EXPECT_THROW(gcm.seal({}, {}, text, text, tag), paes::Error);
  EXPECT_THROW(gcm.seal(counting_bytes(12), {}, text, shorter, tag), paes::Error);
}

}  // namespace
