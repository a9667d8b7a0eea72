// SPDX-License-Identifier: Apache-2.0
// IVs of the blocks that a request writes: none is zero, and none is used for two texts.
#include "volume/change/sealed_run.hpp"

#include <gtest/gtest.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "vault/content_cipher.hpp"
#include "written_volume.hpp"

namespace {

int zeros_to_draw = 0;  // so often the system's generator gives zeros

}  // namespace

extern "C" ssize_t getrandom(void* to, size_t bytes, unsigned flags) {
  if (zeros_to_draw > 0) {
    --zeros_to_draw;
    std::fill_n(static_cast<std::uint8_t*>(to), bytes, std::uint8_t{0});
    return static_cast<ssize_t>(bytes);
  }
  return syscall(SYS_getrandom, to, bytes, flags);
}

namespace paes::volume::test {
namespace {

constexpr std::size_t iv_bytes = 16;
const Text no_iv(iv_bytes, 0xaa);  // what a buffer holds that nothing was drawn into

std::set<Text> drawn_ivs(std::size_t count) {
  Text ivs(count * iv_bytes, no_iv[0]);
  random_ivs(ivs, iv_bytes);
  std::set<Text> all;
  for (auto at = ivs.begin(); at != ivs.end(); at += iv_bytes) {
    all.insert(Text(at, at + iv_bytes));
  }
  return all;
}

TEST(RandomIvs, DifferFromEachOtherAndFromWhatWasThere) {
  const std::set<Text> ivs = drawn_ivs(4);
  EXPECT_EQ(ivs.size(), 4U);
  EXPECT_FALSE(ivs.contains(no_iv));
}

TEST(RandomIvs, AreNeverZero) {
  zeros_to_draw = 2;
  const std::set<Text> ivs = drawn_ivs(4);
  EXPECT_EQ(zeros_to_draw, 0);
  EXPECT_EQ(ivs.size(), 4U);
  EXPECT_FALSE(ivs.contains(Text(iv_bytes)));
}

// As when a file system was full, and the block is written in another way.
TEST(SealedRun, ABlockThatIsSealedAgainHasAnotherIv) {
  const auto key = vault::make_content_key(vault::ContentCipher::aes_256_gcm,
                                           fixed_key().content_key({}), a_kernel());
  Text room(vault::header_bytes + key->layout().stride() + iv_bytes);
  const Text text = random_text(100);
  SealedRun run(*key, nullptr, room, {0, text});
  std::set<Text> ivs;
  for (int i = 0; i < 3; ++i) {
    run.seal(0, {1}, text);
    const Bytes sealed = run.sealed();
    ivs.insert(Text(sealed.begin(), sealed.begin() + iv_bytes));
  }
  EXPECT_EQ(ivs.size(), 3U);
}

}  // namespace
}  // namespace paes::volume::test
