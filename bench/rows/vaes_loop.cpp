// SPDX-License-Identifier: Apache-2.0
// What 512-bit registers allow: the loops of vaes_loop.hpp with VAES and AVX-512.
#include "rows/vaes_loop.hpp"

namespace paes {

extern const Kernel kernel_vaes_loop;

namespace {

struct Wide512 {
  using Register = __m512i;

  static Register load(const void* from) noexcept { return _mm512_loadu_si512(from); }
  static void store(void* to, Register value) noexcept { _mm512_storeu_si512(to, value); }
  // The intrinsic without a mask reads an undefined register, about which GCC 12 warns.
  static Register broadcast(__m128i block) noexcept {
    return _mm512_maskz_broadcast_i32x4(0xffff, block);
  }
  static Register shuffle(Register value, Register order) noexcept {
    return _mm512_shuffle_epi8(value, order);
  }
  static Register add(Register a, Register b) noexcept { return _mm512_add_epi32(a, b); }
  // 0, 1, ... in the last word of each block.
  static Register lane_numbers() noexcept {
    return _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0);
  }
  static Register exclusive_or(Register a, Register b) noexcept { return _mm512_xor_si512(a, b); }
  template <bool Inverse>
  static Register round(Register text, Register key) noexcept {
    return Inverse ? _mm512_aesdec_epi128(text, key) : _mm512_aesenc_epi128(text, key);
  }
  template <bool Inverse>
  static Register last_round(Register text, Register key) noexcept {
    return Inverse ? _mm512_aesdeclast_epi128(text, key) : _mm512_aesenclast_epi128(text, key);
  }
};

using Loops = PortLoops<Wide512>;

}  // namespace

const Kernel kernel_vaes_loop = {
    .name = "vaes_loop",
    .cipher = Cipher::aes,
    .use = Use::by_name,
    .summary = "CTR and ECB without a hash, the limit of the processor's AES units at 512 bits",
    .warning = nullptr,
    .needs = Feature::aes | Feature::vaes | Feature::avx512,
    .wants_512_bit = true,
    .lanes = Loops::lanes,
    .unavailable = nullptr,
    .prepare = prepare_aes<Loops::prepare>,
    .release = nullptr,
    .modes = Loops::modes,
    .gcm = Loops::gcm_runs,
};

}  // namespace paes
