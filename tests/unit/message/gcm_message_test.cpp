// SPDX-License-Identifier: Apache-2.0
// GCM in parts that come in any order: the tag and the bytes of the whole message.
#include "message/gcm_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "kernel/registry.hpp"
#include "varied_bytes.hpp"

namespace paes {
namespace {

using test::varied_bytes;
using Buffer = std::vector<std::uint8_t>;

TEST(GcmMessages, PartsInAnyOrderAreTheWhole) {
  const GcmKey key(varied_bytes(32, 1), find_kernel(Cipher::aes, "bitslice"));
  const Buffer iv = varied_bytes(12, 2);
  const Buffer aad = varied_bytes(21, 3);
  constexpr std::size_t part_bytes = 48;
  std::mt19937 generator(4);
  for (const std::size_t bytes : {0U, 1U, 47U, 48U, 49U, 480U, 48U * 40 + 17}) {
    const Buffer text = varied_bytes(bytes, bytes);
    Buffer want(bytes);
    Buffer want_tag(16);
    key.seal(iv, aad, text, want, want_tag);
    const GcmMessage message(key, iv, aad);
    std::vector<std::size_t> order((bytes + part_bytes - 1) / part_bytes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (unsigned round = 0; round < 20; ++round) {
      Buffer out(bytes);
      Buffer back(bytes);
      GcmParts sealed(message);
      GcmParts opened(message);
      GcmParts hashed(message);
      for (const std::size_t number : order) {
        const std::size_t at = number * part_bytes;
        const std::size_t size = std::min(part_bytes, bytes - at);
        const auto part = [&](auto& buffer) { return std::span(buffer).subspan(at, size); };
        sealed.add(number, message.encrypt(at, part(text), part(out)));
        hashed.add(number, message.hash(part(out)));
        opened.add(number, message.decrypt(at, part(out), part(back)));
      }
      EXPECT_EQ(out, want);
      EXPECT_EQ(back, text);
      for (const GcmParts* parts : {&sealed, &opened, &hashed}) {
        Tag tag;
        message.tag(parts->joined(), bytes, tag);
        EXPECT_EQ(Buffer(tag.bytes, tag.bytes + 16), want_tag) << bytes << ", round " << round;
      }
      std::shuffle(order.begin(), order.end(), generator);
    }
  }
}

}  // namespace
}  // namespace paes
