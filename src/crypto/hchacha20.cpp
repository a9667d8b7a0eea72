// SPDX-License-Identifier: Apache-2.0
#include "crypto/hchacha20.hpp"

#include <array>
#include <bit>
#include <cassert>

#include "core/secret.hpp"

namespace paes {

namespace {

using State = std::array<std::uint32_t, 16>;

// RFC 8439, section 2.1.
void quarter_round(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                   std::uint32_t& d) noexcept {
  a += b;
  d = std::rotl(d ^ a, 16);
  c += d;
  b = std::rotl(b ^ c, 12);
  a += b;
  d = std::rotl(d ^ a, 8);
  c += d;
  b = std::rotl(b ^ c, 7);
}

void load(Bytes from, std::uint32_t* words) noexcept {
  for (std::size_t at = 0; at < from.size(); at += 4) {
    words[at / 4] = load_le<std::uint32_t>(from.data() + at);
  }
}

}  // namespace

void hchacha20(Bytes key, Bytes nonce, MutableBytes subkey) noexcept {
  assert(key.size() == 32 && nonce.size() == 16 && subkey.size() == 32);
  State s = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};  // "expand 32-byte k"
  load(key, s.data() + 4);
  load(nonce, s.data() + 12);
  for (unsigned pair_of_rounds = 0; pair_of_rounds < 10; ++pair_of_rounds) {
    quarter_round(s[0], s[4], s[8], s[12]);
    quarter_round(s[1], s[5], s[9], s[13]);
    quarter_round(s[2], s[6], s[10], s[14]);
    quarter_round(s[3], s[7], s[11], s[15]);
    quarter_round(s[0], s[5], s[10], s[15]);
    quarter_round(s[1], s[6], s[11], s[12]);
    quarter_round(s[2], s[7], s[8], s[13]);
    quarter_round(s[3], s[4], s[9], s[14]);
  }
  // The first and the last row, without the addition that ends a block of ChaCha20.
  for (std::size_t i = 0; i < 4; ++i) {
    store_le(subkey.data() + 4 * i, s[i]);
    store_le(subkey.data() + 16 + 4 * i, s[12 + i]);
  }
  wipe(s.data(), sizeof s);
}

}  // namespace paes
