// SPDX-License-Identifier: Apache-2.0
// Every kernel against libcrypto over lengths, offsets, IVs, AAD and tags that published vectors do
// not reach: those end at a few blocks, before a wide kernel's main loop begins.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "cipher/ghash.hpp"
#include "cipher/mode/gcm_blocks.hpp"
#include "guarded_buffer.hpp"
#include "kernel_cases.hpp"
#include "message/gcm.hpp"
#include "reference.hpp"
#include "sanitized.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::Guard;
using test::GuardedBuffer;
using test::reference_seal;
using test::Sealed;
using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

constexpr std::size_t key_lengths[] = {16, 24, 32};
constexpr std::size_t iv_bytes = gcm::standard_iv_bytes;

// Around the multiples of what the kernel has in flight, where its loops hand over to each other.
std::set<std::size_t> lane_lengths(const Kernel& kernel) {
  std::set<std::size_t> lengths;
  const std::size_t flight = std::size_t{kernel.lanes} * block_bytes;
  for (std::size_t multiple = 1; multiple <= 5; ++multiple) {
    for (const int step : {-17, -16, -15, -1, 0, 1, 15, 16, 17}) {
      const auto length =
          static_cast<std::ptrdiff_t>(multiple * flight) + static_cast<std::ptrdiff_t>(step);
      lengths.insert(static_cast<std::size_t>(std::max<std::ptrdiff_t>(length, 0)));
    }
  }
  return lengths;
}

std::set<std::size_t> all_lengths(const Kernel& kernel, std::size_t longest) {
  std::set<std::size_t> lengths = lane_lengths(kernel);
  for (std::size_t length = 0; length <= 1100; ++length) {
    lengths.insert(length);
  }
  for (std::size_t power = 2048; power <= longest; power *= 2) {
    lengths.insert({power - 1, power, power + 1});
  }
  return lengths;
}

class Differential : public KernelCase {
 protected:
  // Seals, opens and verifies, and expects libcrypto's bytes.
  static void check(const GcmKey& key, Bytes key_bytes, Bytes iv, Bytes aad, Bytes plaintext) {
    const Sealed expected = reference_seal(key_bytes, iv, aad, plaintext);
    Buffer out(plaintext.size());
    Buffer tag(16);
    key.seal(iv, aad, plaintext, out, tag);
    ASSERT_TRUE(out == expected.ciphertext);
    ASSERT_TRUE(tag == expected.tag);
    ASSERT_TRUE(key.verify(iv, aad, expected.ciphertext, expected.tag));
    ASSERT_TRUE(key.open(iv, aad, expected.ciphertext, out, expected.tag));
    ASSERT_TRUE(std::equal(out.begin(), out.end(), plaintext.begin(), plaintext.end()));
  }
};

TEST_P(Differential, EveryLength) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer text = varied_bytes(1048577, 1);
  const Buffer iv = varied_bytes(iv_bytes, 2);
  for (const std::size_t key_length : key_lengths) {
    const Buffer key_bytes = varied_bytes(key_length, 3);
    const GcmKey key(key_bytes, kernel());
    // `compute` has one loop for all lengths, and is slow under a sanitizer.
    const bool is_short =
        key_length != 32 || (test::is_sanitized && std::string_view(kernel().name) == "compute");
    const std::size_t longest = is_short ? 65536 : 1048576;
    for (const std::size_t length : all_lengths(kernel(), longest)) {
      SCOPED_TRACE("key " + std::to_string(key_length) + ", length " + std::to_string(length));
      check(key, key_bytes, iv, {}, Bytes(text.data(), length));
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST_P(Differential, EveryAadLength) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer aad = varied_bytes(70000, 4);
  const Buffer text = varied_bytes(100, 5);
  const Buffer iv = varied_bytes(iv_bytes, 6);
  const Buffer key_bytes = varied_bytes(32, 7);
  const GcmKey key(key_bytes, kernel());
  std::set<std::size_t> lengths = {4095, 4096, 4097, 69999, 70000};
  lengths.merge(lane_lengths(kernel()));
  for (std::size_t length = 0; length <= 300; ++length) {
    lengths.insert(length);
  }
  for (const std::size_t length : lengths) {
    SCOPED_TRACE(length);
    for (const std::size_t text_length : std::initializer_list<std::size_t>{0, 1, 100}) {
      check(key, key_bytes, iv, Bytes(aad.data(), length), Bytes(text.data(), text_length));
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST_P(Differential, EveryIvLength) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer iv = varied_bytes(128, 8);
  const Buffer text = varied_bytes(777, 9);
  for (const std::size_t key_length : key_lengths) {
    const Buffer key_bytes = varied_bytes(key_length, 10);
    const GcmKey key(key_bytes, kernel());
    for (std::size_t length = 1; length <= 128; length += length < 64 ? 1 : 16) {
      SCOPED_TRACE(length);
      check(key, key_bytes, Bytes(iv.data(), length), Bytes(text.data(), 20), text);
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

// libcrypto takes no IV beyond 128 bytes; the readable kernel stands in for it.
TEST_P(Differential, IvsThatLibcryptoRefuses) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer text = varied_bytes(100, 24);
  const Buffer key_bytes = varied_bytes(32, 25);
  const GcmKey key(key_bytes, kernel());
  const GcmKey reference(key_bytes, find_kernel(Cipher::aes, "compute"));
  for (const std::size_t length : std::initializer_list<std::size_t>{129, 1000, 5000}) {
    const Buffer iv = varied_bytes(length, 26);
    Buffer out(text.size());
    Buffer tag(16);
    reference.seal(iv, {}, text, out, tag);
    EXPECT_TRUE(key.verify(iv, {}, out, tag));
    EXPECT_TRUE(key.open(iv, {}, out, out, tag));
    EXPECT_TRUE(out == text);
    Buffer tag_again(16);
    key.seal(iv, {}, text, out, tag_again);
    EXPECT_EQ(tag_again, tag);
  }
}

TEST_P(Differential, EveryTagLength) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Buffer iv = varied_bytes(iv_bytes, 11);
  const Buffer text = varied_bytes(333, 12);
  const Buffer key_bytes = varied_bytes(16, 13);
  const GcmKey key(key_bytes, kernel());
  const Sealed expected = reference_seal(key_bytes, iv, {}, text);
  for (const std::size_t length : std::initializer_list<std::size_t>{4, 8, 12, 13, 14, 15, 16}) {
    SCOPED_TRACE(length);
    Buffer out(text.size());
    Buffer tag(length);
    key.seal(iv, {}, text, out, tag);
    EXPECT_EQ(tag, Buffer(expected.tag.begin(), expected.tag.begin() + static_cast<int>(length)));
    EXPECT_TRUE(key.verify(iv, {}, out, tag));
    tag[length - 1] ^= 0x80;
    EXPECT_FALSE(key.verify(iv, {}, out, tag));
    EXPECT_FALSE(key.open(iv, {}, out, out, tag));
  }
}

Block xor_blocks(const Block& a, const Block& b) {
  Block sum;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    sum.bytes[i] = static_cast<std::uint8_t>(a.bytes[i] ^ b.bytes[i]);
  }
  return sum;
}

// The 16-byte IV that has the given pre-counter block: J0 = (IV * H ^ lengths) * H, solved for IV.
Buffer iv_for(const Block& j0, Bytes key_bytes) {
  const Buffer zero(block_bytes);
  const Buffer hash_key = test::reference_ecb(key_bytes, zero);
  Block h;
  std::memcpy(h.bytes, hash_key.data(), block_bytes);
  // The inverse is h^(2^128 - 2): the product of h^(2^i) for i from 1 to 127.
  Block inverse = {{0x80}};
  Block square = h;
  for (int i = 1; i < 128; ++i) {
    square = ghash_multiply(square, square);
    inverse = ghash_multiply(inverse, square);
  }
  const Block inner = xor_blocks(ghash_multiply(j0, inverse), gcm::length_block(0, block_bytes));
  const Block iv = ghash_multiply(inner, inverse);
  return {iv.bytes, iv.bytes + block_bytes};
}

// The counter's low 32 bits wrap without a carry into the 96 bits above, wherever in the kernel's
// lanes that happens.
TEST_P(Differential, CounterWrapsAtEveryLane) {
  PAES_SKIP_IF_UNAVAILABLE();
  const std::size_t lanes = kernel().lanes;
  const Buffer text = varied_bytes((4 * lanes + 9) * block_bytes + 5, 14);
  const Buffer key_bytes = varied_bytes(32, 15);
  const GcmKey key(key_bytes, kernel());
  for (std::uint32_t before = 0; before <= 3 * lanes + 4; ++before) {
    SCOPED_TRACE(before);
    Block j0;
    std::memset(j0.bytes, 0xff, 12);  // a carry would show at once
    store_be32(j0.bytes + 12, ~before);
    check(key, key_bytes, iv_for(j0, key_bytes), {}, text);
    if (HasFatalFailure()) {
      return;
    }
  }
  // And the signed and 16-bit and 8-bit borders, where packed additions may carry wrongly.
  for (const std::uint32_t low : {0x7fffffffU, 0x7ffffff0U, 0x0000fff0U, 0x00fffff8U, 0xfeffffffU,
                                  0x000000f5U, 0x80000000U}) {
    SCOPED_TRACE(low);
    Block j0 = {};
    store_be32(j0.bytes + 12, low);
    check(key, key_bytes, iv_for(j0, key_bytes), {}, text);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST_P(Differential, EveryOffsetInAndOutOfPlace) {
  PAES_SKIP_IF_UNAVAILABLE();
  constexpr std::size_t offsets = 18;
  const Buffer iv = varied_bytes(iv_bytes, 16);
  const Buffer aad = varied_bytes(13, 17);
  const Buffer key_bytes = varied_bytes(24, 18);
  const GcmKey key(key_bytes, kernel());
  std::set<std::size_t> lengths = {0, 1, 15, 16, 17, 31, 1000};
  lengths.insert(std::size_t{kernel().lanes} * block_bytes * 2 + 33);
  for (const std::size_t length : lengths) {
    const Buffer text = varied_bytes(length, 19);
    const Sealed expected = reference_seal(key_bytes, iv, aad, text);
    Buffer tag(16);
    for (std::size_t to = 0; to < offsets; ++to) {
      for (std::size_t from = 0; from < offsets; ++from) {
        SCOPED_TRACE(std::to_string(length) + " bytes from " + std::to_string(from) + " to " +
                     std::to_string(to));
        Buffer in(length + offsets);
        Buffer out(length + offsets, 0xaa);
        std::copy(text.begin(), text.end(), in.begin() + static_cast<int>(from));
        const MutableBytes place(out.data() + to, length);
        key.seal(iv, aad, Bytes(in.data() + from, length), place, tag);
        ASSERT_TRUE(std::equal(place.begin(), place.end(), expected.ciphertext.begin()));
        ASSERT_EQ(tag, expected.tag);
        // Nothing beside the place was written.
        const auto untouched = [](std::uint8_t byte) { return byte == 0xaa; };
        ASSERT_TRUE(std::all_of(out.begin(), out.begin() + static_cast<int>(to), untouched));
        ASSERT_TRUE(std::all_of(out.begin() + static_cast<int>(to + length), out.end(), untouched));
      }
      Buffer both(length + offsets);
      const MutableBytes place(both.data() + to, length);
      std::copy(text.begin(), text.end(), place.begin());
      key.seal(iv, aad, place, place, tag);
      ASSERT_TRUE(std::equal(place.begin(), place.end(), expected.ciphertext.begin()));
      ASSERT_EQ(tag, expected.tag);
      ASSERT_TRUE(key.open(iv, aad, place, place, tag));
      ASSERT_TRUE(std::equal(place.begin(), place.end(), text.begin()));
    }
  }
}

TEST_P(Differential, NothingBeyondTheBuffersIsTouched) {
  PAES_SKIP_IF_UNAVAILABLE();
  std::set<std::size_t> lengths = lane_lengths(kernel());
  for (std::size_t length = 0; length <= 300; ++length) {
    lengths.insert(length);
  }
  const std::size_t longest = *lengths.rbegin();
  const GuardedBuffer in(longest);
  const GuardedBuffer out(longest);
  const GuardedBuffer iv(64);
  const GuardedBuffer aad(longest);
  const GuardedBuffer tag(16);
  const Buffer text = varied_bytes(longest, 20);
  const Buffer key_bytes = varied_bytes(32, 21);
  const GcmKey key(key_bytes, kernel());
  for (const Guard side : {Guard::before, Guard::behind}) {
    for (const std::size_t length : lengths) {
      SCOPED_TRACE(length);
      const Bytes plaintext(text.data(), length);
      // IVs and AAD change their length with the text, so that theirs are covered too.
      const MutableBytes an_iv = iv.filled(Bytes(text.data(), 1 + length % 64), side);
      const MutableBytes an_aad = aad.filled(Bytes(text.data() + longest - length, length), side);
      const MutableBytes from = in.filled(plaintext, side);
      const MutableBytes to = out.view(length, side);
      const MutableBytes a_tag = tag.view(16, side);
      const Sealed expected = reference_seal(key_bytes, an_iv, an_aad, plaintext);
      key.seal(an_iv, an_aad, from, to, a_tag);
      ASSERT_TRUE(std::equal(to.begin(), to.end(), expected.ciphertext.begin()));
      ASSERT_TRUE(key.verify(an_iv, an_aad, to, a_tag));
      ASSERT_TRUE(key.open(an_iv, an_aad, to, from, a_tag));
      ASSERT_TRUE(key.open(an_iv, an_aad, to, to, a_tag));
      ASSERT_TRUE(std::equal(to.begin(), to.end(), plaintext.begin()));
    }
  }
}

// What a file is made of.
TEST_P(Differential, ChunksOf16KiB) {
  PAES_SKIP_IF_UNAVAILABLE();
  constexpr std::size_t chunk_bytes = 16384;
  for (const std::size_t key_length : std::initializer_list<std::size_t>{16, 32}) {
    const Buffer key_bytes = varied_bytes(key_length, 22);
    const GcmKey key(key_bytes, kernel());
    Buffer iv = varied_bytes(iv_bytes, 23);
    for (std::size_t chunk = 0; chunk < 20; ++chunk) {
      iv[11] = static_cast<std::uint8_t>(iv[11] ^ chunk);
      check(key, key_bytes, iv, {}, varied_bytes(chunk_bytes, chunk));
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

PAES_FOR_ALL_KERNELS(Differential);

}  // namespace
}  // namespace paes
