// SPDX-License-Identifier: Apache-2.0
#include "keystream/xor.hpp"

#include "kernel/features.hpp"

namespace paes::keystream {

namespace {

// The thread sanitizer sees accesses of at most 16 bytes.
#if defined(__SANITIZE_THREAD__)
constexpr bool is_watched = true;
#elif defined(__has_feature)
constexpr bool is_watched = __has_feature(thread_sanitizer) != 0;
#else
constexpr bool is_watched = false;
#endif

using Vector16 = std::uint64_t __attribute__((vector_size(16)));
using Vector32 = std::uint64_t __attribute__((vector_size(32)));
using Vector64 = std::uint64_t __attribute__((vector_size(64)));

// A register's worth of bytes at any address.
template <typename Vector>
struct [[gnu::packed, gnu::may_alias]] Lane {
  Vector value;
};

// One pass over whole steps of four lanes; returns where they end. The loop waits for its stores,
// of which a processor does one or two in a cycle, however wide they are. Registers twice as wide
// need half as many.
template <typename Vector>
inline __attribute__((always_inline)) std::size_t pass(std::uint8_t* key_bytes, std::size_t bytes,
                                                       const std::uint8_t* in_bytes,
                                                       std::uint8_t* out_bytes) noexcept {
  constexpr std::size_t lanes = 4;
  const std::size_t steps = bytes / sizeof(Vector) / lanes;
  auto* key = reinterpret_cast<Lane<Vector>*>(key_bytes);
  const auto* in = reinterpret_cast<const Lane<Vector>*>(in_bytes);
  auto* out = reinterpret_cast<Lane<Vector>*>(out_bytes);
  for (std::size_t step = 0; step < steps; ++step, key += lanes, in += lanes, out += lanes) {
    const Vector a = in[0].value ^ key[0].value;
    const Vector b = in[1].value ^ key[1].value;
    const Vector c = in[2].value ^ key[2].value;
    const Vector d = in[3].value ^ key[3].value;
    out[0].value = a;
    out[1].value = b;
    out[2].value = c;
    out[3].value = d;
    key[0].value = key[1].value = key[2].value = key[3].value = Vector{};
  }
  return steps * lanes * sizeof(Vector);
}

// The width of every x86-64 and Armv8.
std::size_t pass_16(std::uint8_t* key, std::size_t bytes, const std::uint8_t* in,
                    std::uint8_t* out) noexcept {
  return pass<Vector16>(key, bytes, in, out);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) std::size_t pass_32(std::uint8_t* key, std::size_t bytes,
                                                    const std::uint8_t* in,
                                                    std::uint8_t* out) noexcept {
  return pass<Vector32>(key, bytes, in, out);
}

__attribute__((target("avx512f"))) std::size_t pass_64(std::uint8_t* key, std::size_t bytes,
                                                       const std::uint8_t* in,
                                                       std::uint8_t* out) noexcept {
  return pass<Vector64>(key, bytes, in, out);
}
#endif

}  // namespace

XorPasses xor_passes() noexcept {
  XorPasses passes = {{pass_16}, 1};
#ifdef __x86_64__
  if (!is_watched && machine_features().contain(Feature::avx2)) {
    passes.all[passes.count++] = pass_32;
  }
  if (!is_watched && machine_features().contain(Feature::avx512) && machine_prefers_512_bit()) {
    passes.all[passes.count++] = pass_64;
  }
#endif
  return passes;
}

void xor_and_wipe(MutableBytes keystream, const std::uint8_t* in, std::uint8_t* out) noexcept {
  static const XorPass widest = xor_passes().widest();
  std::uint8_t* const key = keystream.data();
  const std::size_t bytes = keystream.size();
  for (std::size_t at = widest(key, bytes, in, out); at < bytes; ++at) {
    out[at] = static_cast<std::uint8_t>(in[at] ^ key[at]);
    key[at] = 0;
  }
  // Compilers must not drop stores to keystream that nobody reads again.
  asm volatile("" : : "r"(key) : "memory");
}

}  // namespace paes::keystream
