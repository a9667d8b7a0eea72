// SPDX-License-Identifier: Apache-2.0
#include "crypto/scrypt_in_steps.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "core/secret.hpp"
#include "crypto/libcrypto.hpp"
#include "paes/error.hpp"

namespace paes {

namespace {

constexpr std::size_t salsa_bytes = 64;
constexpr std::size_t salsa_words = salsa_bytes / 4;
// The work between two checks: about a millisecond.
constexpr std::size_t step_bytes = std::size_t{1} << 20;
constexpr unsigned most_any_machine_has = 40;  // 2^50 bytes; keeps the products in range
constexpr std::uint32_t most_r = 1U << 16;
constexpr std::uint64_t most_blocks_bytes = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t most_r_times_p = (1U << 30) - 1;  // RFC 7914, section 6

Error no_memory(const ScryptShape& shape) {
  return {ErrorCode::failure, "scrypt: the memory for work factor " + std::to_string(shape.log2_n) +
                                  " is not available"};
}

SecretBytes secret_bytes(std::size_t bytes, const ScryptShape& shape) {
  try {
    return SecretBytes(bytes);
  } catch (const std::bad_alloc&) {
    throw no_memory(shape);
  }
}

void check_shape(const ScryptShape& shape) {
  const std::uint64_t r_times_p = std::uint64_t{shape.r} * shape.p;
  if (shape.log2_n < 1 || r_times_p < 1 || r_times_p > most_r_times_p ||
      shape.log2_n >= 16 * std::uint64_t{shape.r}) {
    throw Error(ErrorCode::failure,
                "scrypt: its numbers are not allowed: N = 2^" + std::to_string(shape.log2_n) +
                    ", r = " + std::to_string(shape.r) + ", p = " + std::to_string(shape.p));
  }
  if (shape.log2_n > most_any_machine_has || shape.r > most_r ||
      128 * r_times_p > most_blocks_bytes) {
    throw no_memory(shape);
  }
}

// Words in memory of their own, too many to be locked, but kept out of core dumps and wiped.
class Words {
 public:
  Words(std::size_t count, const ScryptShape& shape) : bytes_(count * sizeof(std::uint32_t)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) {
      throw no_memory(shape);
    }
    (void)madvise(memory_, bytes_, MADV_DONTDUMP);
    (void)madvise(memory_, bytes_, MADV_HUGEPAGE);  // places in it are looked up at random
  }
  ~Words() {
    wipe(memory_, used_bytes_);
    (void)munmap(memory_, bytes_);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  // Unused words have no pages yet, and wiping them would create some.
  [[nodiscard]] std::uint32_t* use(std::size_t at, std::size_t count) noexcept {
    used_bytes_ = std::max(used_bytes_, (at + count) * sizeof(std::uint32_t));
    return (*this)[at];
  }
  [[nodiscard]] std::uint32_t* operator[](std::size_t at) noexcept {
    return static_cast<std::uint32_t*>(memory_) + at;
  }

 private:
  std::size_t bytes_;
  std::size_t used_bytes_ = 0;
  void* memory_;
};

// Four words. A block of Salsa20 is four of them, each a diagonal of its square, so that a round
// works on whole vectors (Bernstein, "Salsa20 speed").
using Vector = std::uint32_t __attribute__((vector_size(16)));

struct Block {
  Vector diagonals[4];
};

Vector load(const std::uint32_t* from) noexcept {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

template <int count>
Vector rotated(Vector value) noexcept {
  return (value << count) | (value >> (32 - count));
}

// A quarter-round of each column, or of each row, at once.
void quarter_rounds(Vector& a, Vector& b, Vector& c, Vector& d) noexcept {
  b ^= rotated<7>(a + d);
  c ^= rotated<9>(b + a);
  d ^= rotated<13>(c + b);
  a ^= rotated<18>(d + c);
}

void turn(Vector& one, Vector& two, Vector& three) noexcept {
  one = __builtin_shufflevector(one, one, 3, 0, 1, 2);
  two = __builtin_shufflevector(two, two, 2, 3, 0, 1);
  three = __builtin_shufflevector(three, three, 1, 2, 3, 0);
}

// RFC 7914, section 3.
void salsa20_8(Block& block) noexcept {
  auto [a, b, c, d] = block.diagonals;
  for (int round = 0; round < 8; round += 2) {
    quarter_rounds(a, b, c, d);
    turn(b, c, d);
    quarter_rounds(a, d, c, b);
    turn(d, c, b);
  }
  block.diagonals[0] += a;
  block.diagonals[1] += b;
  block.diagonals[2] += c;
  block.diagonals[3] += d;
}

// RFC 7914, section 4: `out` from `in`, each of 2 * r blocks. `also`, if not null, is XORed to `in`
// first.
template <bool has_also>
void block_mix(const std::uint32_t* in, const std::uint32_t* also, std::uint32_t* out,
               std::size_t r) noexcept {
  const auto part = [&](std::size_t block, std::size_t diagonal) {
    const std::size_t at = block * salsa_words + diagonal * 4;
    return has_also ? load(in + at) ^ load(also + at) : load(in + at);
  };
  Block x;
  for (std::size_t i = 0; i < 4; ++i) {
    x.diagonals[i] = part(2 * r - 1, i);
  }
  for (std::size_t block = 0; block < 2 * r; ++block) {
    for (std::size_t i = 0; i < 4; ++i) {
      x.diagonals[i] ^= part(block, i);
    }
    salsa20_8(x);
    std::memcpy(out + (block / 2 + (block % 2) * r) * salsa_words, &x, sizeof x);
  }
}

// RFC 7914, section 5.
class Mixer {
 public:
  Mixer(const ScryptShape& shape, const std::function<void()>& check)
      : check_(check),
        r_(shape.r),
        words_(2 * std::size_t{shape.r} * salsa_words),
        n_(std::uint64_t{1} << shape.log2_n),
        table_(words_ * n_, shape),
        block_(secret_bytes(words_ * sizeof(std::uint32_t), shape)),
        next_(secret_bytes(words_ * sizeof(std::uint32_t), shape)) {}

  void mix(MutableBytes bytes) {
    auto* x = reinterpret_cast<std::uint32_t*>(block_.data());  // whole pages
    auto* y = reinterpret_cast<std::uint32_t*>(next_.data());
    for_each_word([&](std::size_t from, std::size_t to) {
      x[to] = load_le<std::uint32_t>(bytes.data() + 4 * from);
    });
    for (std::uint64_t i = 0; i < n_; ++i) {
      std::uint32_t* const row = table_.use(i * words_, words_);
      std::memcpy(row, x, words_ * sizeof *x);
      block_mix<false>(row, nullptr, x, r_);
      step();
    }
    for (std::uint64_t i = 0; i < n_; ++i) {
      // The two low words of the last block, which lie on two diagonals.
      const std::uint32_t* const last = x + words_ - salsa_words;
      const std::uint64_t j = (last[0] | std::uint64_t{last[13]} << 32) & (n_ - 1);
      block_mix<true>(x, table_[j * words_], y, r_);
      std::swap(x, y);
      step();
    }
    for_each_word(
        [&](std::size_t from, std::size_t to) { store_le(bytes.data() + 4 * from, x[to]); });
  }

 private:
  // Calls `call` with each word's place in the standard's order and its place among the diagonals.
  template <typename Call>
  void for_each_word(const Call& call) {
    for (std::size_t i = 0; i < words_; ++i) {
      call(i / salsa_words * salsa_words + i * 5 % salsa_words, i);
    }
  }

  void step() {
    stepped_bytes_ += words_ * sizeof(std::uint32_t);
    if (stepped_bytes_ >= step_bytes) {
      stepped_bytes_ = 0;
      if (check_) {
        check_();
      }
    }
  }

  const std::function<void()>& check_;
  std::size_t r_;
  std::size_t words_;
  std::uint64_t n_;
  Words table_;
  SecretBytes block_;
  SecretBytes next_;
  std::size_t stepped_bytes_ = 0;
};

}  // namespace

void scrypt_in_steps(Bytes passphrase, Bytes salt, const ScryptShape& shape,
                     const std::function<void()>& check, MutableBytes out) {
  check_shape(shape);
  const std::size_t block_bytes = 128 * std::size_t{shape.r};
  SecretBytes blocks = secret_bytes(block_bytes * shape.p, shape);
  libcrypto::pbkdf2_once_sha256(passphrase, salt, check, blocks);
  {
    Mixer mixer(shape, check);
    for (std::uint32_t i = 0; i < shape.p; ++i) {
      mixer.mix(MutableBytes(blocks).subspan(i * block_bytes, block_bytes));
    }
  }
  libcrypto::pbkdf2_once_sha256(passphrase, blocks, check, out);
}

}  // namespace paes
