// SPDX-License-Identifier: Apache-2.0
// AES-GCM and the raw modes on 128-bit registers: AES-NI and PCLMULQDQ, one block per register,
// eight registers in flight. Compiled for AVX, whose three-operand forms save SSE's copies.
#include "kernel/gcm_stitched.hpp"
#include "kernel/vector_modes.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

struct Vector128 {
  using Register = __m128i;
  static constexpr unsigned blocks = 1;
  static constexpr unsigned registers = 16;
  static constexpr unsigned flight = 8;  // registers that go through the cipher at once
  // With sixteen registers, none is left for sums that outlive a flight.
  static constexpr unsigned group_flights = 1;
  static constexpr bool always_fetches_far = false;  // Design
  static constexpr bool multiplies_by_design = false;

  PAES_INLINE static Register zero() noexcept { return _mm_setzero_si128(); }
  PAES_INLINE static Register load(const void* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  }
  PAES_INLINE static void store(void* to, Register value) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(to), value);
  }
  PAES_INLINE static Register broadcast(__m128i block) noexcept { return block; }
  PAES_INLINE static __m128i first_block(Register value) noexcept { return value; }
  PAES_INLINE static Register only_first(__m128i block) noexcept { return block; }
  PAES_INLINE static __m128i join(Register value) noexcept { return value; }
  // The registers of a flight with its last two blocks. If there is a carry, both come after it.
  PAES_INLINE static Register last_two(Register /*before*/, Register after) noexcept {
    return after;
  }
  PAES_INLINE static Register reverse_bytes(Register value) noexcept {
    return reverse_block(value);
  }
  // Adds count to the lowest 32 bits.
  PAES_INLINE static Register add_count(Register value, std::uint32_t count) noexcept {
    return _mm_add_epi32(value, _mm_cvtsi32_si128(static_cast<int>(count)));
  }
  PAES_INLINE static Register xor2(Register a, Register b) noexcept { return _mm_xor_si128(a, b); }
  PAES_INLINE static Register xor3(Register a, Register b, Register c) noexcept {
    return _mm_xor_si128(a, _mm_xor_si128(b, c));
  }
  PAES_INLINE static Register swap_halves(Register value) noexcept {
    return _mm_shuffle_epi32(value, 0x4e);
  }
  // The byte-reversed half of a beside that of b.
  PAES_INLINE static Register reversed_low_halves(Register a, Register b) noexcept {
    return _mm_unpacklo_epi64(reverse_bytes(a), reverse_bytes(b));
  }
  PAES_INLINE static Register reversed_high_halves(Register a, Register b) noexcept {
    return _mm_unpackhi_epi64(reverse_bytes(a), reverse_bytes(b));
  }
  // One half of the value beside zero.
  PAES_INLINE static Register low_half(Register value) noexcept {
    return _mm_unpacklo_epi64(value, zero());
  }
  PAES_INLINE static Register high_half(Register value) noexcept {
    return _mm_unpackhi_epi64(value, zero());
  }
  template <int Halves>
  PAES_INLINE static Register multiply(Register a, Register b) noexcept {
    return _mm_clmulepi64_si128(a, b, Halves);
  }
  PAES_INLINE static Register aes_round(Register state, Register key) noexcept {
    return _mm_aesenc_si128(state, key);
  }
  PAES_INLINE static Register aes_last_round(Register state, Register key) noexcept {
    return _mm_aesenclast_si128(state, key);
  }
  PAES_INLINE static Register aes_inverse_round(Register state, Register key) noexcept {
    return _mm_aesdec_si128(state, key);
  }
  PAES_INLINE static Register aes_inverse_last_round(Register state, Register key) noexcept {
    return _mm_aesdeclast_si128(state, key);
  }
  // Stores past the caches; `to` is aligned to the register.
  PAES_INLINE static void stream(void* to, Register value) noexcept {
    _mm_stream_si128(static_cast<__m128i*>(to), value);
  }
  // Each block of `after` becomes its predecessor; the first becomes the last of `before`.
  PAES_INLINE static Register following(Register before, Register /*after*/) noexcept {
    return before;
  }
  PAES_INLINE static Register load_part(const std::uint8_t* from, std::size_t bytes) noexcept {
    return paes::load_part(from, bytes);
  }
  PAES_INLINE static void store_part(std::uint8_t* to, Register value, std::size_t bytes) noexcept {
    paes::store_part(to, value, bytes);
  }
  // One block from each message, one message per lane.
  PAES_INLINE static Register gather(const std::uint8_t* const* from, std::size_t at) noexcept {
    return load(from[0] + at);
  }
  PAES_INLINE static void scatter(std::uint8_t* const* to, std::size_t at,
                                  Register value) noexcept {
    store(to[0] + at, value);
  }
  // Shifts each block by bytes. Zeros come in.
  template <int Bytes>
  PAES_INLINE static Register shift_bytes_left(Register value) noexcept {
    return _mm_slli_si128(value, Bytes);
  }
  // The halves, shifted by bits, and what that shifts out.
  PAES_INLINE static Register shift_left(Register value, unsigned bits) noexcept {
    return _mm_sll_epi64(value, _mm_cvtsi32_si128(static_cast<int>(bits)));
  }
  PAES_INLINE static Register shifted_out(Register value, unsigned bits) noexcept {
    return _mm_srl_epi64(value, _mm_cvtsi32_si128(static_cast<int>(64 - bits)));
  }
  template <int Bytes>
  PAES_INLINE static Register rotate_bytes_left(Register value) noexcept {
    return _mm_alignr_epi8(value, value, 16 - Bytes);
  }
  PAES_INLINE static Register double_halves(Register value) noexcept {
    return _mm_add_epi64(value, value);
  }
  // Times 64, for halves whose top six bits are zero.
  template <Design>
  PAES_INLINE static Register times_64(Register value) noexcept {
    return _mm_slli_epi64(value, 6);
  }
  PAES_INLINE static Register and2(Register a, Register b) noexcept { return _mm_and_si128(a, b); }
};

using Gcm = StitchedGcm<Vector128>;
using Modes = VectorModes<Vector128>;

constexpr Kernel row = {
    .name = "aesni",
    .cipher = Cipher::aes,
    .use = Use::automatic,
    .summary = "AES-NI and PCLMULQDQ, AES and GHASH stitched",
    .needs = Feature::aes | Feature::pclmul | Feature::avx,
    .lanes = Gcm::flight_blocks,
    .prepare = prepare_aes<Gcm::prepare>,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace

extern const Kernel kernel_aesni = wiping<
    row,
    StackUse{.prepare = 640, .pieces = 576, .xts = 896, .chains = 960, .gcm = 832, .hash = 576}>();

}  // namespace paes
