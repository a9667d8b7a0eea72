// SPDX-License-Identifier: Apache-2.0
#include "crypto/bcrypt_pbkdf.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>
#include <vector>

#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"

namespace paes::age {

namespace {

constexpr std::size_t p_words = 18;
constexpr std::size_t s_words = std::size_t{4} * 256;

// Blowfish's expanded key (Schneier, "Description of a New Variable-Length Key, 64-Bit Block
// Cipher", 1993).
struct Blowfish {
  std::array<std::uint32_t, p_words> p;
  std::array<std::uint32_t, s_words> s;
};

// A fraction in fixed point: 32 bits a word, the integer part first.
using Fixed = std::vector<std::uint32_t>;

// Divides the words from `first` on; those before it are zero.
void divide(Fixed& number, std::uint32_t by, std::size_t first) {
  std::uint64_t rest = 0;
  for (std::size_t i = first; i < number.size(); ++i) {
    const std::uint64_t part = rest << 32 | number[i];
    number[i] = static_cast<std::uint32_t>(part / by);
    rest = part % by;
  }
}

void add(Fixed& sum, const Fixed& term, bool is_negative) {
  std::uint64_t carry = is_negative ? 1 : 0;
  for (std::size_t i = sum.size(); i-- > 0;) {
    carry += std::uint64_t{sum[i]} + (is_negative ? ~term[i] : term[i]);
    sum[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
}

// Adds factor * arctan(1 / x), the sum of (-1)^k / ((2k + 1) x^(2k + 1)).
void add_arctangent(Fixed& sum, std::uint32_t factor, std::uint32_t x, bool is_negative) {
  Fixed power(sum.size());
  power[0] = factor;
  divide(power, x, 0);
  std::size_t first = 0;
  for (std::uint32_t k = 0; first < power.size(); ++k) {
    Fixed term = power;
    divide(term, 2 * k + 1, first);
    add(sum, term, is_negative != (k % 2 != 0));
    divide(power, x * x, first);
    while (first < power.size() && power[first] == 0) {
      ++first;
    }
  }
}

// Blowfish begins with the fraction of pi. It is computed rather than listed (Machin, 1706): pi =
// 16 arctan(1/5) - 4 arctan(1/239). That takes less time than one key with OpenSSH's 16 rounds.
Blowfish fraction_of_pi() {
  // 9,300 terms, each wrong by less than one unit, leave the first of two words unchanged.
  constexpr std::size_t guard_words = 2;
  Fixed pi(1 + p_words + s_words + guard_words);
  add_arctangent(pi, 16, 5, false);
  add_arctangent(pi, 4, 239, true);
  assert(pi[0] == 3);
  Blowfish state;
  std::copy_n(pi.begin() + 1, p_words, state.p.begin());
  std::copy_n(pi.begin() + 1 + p_words, s_words, state.s.begin());
  return state;
}

void encrypt(const Blowfish& key, std::uint32_t& left, std::uint32_t& right) noexcept {
  const auto mix = [&s = key.s](std::uint32_t x) {
    return ((s[x >> 24] + s[256 + (x >> 16 & 255)]) ^ s[512 + (x >> 8 & 255)]) + s[768 + (x & 255)];
  };
  for (std::size_t i = 0; i < 16; i += 2) {
    left ^= key.p[i];
    right ^= mix(left) ^ key.p[i + 1];
    left ^= mix(right);
  }
  left ^= key.p[16];
  right ^= key.p[17];
  std::swap(left, right);
}

using Hash = std::array<std::uint8_t, libcrypto::sha512_bytes>;

// Returns the words of a hash, over and over.
class Cycle {
 public:
  explicit Cycle(const Hash& hash) : hash_(hash) {}
  std::uint32_t next() noexcept {
    const std::uint32_t word = load_be32(hash_.data() + at_);
    at_ = (at_ + 4) % hash_.size();
    return word;
  }

 private:
  const Hash& hash_;
  std::size_t at_ = 0;
};

// Mixes a key and, unless it is null, a salt into the state.
void expand(Blowfish& state, const Hash& key, const Hash* salt) noexcept {
  Cycle key_words(key);
  for (std::uint32_t& word : state.p) {
    word ^= key_words.next();
  }
  Cycle salt_words(salt != nullptr ? *salt : key);
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  const auto replace = [&](auto& words) {
    for (std::size_t i = 0; i < words.size(); i += 2) {
      if (salt != nullptr) {
        left ^= salt_words.next();
        right ^= salt_words.next();
      }
      encrypt(state, left, right);
      words[i] = left;
      words[i + 1] = right;
    }
  };
  replace(state.p);
  replace(state.s);
}

using Block = std::array<std::uint8_t, 32>;

void bcrypt_hash(const Hash& passphrase, const Hash& salt, Blowfish& state, Block& out) {
  static const Blowfish initial = fraction_of_pi();
  state = initial;
  expand(state, passphrase, &salt);
  for (int i = 0; i < 64; ++i) {
    expand(state, salt, nullptr);
    expand(state, passphrase, nullptr);
  }
  constexpr std::string_view text = "OxychromaticBlowfishSwatDynamite";
  static_assert(text.size() == std::tuple_size_v<Block>);
  for (std::size_t at = 0; at < out.size(); at += 8) {
    std::uint32_t left = load_be32(libcrypto::bytes_of(text).data() + at);
    std::uint32_t right = load_be32(libcrypto::bytes_of(text).data() + at + 4);
    for (int i = 0; i < 64; ++i) {
      encrypt(state, left, right);
    }
    store_le(out.data() + at, left);
    store_le(out.data() + at + 4, right);
  }
}

struct Workspace {
  Blowfish state;
  Hash passphrase;
  Hash salt;
  Block latest;
  Block sum;
};

}  // namespace

void bcrypt_pbkdf(Bytes passphrase, Bytes salt, std::uint32_t rounds,
                  const std::function<void()>& check, MutableBytes out) {
  assert(!passphrase.empty() && !salt.empty() && rounds > 0);
  assert(!out.empty() && out.size() <= max_bcrypt_bytes);
  Secret<Workspace> work;
  libcrypto::sha512(passphrase, work->passphrase);
  std::vector<std::uint8_t> counted(salt.begin(), salt.end());
  counted.resize(salt.size() + 4);
  // Unlike PBKDF2, the output takes bytes from the blocks in turns instead of joining them.
  const std::size_t blocks = (out.size() + work->sum.size() - 1) / work->sum.size();
  for (std::size_t block = 0; block < blocks; ++block) {
    store_be32(counted.data() + salt.size(), static_cast<std::uint32_t>(block + 1));
    libcrypto::sha512(counted, work->salt);
    bcrypt_hash(work->passphrase, work->salt, work->state, work->latest);
    work->sum = work->latest;
    for (std::uint32_t round = 1; round < rounds; ++round) {
      if (check) {
        check();
      }
      libcrypto::sha512(work->latest, work->salt);
      bcrypt_hash(work->passphrase, work->salt, work->state, work->latest);
      for (std::size_t i = 0; i < work->sum.size(); ++i) {
        work->sum[i] = static_cast<std::uint8_t>(work->sum[i] ^ work->latest[i]);
      }
    }
    for (std::size_t i = 0; block + i * blocks < out.size() && i < work->sum.size(); ++i) {
      out[block + i * blocks] = work->sum[i];
    }
  }
}

}  // namespace paes::age
