// SPDX-License-Identifier: Apache-2.0
// EME: published vectors on every kernel, and what the mode promises for every length.
#include "vault/eme.hpp"

#include <gtest/gtest.h>

#include <array>

#include "crypto/libcrypto.hpp"
#include "guarded_buffer.hpp"
#include "hex.hpp"
#include "kernel_cases.hpp"
#include "varied_bytes.hpp"

namespace paes::vault {
namespace {

using test::from_hex;
using test::to_hex;
using test::varied_bytes;

constexpr std::size_t block = 16;

class EmeCase : public KernelCase {};

std::string sha256(Bytes bytes) {
  std::array<std::uint8_t, libcrypto::sha256_bytes> hash;
  libcrypto::sha256(bytes, hash);
  return to_hex(hash);
}

// The vectors of IEEE P1619's EME-32, which is EME with AES-256 for 32 blocks, and of
// github.com/rfjakob/eme (eme32_test.go, eme_test.go at 60f81132). Each is checked by its first 32
// bytes and by the SHA-256 of the whole.
struct Vector {
  const char* source;
  Direction direction;
  const char* key;
  const char* tweak;
  std::size_t bytes;  // of zeros
  const char* first;
  const char* hash;
};

constexpr const char* zero_key = "0000000000000000000000000000000000000000000000000000000000000000";
constexpr const char* zero_tweak = "00000000000000000000000000000000";

constexpr Vector vectors[] = {
    {"rfjakob/eme, TestEnc16", Direction::encrypt, zero_key, zero_tweak, 16,
     "f1b9ce8ca15a4ba9fb476905434b9fd3", nullptr},
    {"grouper.ieee.org/groups/1619/email/pdf00020.pdf, encryption", Direction::encrypt, zero_key,
     zero_tweak, 512, "9f2e6c3daecae79e8839b0588ff378cd0668970b95691cb00182b9e34cd658ed",
     "7db861e039925bcce41a7dd1d8c3af62a4c114a0d906904929f6f2aadf11898f"},
    {"the same, decryption", Direction::decrypt, zero_key, zero_tweak, 512,
     "080905dee8ebcc89f68bd1af635db3f5b60c2f13f7c768fceb1220f6c227fd83",
     "2cf26c1331659aa00d5b8ea6b1d1111ee9d07eed733d858c6edbb512d1a5d4be"},
    {"rfjakob/eme, TestEnc2048", Direction::encrypt, zero_key, zero_tweak, 2048,
     "630500884158a8d41216aaa6351e92ea7ca540a949e73f1d6069afef372eae22",
     "44ea4ab31f9e4c83420f1bfe7782ded2e2421c92ac416a830cf46f3ea4cb5ff1"},
};

Direction opposite(Direction direction) {
  return direction == Direction::encrypt ? Direction::decrypt : Direction::encrypt;
}

void run(const Eme& eme, Direction direction, Bytes tweak, MutableBytes text) {
  direction == Direction::encrypt ? eme.encrypt(tweak, text) : eme.decrypt(tweak, text);
}

void expect(const Vector& vector, Bytes out) {
  const std::string first(vector.first);
  EXPECT_EQ(to_hex(out.first(first.size() / 2)), first) << vector.source;
  if (vector.hash != nullptr) {
    EXPECT_EQ(sha256(out), vector.hash) << vector.source;
  }
}

TEST_P(EmeCase, PublishedVectors) {
  PAES_SKIP_IF_UNAVAILABLE();
  for (const Vector& vector : vectors) {
    const Eme eme(from_hex(vector.key), kernel());
    std::vector<std::uint8_t> text(vector.bytes);
    run(eme, vector.direction, from_hex(vector.tweak), text);
    expect(vector, text);
    run(eme, opposite(vector.direction), from_hex(vector.tweak), text);
    EXPECT_EQ(text, std::vector<std::uint8_t>(vector.bytes)) << vector.source;
  }
}

// The same working group's long runs, whose key, tweak and text are the results above
// (grouper.ieee.org/groups/1619/email/msg00218.html).
TEST_P(EmeCase, AHundredTimes) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Vector long_runs[] = {
      {"msg00218, encryption", Direction::encrypt,
       "9f2e6c3daecae79e8839b0588ff378cd0668970b95691cb00182b9e34cd658ed",
       "3c9c276838cc5e1411fcb8cf3da1c0f3", 512,
       "36008c95e732a23194937cc4dded30ffee0ff600f3ee8796a58af9bb124ad028",
       "c370a1d1913779657e9806eb084535b4c339b1995b5f81ce2e7d8b12d3dd85ea"},
      {"msg00218, decryption", Direction::decrypt,
       "080905dee8ebcc89f68bd1af635db3f5b60c2f13f7c768fceb1220f6c227fd83",
       "5f293e85f1eaa8ee2322f54291bf051e", 512,
       "78d8f9c2baaebcb97c3914fe4fd9b9ed1b0fd08c64ce0f7fa440c2b2317cacc6",
       "f2e583b911bcb72673e32cab161503efcff2ceb5826b263247160510e6247be7"},
  };
  for (const Vector& vector : long_runs) {
    std::vector<std::uint8_t> text(vector.bytes);
    run(Eme(from_hex(zero_key), kernel()), vector.direction, from_hex(zero_tweak), text);
    const Eme eme(from_hex(vector.key), kernel());
    for (int i = 0; i < 100; ++i) {
      run(eme, vector.direction, from_hex(vector.tweak), text);
    }
    expect(vector, text);
  }
}

TEST_P(EmeCase, EveryLengthRoundTripsAndStaysWithinItsMemory) {
  PAES_SKIP_IF_UNAVAILABLE();
  const Eme eme(varied_bytes(32, 1), kernel());
  const auto tweak = varied_bytes(block, 2);
  const test::GuardedBuffer memory(eme_max_bytes);
  for (std::size_t bytes = block; bytes <= eme_max_bytes; bytes += block) {
    const auto text = varied_bytes(bytes, bytes);
    for (const test::Guard side : {test::Guard::before, test::Guard::behind}) {
      const MutableBytes place = memory.filled(text, side);
      eme.encrypt(tweak, place);
      EXPECT_NE(to_hex(place), to_hex(text));
      eme.decrypt(tweak, place);
      EXPECT_EQ(to_hex(place), to_hex(text));
    }
  }
}

PAES_FOR_ALL_KERNELS(EmeCase);

// A wide block: each bit of the text and of the tweak changes every block of the result, in both
// directions.
TEST(Eme, EveryBitChangesEveryBlock) {
  const Eme eme(varied_bytes(32, 1), best_kernel(Cipher::aes));
  constexpr std::size_t bytes = 5 * block;
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    const auto text = varied_bytes(bytes, 3);
    const auto tweak = varied_bytes(block, 4);
    auto want = text;
    run(eme, direction, tweak, want);
    for (std::size_t bit = 0; bit < 8 * (bytes + block); ++bit) {
      auto other = text;
      auto other_tweak = tweak;
      auto& changed = bit < 8 * bytes ? other[bit / 8] : other_tweak[bit / 8 - bytes];
      changed ^= static_cast<std::uint8_t>(1U << bit % 8);
      run(eme, direction, other_tweak, other);
      for (std::size_t at = 0; at < bytes; at += block) {
        EXPECT_NE(to_hex(Bytes(other).subspan(at, block)), to_hex(Bytes(want).subspan(at, block)))
            << "bit " << bit;
      }
    }
  }
}

}  // namespace
}  // namespace paes::vault
