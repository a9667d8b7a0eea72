// SPDX-License-Identifier: Apache-2.0
// Text XOR keystream, and zeros where the keystream was: every width, length and alignment, and not
// a byte beyond.
#include "keystream/xor.hpp"

#include "keystream_subject.hpp"

namespace paes::test {
namespace {

TEST(Xor, EveryWidthLengthAndPlace) {
  const keystream::XorPasses passes = keystream::xor_passes();
  for (std::size_t width = 0; width < passes.count; ++width) {
    for (std::size_t bytes = 0; bytes < 700; bytes += bytes < 70 ? 1 : 37) {
      for (const std::size_t place : {0U, 1U, 17U, 48U}) {
        const Buffer text = varied_bytes(bytes + 100, 1);
        const Buffer stream = varied_bytes(bytes + 100, 2);
        Buffer key = stream;
        Buffer out(bytes + 100, 0x33);
        const std::size_t end =
            passes.all[width](key.data() + place, bytes, text.data() + 3, out.data() + 5);
        ASSERT_LE(end, bytes);
        ASSERT_LT(bytes - end, std::size_t{64} << width) << "most of it";
        for (std::size_t i = 0; i < key.size(); ++i) {
          const bool is_used = i >= place && i < place + end;
          ASSERT_EQ(key[i], is_used ? 0 : stream[i]) << i;
        }
        for (std::size_t i = 0; i < out.size(); ++i) {
          const bool is_written = i >= 5 && i < 5 + end;
          ASSERT_EQ(out[i], is_written ? text[i - 2] ^ stream[place + i - 5] : 0x33) << i;
        }
      }
    }
  }
}

TEST(Xor, TheWholeOfIt) {
  for (std::size_t bytes = 0; bytes < 600; ++bytes) {
    const Buffer text = varied_bytes(bytes, 1);
    const Buffer stream = varied_bytes(bytes, 2);
    Buffer key = stream;
    Buffer in_place = text;
    keystream::xor_and_wipe(key, in_place.data(), in_place.data());
    ASSERT_EQ(in_place, xor_of(text, stream));
    ASSERT_EQ(key, Buffer(bytes));
  }
}

}  // namespace
}  // namespace paes::test
