// SPDX-License-Identifier: Apache-2.0
// Where messages lie: every misalignment of in and out, in place, and with pages on both sides that
// nobody may touch.
#include <algorithm>

#include "differential_subject.hpp"
#include "guarded_buffer.hpp"

namespace paes::test {
namespace {

// Around a flight of the kernel, but no more than about 4 KiB.
std::vector<std::size_t> lengths_for(const Subject& subject) {
  const std::size_t block = subject.block_size();
  std::vector<std::size_t> lengths = {block, 2 * block, 48, 80, 2 * block + 1, 99};
  if (!subject.is_slow()) {
    const std::size_t flight = std::min<std::size_t>(subject.kernel->lanes * block, 4096);
    lengths.insert(lengths.end(), {flight, flight + 2 * block, flight + 35});
  }
  return lengths;
}

TEST(RawMemory, EveryMisalignment) {
  constexpr std::size_t misalignments = 16;
  constexpr std::uint8_t untouched = 0xaa;
  for (const Subject& subject : subjects()) {
    const Buffer key_bytes = varied_bytes(subject.key_sizes()[0], 1);
    const RawKey key(subject.kernel->cipher, subject.mode, key_bytes, *subject.kernel);
    const Buffer iv = subject.iv(2);
    for (const std::size_t length : lengths_for(subject)) {
      if (!key.takes(length)) {
        continue;
      }
      const Buffer text = varied_bytes(length, 3);
      const Buffer expected = subject.reference(key_bytes, iv, text);
      alignas(64) std::uint8_t from[4096 + 128];
      alignas(64) std::uint8_t to[4096 + 128];
      for (std::size_t in_at = 0; in_at < misalignments; ++in_at) {
        for (std::size_t out_at = 0; out_at < misalignments; ++out_at) {
          if (effort() == Effort::small && in_at != out_at && in_at * out_at != 0) {
            continue;
          }
          std::copy(text.begin(), text.end(), from + in_at);
          std::fill(to, to + length + 2 * misalignments, untouched);
          crypt_whole(key, subject.direction, iv, {from + in_at, length}, {to + out_at, length});
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), to + out_at))
              << subject.name() << " of " << length << " bytes from +" << in_at << " to +"
              << out_at;
          const auto is_untouched = [](std::uint8_t byte) { return byte == untouched; };
          ASSERT_TRUE(
              std::all_of(to, to + out_at, is_untouched) &&
              std::all_of(to + out_at + length, to + length + 2 * misalignments, is_untouched))
              << subject.name() << " wrote beside its " << length << " bytes";
        }
        crypt_whole(key, subject.direction, iv, {from + in_at, length}, {from + in_at, length});
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), from + in_at))
            << subject.name() << " of " << length << " bytes in place at +" << in_at;
      }
    }
  }
}

// Over-reads of 15 and 48 bytes beyond the end were shipped (CVE-2026-28386, CVE-2023-1255), and
// the last 16 bytes left out in place (CVE-2022-2097).
TEST(RawMemory, NothingBesideTheBuffersIsTouched) {
  for (const Subject& subject : subjects()) {
    const Buffer key_bytes = varied_bytes(subject.key_sizes().back(), 4);
    const RawKey key(subject.kernel->cipher, subject.mode, key_bytes, *subject.kernel);
    const Buffer iv = subject.iv(5);
    const GuardedBuffer iv_place(16);
    const GuardedBuffer in_place(4096);
    const GuardedBuffer out_place(4096);
    std::vector<std::size_t> lengths = lengths_for(subject);
    for (std::size_t length = 0; length <= 200; ++length) {
      lengths.push_back(length);
    }
    for (const std::size_t length : lengths) {
      if (!key.takes(length) || length > 4096 ||
          (effort() == Effort::small && length % 3 != 0 && length > 40)) {
        continue;
      }
      const Buffer text = varied_bytes(length, 6);
      const Buffer expected = subject.reference(key_bytes, iv, text);
      for (const Guard side : {Guard::before, Guard::behind}) {
        const MutableBytes guarded_iv = iv_place.filled(iv, side);
        const MutableBytes in = in_place.filled(text, side);
        const MutableBytes out = out_place.view(length, side);
        crypt_whole(key, subject.direction, guarded_iv, in, out);
        ASSERT_TRUE(std::equal(out.begin(), out.end(), expected.begin(), expected.end()))
            << subject.name() << " of " << length << " bytes";
        crypt_whole(key, subject.direction, guarded_iv, in, in);
        ASSERT_TRUE(std::equal(in.begin(), in.end(), expected.begin(), expected.end()))
            << subject.name() << " of " << length << " bytes in place";
      }
    }
  }
}

}  // namespace
}  // namespace paes::test
