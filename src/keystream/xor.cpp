#include "keystream/xor.hpp"

namespace paes::keystream {

namespace {

// As wide as every x86-64 and Armv8 has it: the loop waits for stores, not for width.
using Lane = std::uint64_t __attribute__((vector_size(16)));

inline Lane load(const std::uint8_t* from) noexcept {
  Lane lane;
  std::memcpy(&lane, from, sizeof lane);
  return lane;
}

inline void store(std::uint8_t* to, Lane lane) noexcept { std::memcpy(to, &lane, sizeof lane); }

}  // namespace

void xor_and_wipe(MutableBytes keystream, const std::uint8_t* in, std::uint8_t* out) noexcept {
  std::uint8_t* const key = keystream.data();
  const std::size_t bytes = keystream.size();
  constexpr std::size_t step = 4 * sizeof(Lane);
  const Lane zero = {};
  std::size_t at = 0;
  for (; at + step <= bytes; at += step) {
    const Lane a = load(in + at) ^ load(key + at);
    const Lane b = load(in + at + 16) ^ load(key + at + 16);
    const Lane c = load(in + at + 32) ^ load(key + at + 32);
    const Lane d = load(in + at + 48) ^ load(key + at + 48);
    store(out + at, a);
    store(out + at + 16, b);
    store(out + at + 32, c);
    store(out + at + 48, d);
    store(key + at, zero);
    store(key + at + 16, zero);
    store(key + at + 32, zero);
    store(key + at + 48, zero);
  }
  for (; at < bytes; ++at) {
    out[at] = static_cast<std::uint8_t>(in[at] ^ key[at]);
    key[at] = 0;
  }
  // The compiler must not drop stores to keystream that nobody reads again.
  asm volatile("" : : "r"(key) : "memory");
}

}  // namespace paes::keystream
