// SPDX-License-Identifier: Apache-2.0
// The reference that stands in for libcrypto where there is none, held against libcrypto: every
// mode and size of key, short lengths, counters and tweaks about to carry.
#include "reference/by_tables.hpp"

#include <gtest/gtest.h>

#include "varied_bytes.hpp"

namespace paes::test {
namespace {

using by_tables::Buffer;

struct Named {
  std::string name;
  std::size_t key_bytes;
  std::size_t iv_bytes;
  std::size_t step;  // lengths that the mode takes: multiples of it
};

std::vector<Named> all_names() {
  std::vector<Named> names;
  for (const Mode mode : {Mode::ecb, Mode::cbc, Mode::cfb, Mode::ofb, Mode::ctr, Mode::xts}) {
    for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
      const bool is_xts = mode == Mode::xts;
      if (is_xts && key_bytes == 24) {
        continue;
      }
      names.push_back({reference_name(true, key_bytes, reference_mode(mode)),
                       is_xts ? 2 * key_bytes : key_bytes, mode == Mode::ecb ? 0U : 16U,
                       row_of(mode).tail != Tail::padded ? 1U : 16U});
    }
    if (mode != Mode::ctr && mode != Mode::xts) {
      names.push_back({reference_name(false, 24, reference_mode(mode)), 24,
                       mode == Mode::ecb ? 0U : 8U, row_of(mode).tail != Tail::padded ? 1U : 8U});
    }
  }
  return names;
}

TEST(ByTables, EveryModeAsLibcrypto) {
  std::size_t compared = 0;
  for (const Named& named : all_names()) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Buffer key = varied_bytes(named.key_bytes, seed);
      // The second time a counter that carries through all its bytes.
      const Buffer iv =
          seed == 1 ? Buffer(named.iv_bytes, 0xff) : varied_bytes(named.iv_bytes, 10 + seed);
      const Buffer text = varied_bytes(200, 20 + seed);
      const bool is_xts = named.name.ends_with("XTS");
      for (std::size_t length = is_xts ? 16 : 0; length <= text.size(); length += named.step) {
        const Bytes in(text.data(), length);
        for (const bool encrypt : {true, false}) {
          ASSERT_EQ(by_tables::crypt(named.name, encrypt, key, iv, in),
                    reference_crypt(named.name, encrypt, key, iv, in))
              << named.name << (encrypt ? " encryption of " : " decryption of ") << length;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 5000U);
}

TEST(ByTables, StreamsAsLibcrypto) {
  for (const Named& named : all_names()) {
    if (named.name.ends_with("XTS")) {
      continue;
    }
    const Buffer key = varied_bytes(named.key_bytes, 1);
    const Buffer iv = varied_bytes(named.iv_bytes, 2);
    for (const bool encrypt : {true, false}) {
      const ReferenceStream mine = by_tables::stream(named.name, encrypt, key, iv);
      const ReferenceStream theirs = reference_stream(named.name, encrypt, key, iv);
      for (std::uint64_t part = 0; part < 9; ++part) {
        const Buffer in = varied_bytes(16 * (1 + part % 3), part);
        ASSERT_EQ(mine(in), theirs(in)) << named.name << ", part " << part;
      }
    }
  }
}

TEST(ByTables, GcmAsLibcrypto) {
  for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    const Buffer key = varied_bytes(key_bytes, 1);
    for (const std::size_t iv_bytes :
         {std::size_t{1}, std::size_t{12}, std::size_t{16}, std::size_t{33}, std::size_t{128}}) {
      const Buffer iv = varied_bytes(iv_bytes, 2);
      for (std::size_t length = 0; length < 100; ++length) {
        const Buffer aad = varied_bytes(length * 7 % 50, 3);
        const Buffer text = varied_bytes(length, 4);
        const Sealed mine = by_tables::seal(key, iv, aad, text);
        const Sealed theirs = reference_seal(key, iv, aad, text);
        ASSERT_EQ(mine.ciphertext, theirs.ciphertext) << length << ", IV of " << iv_bytes;
        ASSERT_EQ(mine.tag, theirs.tag) << length << ", IV of " << iv_bytes;
      }
    }
  }
}

}  // namespace
}  // namespace paes::test
