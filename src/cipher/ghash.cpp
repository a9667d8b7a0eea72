// SPDX-License-Identifier: Apache-2.0
// GHASH by integer multiplication with holes (the idea is T. Pornin's, in BearSSL's "ctmul").
// Factors keep only every fourth bit of a 64-bit word. A column of their product is then a sum of
// at most 15 terms, whose carries stay within the three empty positions above it. Sixteen such
// products make one carry-less product. Constant time where the processor multiplies in constant
// time, and current 64-bit processors do.
#include "cipher/ghash.hpp"

#include "core/secret.hpp"

namespace paes {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t every_fourth = 0x1111111111111111;
constexpr unsigned classes = 4;

// A word split by bit position modulo 4. One operand serves many products and is split only once.
struct Holes {
  std::uint64_t word;
  std::uint64_t part[classes];
};

Holes make_holes(std::uint64_t word) noexcept {
  Holes holes{word, {}};
  for (unsigned i = 0; i < classes; ++i) {
    holes.part[i] = word & (every_fourth << i);
  }
  return holes;
}

// Carry-less a * b. If a class had all 16 bits, the middle column could count to 16 and spill into
// the next. So the top bit of each of a's classes is multiplied separately, by masking.
[[gnu::always_inline]] inline Wide carryless_multiply(std::uint64_t a, const Holes& b) noexcept {
  constexpr unsigned top = 60;
  const std::uint64_t low = a & ((std::uint64_t{1} << top) - 1);
  Wide column[classes] = {};
#pragma GCC unroll 4
  for (unsigned i = 0; i < classes; ++i) {
    const std::uint64_t part = low & (every_fourth << i);
#pragma GCC unroll 4
    for (unsigned j = 0; j < classes; ++j) {
      column[(i + j) % classes] ^= Wide{part} * b.part[j];
    }
  }
  Wide product = 0;
  constexpr Wide wide_fourth = (Wide{every_fourth} << 64) | every_fourth;
#pragma GCC unroll 4
  for (unsigned i = 0; i < classes; ++i) {
    product ^= column[i] & (wide_fourth << i);
    const std::uint64_t mask = 0 - ((a >> (top + i)) & 1);
    product ^= Wide{b.word & mask} << (top + i);
  }
  return product;
}

// A field element, x^0 in the top bit of `high` (section 6.3: the leftmost bit of the block).
struct Element {
  std::uint64_t high;
  std::uint64_t low;
};

Element load_element(const std::uint8_t* from) noexcept {
  return {load_be64(from), load_be64(from + 8)};
}

void store_element(std::uint8_t* to, const Element& element) noexcept {
  store_be64(to, element.high);
  store_be64(to + 8, element.low);
}

// A factor, ready for Karatsuba's three products.
struct Multiplier {
  Holes high;
  Holes low;
  Holes sum;
};

Multiplier make_multiplier(const Element& h) noexcept {
  return {make_holes(h.high), make_holes(h.low), make_holes(h.high ^ h.low)};
}

MutableBytes bytes_of(Multiplier& multiplier) noexcept {
  return {reinterpret_cast<std::uint8_t*>(&multiplier), sizeof multiplier};
}

// The unreduced product, with x^0 in bit 254 of the 256 and x^254 in bit 0.
struct Product {
  Wide high;
  Wide low;
};

[[gnu::always_inline]] inline Product multiply(const Element& a, const Multiplier& h) noexcept {
  const Wide high = carryless_multiply(a.high, h.high);
  const Wide low = carryless_multiply(a.low, h.low);
  const Wide middle = carryless_multiply(a.high ^ a.low, h.sum) ^ high ^ low;
  return {high ^ (middle >> 64), low ^ (middle << 64)};
}

// Modulo x^128 + x^7 + x^2 + x + 1. Bits are mirrored, so times x^k is a shift to the right by k.
[[gnu::always_inline]] inline Element reduce(const Product& product) noexcept {
  // A shift to the left by one puts x^k at bit 255 - k.
  const Wide high = (product.high << 1) | (product.low >> 127);
  const Wide low = product.low << 1;
  const auto x192 = static_cast<std::uint64_t>(low);
  const std::uint64_t x128 =
      static_cast<std::uint64_t>(low >> 64) ^ (x192 << 63) ^ (x192 << 62) ^ (x192 << 57);
  return {static_cast<std::uint64_t>(high >> 64) ^ x128 ^ (x128 >> 1) ^ (x128 >> 2) ^ (x128 >> 7),
          static_cast<std::uint64_t>(high) ^ x192 ^ (x192 >> 1) ^ (x192 >> 2) ^ (x192 >> 7) ^
              (x128 << 63) ^ (x128 << 62) ^ (x128 << 57)};
}

}  // namespace

Block ghash_multiply(const Block& a, const Block& b) noexcept {
  Block product;
  Multiplier multiplier = make_multiplier(load_element(b.bytes));
  const WipeOnExit wiped(bytes_of(multiplier));
  store_element(product.bytes, reduce(multiply(load_element(a.bytes), multiplier)));
  return product;
}

Block ghash_power(const Block& h, std::uint64_t exponent) noexcept {
  Block power = {{0x80}};  // one: x^0 is the leftmost bit
  Block square = h;
  const WipeOnExit wiped(square.bytes);
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      power = ghash_multiply(power, square);
    }
    square = ghash_multiply(square, square);
  }
  return power;
}

void ghash_update(const HashSubkey& h, HashValue& value, const std::uint8_t* in,
                  std::size_t blocks) noexcept {
  Multiplier multiplier = make_multiplier(load_element(h.bytes));
  const WipeOnExit wiped(bytes_of(multiplier));
  Element sum = load_element(value.bytes);
  for (std::size_t i = 0; i < blocks; ++i) {
    const Element x = load_element(in + i * block_bytes);
    sum = reduce(multiply({sum.high ^ x.high, sum.low ^ x.low}, multiplier));
  }
  store_element(value.bytes, sum);
}

}  // namespace paes
