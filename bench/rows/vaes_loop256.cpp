// SPDX-License-Identifier: Apache-2.0
// What 256-bit registers allow: the loops of vaes_loop.hpp with VAES.
#include "rows/vaes_loop.hpp"

namespace paes {

extern const Kernel kernel_vaes_loop256;

namespace {

struct Wide256 {
  using Register = __m256i;

  static Register load(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static void store(void* to, Register value) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(to), value);
  }
  static Register broadcast(__m128i block) noexcept { return _mm256_broadcastsi128_si256(block); }
  static Register shuffle(Register value, Register order) noexcept {
    return _mm256_shuffle_epi8(value, order);
  }
  static Register add(Register a, Register b) noexcept { return _mm256_add_epi32(a, b); }
  // 0, 1, ... in the last word of each block.
  static Register lane_numbers() noexcept { return _mm256_set_epi32(1, 0, 0, 0, 0, 0, 0, 0); }
  static Register exclusive_or(Register a, Register b) noexcept { return _mm256_xor_si256(a, b); }
  template <bool Inverse>
  static Register round(Register text, Register key) noexcept {
    return Inverse ? _mm256_aesdec_epi128(text, key) : _mm256_aesenc_epi128(text, key);
  }
  template <bool Inverse>
  static Register last_round(Register text, Register key) noexcept {
    return Inverse ? _mm256_aesdeclast_epi128(text, key) : _mm256_aesenclast_epi128(text, key);
  }
};

using Loops = PortLoops<Wide256>;

}  // namespace

const Kernel kernel_vaes_loop256 = {
    .name = "vaes_loop256",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "CTR and ECB without a hash, the limit of the processor's AES units at 256 bits",
    .warning = nullptr,
    .needs = Feature::aes | Feature::avx2 | Feature::vaes,
    .wants_512_bit = false,
    .lanes = Loops::lanes,
    .unavailable = nullptr,
    .prepare = prepare_aes<Loops::prepare>,
    .release = nullptr,
    .modes = Loops::modes,
    .gcm = Loops::gcm_runs,
};

}  // namespace paes
