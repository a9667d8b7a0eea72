// SPDX-License-Identifier: Apache-2.0
// Parts of one message taken alone, out of order, as threads with files at both ends take them.
#include <gtest/gtest.h>

#include "kernel/registry.hpp"
#include "message/raw_key.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

TEST(RawPositions, PartsAloneAreTheWhole) {
  const Kernel& kernel = find_kernel(Cipher::aes, "bitslice");
  for (const Mode mode : {Mode::ecb, Mode::cbc, Mode::cfb, Mode::ctr, Mode::xts}) {
    const RawKey key(Cipher::aes, mode, varied_bytes(32, 1), kernel, mode == Mode::xts ? 48 : 0);
    Buffer iv = varied_bytes(key.iv_bytes(), 2);
    if (mode == Mode::ctr || mode == Mode::xts) {  // carries, whichever end counts
      std::fill(iv.begin() + 1, iv.end() - 1, std::uint8_t{0xff});
      iv.front() = iv.back() = 0xfe;
    }
    const Buffer in = varied_bytes(48 * 40, 3);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      if (!key.is_parallel(direction)) {
        continue;
      }
      Buffer whole(in.size());
      RawPosition position = key.start(iv);
      key.crypt(direction, position, in, whole, serial_executor(), in.size());
      Buffer parts(in.size());
      for (std::size_t end = in.size(); end != 0; end -= 96) {
        const std::size_t first = end - 96;
        const Bytes before = first == 0 ? Bytes() : Bytes(in).subspan(first - 16, 16);
        position = key.at(iv, first, before);
        key.crypt(direction, position, Bytes(in).subspan(first, 96),
                  MutableBytes(parts).subspan(first, 96), serial_executor(), 96);
      }
      EXPECT_EQ(parts, whole) << row_of(mode).name;
    }
  }
}

}  // namespace
}  // namespace paes
