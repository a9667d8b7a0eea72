// SPDX-License-Identifier: Apache-2.0
// Counter mode across every carry: SP 800-38A counts in the whole block, kernels in 32 bits, and
// the vector units in 64 at most, so that each border between them is where others have failed.
#include <algorithm>

#include "differential_subject.hpp"

namespace paes::test {
namespace {

// 2^bits - before, as a big-endian block; 2^128 (2^64 for 3DES) is zero. Above, bits that a wrong
// carry would change.
Buffer counter_before(std::size_t block_size, unsigned bits, unsigned before, bool has_ones_above) {
  Buffer counter(block_size, has_ones_above ? 0xff : 0x00);
  if (has_ones_above) {
    counter[0] = 0x7f;  // and one zero, where the carry must stop
  }
  std::fill(counter.end() - bits / 8, counter.end(), std::uint8_t{0xff});
  for (unsigned i = 1; i < before; ++i) {
    for (std::size_t at = block_size; at-- > 0 && counter[at]-- == 0;) {
    }
  }
  return counter;
}

TEST(RawCounters, StartUpToSixtyFourBlocksBeforeEachCarry) {
  const Effort how_much = effort();
  for (const Subject& subject : subjects()) {
    if (subject.mode != Mode::ctr || subject.direction != Direction::encrypt) {
      continue;
    }
    const std::size_t block = subject.block_size();
    const Buffer text = varied_bytes(256 * block + 5, 1);
    const std::vector<std::size_t> sizes = subject.key_sizes();
    Buffer out(text.size());
    for (const unsigned bits : {8U, 16U, 32U, 64U, 128U}) {
      if (bits > 8 * block) {
        continue;
      }
      for (unsigned before = 1; before <= 64; ++before) {
        const Buffer key_bytes = varied_bytes(sizes[before % sizes.size()], 2);
        const RawKey key(subject.kernel->cipher, Mode::ctr, key_bytes, *subject.kernel);
        const Buffer iv = counter_before(block, bits, before, before % 2 == 0 && bits < 8 * block);
        const Buffer expected = subject.reference(key_bytes, iv, text);
        for (std::size_t blocks = 1; blocks <= 256; ++blocks) {
          // Where the kernels differ in speed by a hundred, the slow ones take one in sixteen, and
          // all that are about to carry.
          const bool is_thin =
              how_much == Effort::small || (how_much == Effort::normal && !subject.is_fast());
          if (is_thin && blocks % 16 != before % 16 && blocks + 1 != before && blocks != before &&
              blocks != before + 1) {
            continue;
          }
          const std::size_t bytes = blocks * block + (blocks % 8 == 3 ? 5 : 0);
          crypt_whole(key, Direction::encrypt, iv, Bytes(text.data(), bytes),
                      MutableBytes(out).first(bytes));
          ASSERT_TRUE(std::equal(out.data(), out.data() + bytes, expected.begin()))
              << subject.name() << ", " << before << " blocks before 2^" << bits << ", " << blocks
              << " blocks, key of " << key_bytes.size();
        }
      }
    }
    exercised().add(*subject.kernel);
  }
}

}  // namespace
}  // namespace paes::test
