#include "keystream/xor.hpp"

#include "kernel/features.hpp"

namespace paes::keystream {

namespace {

// Registers, loaded from and stored to bytes wherever they are.
using Lane16 = std::uint64_t __attribute__((vector_size(16), aligned(1), may_alias));
using Lane32 = std::uint64_t __attribute__((vector_size(32), aligned(1), may_alias));
using Lane64 = std::uint64_t __attribute__((vector_size(64), aligned(1), may_alias));

// One pass over whole steps of four lanes; the answer is where they end. The loop waits for its
// stores, one or two in a cycle however wide: twice as wide is half as many.
template <typename Lane>
inline __attribute__((always_inline)) std::size_t pass(std::uint8_t* key_bytes, std::size_t bytes,
                                                       const std::uint8_t* in_bytes,
                                                       std::uint8_t* out_bytes) noexcept {
  constexpr std::size_t lanes = 4;
  const std::size_t steps = bytes / sizeof(Lane) / lanes;
  auto* key = reinterpret_cast<Lane*>(key_bytes);
  const auto* in = reinterpret_cast<const Lane*>(in_bytes);
  auto* out = reinterpret_cast<Lane*>(out_bytes);
  for (std::size_t step = 0; step < steps; ++step, key += lanes, in += lanes, out += lanes) {
    const Lane a = in[0] ^ key[0];
    const Lane b = in[1] ^ key[1];
    const Lane c = in[2] ^ key[2];
    const Lane d = in[3] ^ key[3];
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
    key[0] = key[1] = key[2] = key[3] = Lane{};
  }
  return steps * lanes * sizeof(Lane);
}

using Pass = std::size_t (*)(std::uint8_t*, std::size_t, const std::uint8_t*,
                             std::uint8_t*) noexcept;

// What every x86-64 and Armv8 has.
std::size_t pass_16(std::uint8_t* key, std::size_t bytes, const std::uint8_t* in,
                    std::uint8_t* out) noexcept {
  return pass<Lane16>(key, bytes, in, out);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) std::size_t pass_32(std::uint8_t* key, std::size_t bytes,
                                                    const std::uint8_t* in,
                                                    std::uint8_t* out) noexcept {
  return pass<Lane32>(key, bytes, in, out);
}

__attribute__((target("avx512f"))) std::size_t pass_64(std::uint8_t* key, std::size_t bytes,
                                                       const std::uint8_t* in,
                                                       std::uint8_t* out) noexcept {
  return pass<Lane64>(key, bytes, in, out);
}
#endif

Pass widest_pass() noexcept {
#ifdef __x86_64__
  if (machine_features().contain(Feature::avx512) && machine_prefers_512_bit()) {
    return pass_64;
  }
  if (machine_features().contain(Feature::avx2)) {
    return pass_32;
  }
#endif
  return pass_16;
}

}  // namespace

void xor_and_wipe(MutableBytes keystream, const std::uint8_t* in, std::uint8_t* out) noexcept {
  static const Pass widest = widest_pass();
  std::uint8_t* const key = keystream.data();
  const std::size_t bytes = keystream.size();
  for (std::size_t at = widest(key, bytes, in, out); at < bytes; ++at) {
    out[at] = static_cast<std::uint8_t>(in[at] ^ key[at]);
    key[at] = 0;
  }
  // The compiler must not drop stores to keystream that nobody reads again.
  asm volatile("" : : "r"(key) : "memory");
}

}  // namespace paes::keystream
