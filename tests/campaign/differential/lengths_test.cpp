// SPDX-License-Identifier: Apache-2.0
// Every length from 0 to 4096, and lengths around the powers of two up to 64 MiB.
#include <algorithm>
#include <cstring>
#include <iostream>

#include "differential_subject.hpp"
#include "exec/thread_pool.hpp"

namespace paes::test {
namespace {

constexpr std::size_t longest_of_every = 4096;

// A slow subject takes all short lengths, and each of the others in one of its modes.
bool takes_its_turn(const Subject& subject, std::size_t length) {
  if (effort() == Effort::small) {
    return length < 100 || length % 97 == 0;
  }
  if (effort() == Effort::deep || !subject.is_slow() || length <= 264 || length >= 4080) {
    return true;
  }
  // Whole blocks alone would be even, and leave out half of the modes.
  const std::size_t turn = length + length / subject.block_size();
  return turn % operation_count == static_cast<std::size_t>(subject.operation());
}

// Each in a call of its own, every other one in place, the sizes of keys in turn.
TEST(RawLengths, EveryLengthToFourKibibytes) {
  for (const Subject& subject : subjects()) {
    const std::vector<std::size_t> sizes = subject.key_sizes();
    const Buffer text = varied_bytes(longest_of_every, 1);
    const Buffer iv = subject.iv(2);
    std::vector<RawKey> keys;
    std::vector<Buffer> key_bytes;
    std::vector<Buffer> whole;  // in modes but XTS, what is short is the beginning of what is long
    for (const std::size_t size : sizes) {
      key_bytes.push_back(varied_bytes(size, 3));
      keys.emplace_back(subject.kernel->cipher, subject.mode, key_bytes.back(), *subject.kernel);
      whole.push_back(subject.reference(key_bytes.back(), iv, text));
    }
    for (std::size_t length = 0; length <= longest_of_every; ++length) {
      const std::size_t turn = length / subject.block_size() % sizes.size();
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (!keys[i].takes(length) || !takes_its_turn(subject, length) ||
            (i != turn && effort() != Effort::deep)) {
          continue;
        }
        const Bytes in(text.data(), length);
        Buffer out(in.begin(), in.end());
        crypt_whole(keys[i], subject.direction, iv, length % 2 == 0 ? in : Bytes(out), out);
        const bool is_prefix = subject.mode != Mode::xts || length % 16 == 0;
        const Buffer other = is_prefix ? Buffer() : subject.reference(key_bytes[i], iv, in);
        const Buffer& expected = is_prefix ? whole[i] : other;
        ASSERT_TRUE(std::equal(out.begin(), out.end(), expected.begin()))
            << subject.name() << " of " << length << " bytes, key of " << sizes[i];
      }
    }
    exercised().add(*subject.kernel);
  }
}

// All of them as one batch, which must give what single calls give.
TEST(RawLengths, EveryLengthInOneBatch) {
  const auto threads = make_thread_pool(2);
  for (const Subject& subject : subjects()) {
    // Chains idle at a long message's end, when the short ones are done.
    const bool is_short = subject.is_slow() && effort() != Effort::deep;
    const std::size_t longest = effort() == Effort::small ? 304
                                : is_short                ? 1024
                                                          : longest_of_every;
    const Buffer text = varied_bytes(longest, 4);
    const Buffer key_bytes = varied_bytes(subject.key_sizes().back(), 5);
    const RawKey key(subject.kernel->cipher, subject.mode, key_bytes, *subject.kernel);
    const Buffer iv = subject.iv(6);
    const Buffer whole = subject.reference(key_bytes, iv, text);
    std::vector<Buffer> out;
    for (std::size_t length = 0; length <= longest; ++length) {
      if (key.takes(length)) {
        out.emplace_back(length);
      }
    }
    std::vector<RawMessage> messages;
    for (Buffer& to : out) {
      messages.push_back({iv, Bytes(text.data(), to.size()), to});
    }
    key.crypt_batch(subject.direction, messages, *threads);
    for (const Buffer& to : out) {
      const bool is_prefix = subject.mode != Mode::xts || to.size() % 16 == 0;
      const Buffer other =
          is_prefix ? Buffer() : subject.reference(key_bytes, iv, Bytes(text.data(), to.size()));
      const Buffer& expected = is_prefix ? whole : other;
      ASSERT_TRUE(std::equal(to.begin(), to.end(), expected.begin()))
          << subject.name() << " of " << to.size() << " bytes in a batch";
    }
  }
}

// libcrypto's 3DES takes a second for 28 MB, and 3DES keys serve 2^20 blocks anyhow (SP 800-67).
std::size_t longest_of(const Subject& subject) {
  constexpr std::size_t kibibyte = 1024;
  constexpr std::size_t mebibyte = kibibyte * kibibyte;
  if (effort() == Effort::small) {
    return 16 * kibibyte;
  }
  const bool is_deep = effort() == Effort::deep;
  if (subject.is_slow()) {
    return is_deep ? mebibyte : (subject.is_aes() ? 128 : 16) * kibibyte;
  }
  if (subject.is_fast() || is_deep) {
    return 64 * mebibyte;
  }
  return (subject.is_aes() ? 1024 : 256) * kibibyte;
}

TEST(RawLengths, AroundPowersOfTwo) {
  std::vector<Subject> all = subjects();
  const auto longest = [](const std::vector<Subject>& of) {
    std::size_t most = 0;
    for (const Subject& subject : of) {
      most = std::max(most, longest_of(subject));
    }
    return most;
  };
  const Buffer text = varied_bytes(longest(all) + 16, 7);
  Buffer out(text.size());
  for (const Cipher cipher : {Cipher::aes, Cipher::des_ede3}) {
    for (const ModeRow& row : modes) {
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        std::vector<Subject> same;  // what libcrypto gives serves all of these
        for (const Subject& subject : all) {
          if (subject.kernel->cipher == cipher && &row_of(subject.mode) == &row &&
              subject.direction == direction) {
            same.push_back(subject);
          }
        }
        if (same.empty()) {
          continue;
        }
        const Subject& first = same.front();
        const std::size_t block = first.block_size();
        const std::size_t step = row.tail == Tail::padded ? block : 1;
        // XTS has no data unit of more than 16 MiB.
        const std::size_t unit = first.mode == Mode::xts ? std::size_t{1} << 20 : 0;
        const Buffer key_bytes = varied_bytes(first.key_sizes().back(), 8);
        const Buffer iv = first.iv(9);
        const Buffer whole =
            first.reference(key_bytes, iv, Bytes(text.data(), longest(same) + block), unit);
        for (const Subject& subject : same) {
          const RawKey key(cipher, first.mode, key_bytes, *subject.kernel, unit);
          for (std::size_t power = 8192; power <= longest_of(subject); power *= 2) {
            for (const std::size_t length : {power - step, power, power + step}) {
              if (!key.takes(length)) {
                continue;
              }
              const Bytes in(text.data(), length);
              crypt_whole(key, direction, iv, in, MutableBytes(out).first(length));
              // Where a last unit is cut short, its last blocks are others.
              const bool is_prefix = unit == 0 || length % unit == 0;
              const std::size_t same_bytes = is_prefix ? length : length / unit * unit;
              ASSERT_EQ(std::memcmp(out.data(), whole.data(), same_bytes), 0)
                  << subject.name() << " of " << length << " bytes";
              if (!is_prefix) {
                Buffer number = iv;
                for (std::size_t i = 0; i < length / unit; ++i) {
                  for (std::size_t at = 0; at < 16 && ++number[at] == 0; ++at) {
                  }
                }
                const Buffer rest =
                    subject.reference(key_bytes, number, in.subspan(same_bytes), unit);
                ASSERT_TRUE(std::equal(rest.begin(), rest.end(), out.data() + same_bytes))
                    << subject.name() << " of " << length << " bytes, the last unit";
              }
            }
          }
        }
      }
    }
  }
}

// XTS in one data unit, to the largest there is.
TEST(RawLengths, XtsInOneUnit) {
  for (const Subject& subject : subjects()) {
    if (subject.mode != Mode::xts) {
      continue;
    }
    const std::size_t longest = std::min(longest_of(subject), std::size_t{1} << 24);
    const Buffer text = varied_bytes(longest, 10);
    const Buffer key_bytes = varied_bytes(32, 11);
    const RawKey key(Cipher::aes, Mode::xts, key_bytes, *subject.kernel);
    const Buffer iv = subject.iv(12);
    for (std::size_t power = 8192; power <= longest; power *= 2) {
      for (const std::size_t length : {power - 1, power, power + 1}) {
        if (!key.takes(length) || length > longest) {
          continue;
        }
        const Bytes in(text.data(), length);
        Buffer out(length);
        crypt_whole(key, subject.direction, iv, in, out);
        ASSERT_TRUE(out == subject.reference(key_bytes, iv, in))
            << subject.name() << " of " << length << " bytes";
      }
    }
  }
}

// After all tests: every kernel that this processor has took part. With a filter there is nothing
// to say.
class WideKernels : public ::testing::Environment {
  void SetUp() override {
    for (const Kernel* kernel : all_tested_kernels()) {
      if (const std::string reason = unavailable_reason(*kernel); !reason.empty()) {
        std::cout << "not run: " << test_name(*kernel) << ": " << reason << '\n';
      }
    }
  }
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") {
      return;
    }
    if (tests_only_some_kernels()) {
      EXPECT_EQ(exercised().count(), names_of_some_kernels().size())
          << "kernels of those in PAES_TEST_KERNELS";
    } else {
      for (const std::string& missing : exercised().missing()) {
        ADD_FAILURE() << missing;
      }
    }
    EXPECT_NE(exercised().count(), 0U);
  }
};
const auto* const wide_kernels_are_exercised = ::testing::AddGlobalTestEnvironment(new WideKernels);

}  // namespace
}  // namespace paes::test
