// SPDX-License-Identifier: Apache-2.0
#include "vault/eme.hpp"

#include <bit>
#include <cassert>
#include <cstring>

#include "cipher/mode/xts.hpp"

namespace paes::vault {

namespace {

constexpr std::size_t cipher_block = sizeof(Block);

void add(const std::uint8_t* block, std::uint8_t* to) noexcept {
  store_le(to, load_le<std::uint64_t>(to) ^ load_le<std::uint64_t>(block));
  store_le(to + 8, load_le<std::uint64_t>(to + 8) ^ load_le<std::uint64_t>(block + 8));
}

// Adds L to the first block, 2L to the second, 4L to the third, and so on.
void add_multiples(Tweak l, MutableBytes text) noexcept {
  const WipeOnExit wiped(l.bytes);
  for (std::size_t at = 0; at < text.size(); at += cipher_block) {
    add(l.bytes, text.data() + at);
    l = xts::next_tweak(l);
  }
}

}  // namespace

Eme::Eme(Bytes key, const Kernel& kernel) : key_(Cipher::aes, Mode::ecb, key, kernel) {
  assert(key.size() == 32);
  Tweak zero = {};
  const WipeOnExit wiped(zero.bytes);
  run(Direction::encrypt, zero.bytes);
  *l_ = xts::next_tweak(zero);
}

void Eme::run(Direction direction, MutableBytes blocks) const noexcept {
  RawPosition anywhere = {};
  key_.crypt(direction, anywhere, blocks, blocks, serial_executor(), blocks.size());
}

void Eme::encrypt(Bytes tweak, MutableBytes text) const noexcept {
  transform(Direction::encrypt, tweak, text);
}

void Eme::decrypt(Bytes tweak, MutableBytes text) const noexcept {
  transform(Direction::decrypt, tweak, text);
}

// Figure 2 of the paper, with its names. Decryption uses the inverse cipher.
void Eme::transform(Direction direction, Bytes tweak, MutableBytes text) const noexcept {
  assert(tweak.size() == cipher_block && !text.empty() && text.size() % cipher_block == 0 &&
         text.size() <= eme_max_bytes);
  add_multiples(*l_, text);
  run(direction, text);  // PPP

  Block mp;
  const WipeOnExit wiped_mp(mp.bytes);
  std::memcpy(mp.bytes, tweak.data(), cipher_block);
  for (std::size_t at = 0; at < text.size(); at += cipher_block) {
    add(text.data() + at, mp.bytes);
  }
  Block mc = mp;
  const WipeOnExit wiped_mc(mc.bytes);
  run(direction, mc.bytes);
  Tweak m = std::bit_cast<Tweak>(mp);
  const WipeOnExit wiped_m(m.bytes);
  add(mc.bytes, m.bytes);

  std::uint8_t* const first = text.data();  // CCC
  std::memcpy(first, mc.bytes, cipher_block);
  add(tweak.data(), first);
  for (std::size_t at = cipher_block; at < text.size(); at += cipher_block) {
    m = xts::next_tweak(m);
    add(m.bytes, text.data() + at);
    add(text.data() + at, first);
  }
  run(direction, text);
  add_multiples(*l_, text);
}

}  // namespace paes::vault
