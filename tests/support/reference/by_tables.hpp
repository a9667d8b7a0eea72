// SPDX-License-Identifier: Apache-2.0
// The reference without libcrypto: the modes block by block as SP 800-38A (section 6), IEEE 1619
// (section 5) and SP 800-38D (section 7.1) write them, with the table-driven ciphers. It is fast
// enough under an emulator, and shares nothing with the kernels' templates of the modes.
#pragma once

#include <bit>
#include <memory>
#include <stdexcept>

#include "cipher/aes_tables.hpp"
#include "cipher/des_tables.hpp"
#include "cipher/ghash.hpp"
#include "reference.hpp"

namespace paes::test {
namespace {  // the ciphers' own namespace
namespace by_tables {

using Buffer = std::vector<std::uint8_t>;

class BlockCipher {
 public:
  BlockCipher(bool is_aes, Bytes key) : is_aes_(is_aes) {
    if (is_aes) {
      RoundKeys round_keys;
      expand_key(key, round_keys);
      aes_tables::prepare(round_keys, aes_);
    } else {
      DesRoundKeys round_keys;
      expand_des_key(key, round_keys);
      des_tables::prepare(round_keys, des_);
    }
  }
  [[nodiscard]] std::size_t size() const { return is_aes_ ? 16 : 8; }
  [[nodiscard]] Block encrypt(const Block& block) const {
    Block out = {};
    is_aes_ ? aes_tables::encrypt_blocks<1>(aes_, block.bytes, out.bytes)
            : des_tables::crypt<1>(des_, block.bytes, out.bytes);
    return out;
  }
  [[nodiscard]] Block decrypt(const Block& block) const {
    Block out = {};
    is_aes_ ? aes_tables::decrypt_blocks<1>(aes_, block.bytes, out.bytes)
            : des_tables::crypt<-1>(des_, block.bytes, out.bytes);
    return out;
  }

 private:
  bool is_aes_;
  aes_tables::Keys aes_ = {};
  des_tables::Keys des_ = {};
};

// The bytes of a block that exist, followed by zeros.
[[maybe_unused]] inline Block block_of(Bytes bytes) {
  Block block = {};
  std::copy(bytes.begin(), bytes.end(), block.bytes);
  return block;
}

[[maybe_unused]] inline Block sum_of(const Block& a, const Block& b) {
  Block sum = {};
  for (std::size_t i = 0; i < sizeof sum.bytes; ++i) {
    sum.bytes[i] = a.bytes[i] ^ b.bytes[i];
  }
  return sum;
}

[[maybe_unused]] inline void append(Buffer& to, const Block& block, std::size_t bytes) {
  to.insert(to.end(), block.bytes, block.bytes + bytes);
}

// Counts in bytes first to last - 1, with carry.
[[maybe_unused]] inline void add_one(Block& block, std::size_t first, std::size_t last) {
  for (std::size_t i = last; i > first && ++block.bytes[i - 1] == 0; --i) {
  }
}

// One block of a message; the last one is cut short if the mode allows it. `iv` becomes what the
// next block needs.
[[maybe_unused]] inline Block next_block(const BlockCipher& cipher, Mode mode, bool encrypt,
                                         Block& iv, const Block& in) {
  switch (mode) {
    case Mode::ecb:
      return encrypt ? cipher.encrypt(in) : cipher.decrypt(in);
    case Mode::cbc: {
      const Block out = encrypt ? cipher.encrypt(sum_of(in, iv)) : sum_of(cipher.decrypt(in), iv);
      iv = encrypt ? out : in;
      return out;
    }
    case Mode::cfb: {
      const Block out = sum_of(in, cipher.encrypt(iv));
      iv = encrypt ? out : in;
      return out;
    }
    case Mode::ofb:
      iv = cipher.encrypt(iv);
      return sum_of(in, iv);
    case Mode::ctr: {
      const Block out = sum_of(in, cipher.encrypt(iv));
      add_one(iv, 0, cipher.size());
      return out;
    }
    default:
      throw std::runtime_error("the reference has no such mode");
  }
}

[[maybe_unused]] inline Mode mode_of(const std::string& name) {
  const std::string suffix = name.substr(name.rfind('-') + 1);
  for (const ModeRow& row : modes) {
    const auto mode = static_cast<Mode>(&row - modes);
    if (suffix == reference_mode(mode)) {
      return mode;
    }
  }
  throw std::runtime_error("the reference has no " + name);
}

[[maybe_unused]] inline void times_x(Block& tweak) {
  const bool carries = (tweak.bytes[15] & 0x80) != 0;
  for (std::size_t i = 15; i > 0; --i) {
    tweak.bytes[i] = static_cast<std::uint8_t>((tweak.bytes[i] << 1) | (tweak.bytes[i - 1] >> 7));
  }
  tweak.bytes[0] = static_cast<std::uint8_t>((tweak.bytes[0] << 1) ^ (carries ? 0x87 : 0));
}

// One data unit. If its last block is short, it steals from the block before it; decryption does
// that block with the later tweak first (IEEE 1619, sections 5.3.2 and 5.4.2).
[[maybe_unused]] inline Buffer xts(bool encrypt, Bytes key, Bytes number, Bytes in) {
  const BlockCipher cipher(true, key.first(key.size() / 2));
  Block tweak = BlockCipher(true, key.last(key.size() / 2)).encrypt(block_of(number));
  const auto crypt = [&](const Block& by, const Block& block) {
    const Block text = sum_of(block, by);
    return sum_of(encrypt ? cipher.encrypt(text) : cipher.decrypt(text), by);
  };
  const std::size_t rest = in.size() % 16;
  const std::size_t plain = rest == 0 ? in.size() : in.size() - rest - 16;
  Buffer out;
  for (std::size_t at = 0; at < plain; at += 16, times_x(tweak)) {
    append(out, crypt(tweak, block_of(in.subspan(at, 16))), 16);
  }
  if (rest != 0) {
    Block later = tweak;
    times_x(later);
    const Block whole = crypt(encrypt ? tweak : later, block_of(in.subspan(plain, 16)));
    Block stolen = whole;
    std::copy(in.end() - static_cast<std::ptrdiff_t>(rest), in.end(), stolen.bytes);
    append(out, crypt(encrypt ? later : tweak, stolen), 16);
    append(out, whole, rest);
  }
  return out;
}

[[maybe_unused]] inline ReferenceStream stream(const std::string& name, bool encrypt, Bytes key,
                                               Bytes iv) {
  const auto cipher = std::make_shared<const BlockCipher>(name.starts_with("AES"), key);
  return [cipher, mode = mode_of(name), encrypt, iv = block_of(iv)](Bytes in) mutable {
    Buffer out;
    out.reserve(in.size());
    for (std::size_t at = 0; at < in.size(); at += cipher->size()) {
      const Bytes block = in.subspan(at, std::min(cipher->size(), in.size() - at));
      append(out, next_block(*cipher, mode, encrypt, iv, block_of(block)), block.size());
    }
    return out;
  };
}

[[maybe_unused]] inline Buffer crypt(const std::string& name, bool encrypt, Bytes key, Bytes iv,
                                     Bytes in) {
  return name.ends_with("-XTS") ? xts(encrypt, key, iv, in) : stream(name, encrypt, key, iv)(in);
}

// Continues `value` over the bytes, padded with zeros to whole blocks.
[[maybe_unused]] inline void hash(const HashSubkey& h, HashValue& value, Bytes bytes) {
  Buffer padded(bytes.begin(), bytes.end());
  padded.resize((bytes.size() + 15) / 16 * 16);
  ghash_update(h, value, padded.data(), padded.size() / 16);
}

[[maybe_unused]] inline void hash_lengths(const HashSubkey& h, HashValue& value, std::size_t first,
                                          std::size_t second) {
  Buffer lengths(16);
  store_be64(lengths.data(), first * 8);
  store_be64(lengths.data() + 8, second * 8);
  hash(h, value, lengths);
}

[[maybe_unused]] inline Sealed seal(Bytes key, Bytes iv, Bytes aad, Bytes plaintext) {
  const BlockCipher cipher(true, key);
  const auto h = std::bit_cast<HashSubkey>(cipher.encrypt(Block{}));
  Block j0 = {};
  if (iv.size() == 12) {
    j0 = block_of(iv);
    j0.bytes[15] = 1;
  } else {
    HashValue value = {};
    hash(h, value, iv);
    hash_lengths(h, value, 0, iv.size());
    j0 = std::bit_cast<Block>(value);
  }
  Sealed sealed;
  Block counter = j0;
  for (std::size_t at = 0; at < plaintext.size(); at += 16) {
    add_one(counter, 12, 16);
    const Bytes text = plaintext.subspan(at, std::min<std::size_t>(16, plaintext.size() - at));
    append(sealed.ciphertext, sum_of(block_of(text), cipher.encrypt(counter)), text.size());
  }
  HashValue value = {};
  hash(h, value, aad);
  hash(h, value, sealed.ciphertext);
  hash_lengths(h, value, aad.size(), plaintext.size());
  append(sealed.tag, sum_of(std::bit_cast<Block>(value), cipher.encrypt(j0)), 16);
  return sealed;
}

}  // namespace by_tables
}  // namespace
}  // namespace paes::test
