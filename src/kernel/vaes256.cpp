// SPDX-License-Identifier: Apache-2.0
// AES-GCM and the raw modes on 256-bit registers: VAES and VPCLMULQDQ with AVX2, two blocks per
// register, eight registers in flight. For processors without AVX-512, and for those whose clock
// drops under it.
#include "kernel/gcm_stitched.hpp"
#include "kernel/vector_modes.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

struct Vector256 {
  using Register = __m256i;
  static constexpr unsigned blocks = 2;
  static constexpr unsigned registers = 16;
  static constexpr unsigned flight = 8;  // registers that go through the cipher at once
  // With sixteen registers, none is left for sums that outlive a flight.
  static constexpr unsigned group_flights = 1;
  static constexpr bool always_fetches_far = false;  // Design
  static constexpr bool multiplies_by_design = false;

  PAES_INLINE static Register zero() noexcept { return _mm256_setzero_si256(); }
  PAES_INLINE static Register load(const void* from) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  PAES_INLINE static void store(void* to, Register value) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(to), value);
  }
  PAES_INLINE static Register broadcast(__m128i block) noexcept {
    return _mm256_broadcastsi128_si256(block);
  }
  PAES_INLINE static __m128i first_block(Register value) noexcept {
    return _mm256_castsi256_si128(value);
  }
  PAES_INLINE static Register only_first(__m128i block) noexcept {
    return _mm256_zextsi128_si256(block);
  }
  PAES_INLINE static __m128i join(Register value) noexcept {
    return _mm_xor_si128(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
  }
  // The register of a flight with its last two blocks. If there is a carry, both come after it.
  PAES_INLINE static Register last_two(Register /*before*/, Register after) noexcept {
    return after;
  }
  PAES_INLINE static Register reverse_bytes(Register value) noexcept {
    return _mm256_shuffle_epi8(
        value, broadcast(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
  }
  // Adds count and count + 1 to the lanes' lowest 32 bits.
  PAES_INLINE static Register add_count(Register value, std::uint32_t count) noexcept {
    const Register start = broadcast(_mm_cvtsi32_si128(static_cast<int>(count)));
    const Register lane = _mm256_set_epi64x(0, 1, 0, 0);
    return _mm256_add_epi32(value, _mm256_add_epi32(start, lane));
  }
  PAES_INLINE static Register xor2(Register a, Register b) noexcept {
    return _mm256_xor_si256(a, b);
  }
  PAES_INLINE static Register xor3(Register a, Register b, Register c) noexcept {
    return _mm256_xor_si256(a, _mm256_xor_si256(b, c));
  }
  PAES_INLINE static Register swap_halves(Register value) noexcept {
    return _mm256_shuffle_epi32(value, 0x4e);
  }
  // In each lane, the byte-reversed half of a beside that of b.
  PAES_INLINE static Register reversed_low_halves(Register a, Register b) noexcept {
    return _mm256_unpacklo_epi64(reverse_bytes(a), reverse_bytes(b));
  }
  PAES_INLINE static Register reversed_high_halves(Register a, Register b) noexcept {
    return _mm256_unpackhi_epi64(reverse_bytes(a), reverse_bytes(b));
  }
  // One half of the value's lanes beside zero.
  PAES_INLINE static Register low_half(Register value) noexcept {
    return _mm256_unpacklo_epi64(value, zero());
  }
  PAES_INLINE static Register high_half(Register value) noexcept {
    return _mm256_unpackhi_epi64(value, zero());
  }
  template <int Halves>
  PAES_INLINE static Register multiply(Register a, Register b) noexcept {
    return _mm256_clmulepi64_epi128(a, b, Halves);
  }
  PAES_INLINE static Register aes_round(Register state, Register key) noexcept {
    return _mm256_aesenc_epi128(state, key);
  }
  PAES_INLINE static Register aes_last_round(Register state, Register key) noexcept {
    return _mm256_aesenclast_epi128(state, key);
  }
  PAES_INLINE static Register aes_inverse_round(Register state, Register key) noexcept {
    return _mm256_aesdec_epi128(state, key);
  }
  PAES_INLINE static Register aes_inverse_last_round(Register state, Register key) noexcept {
    return _mm256_aesdeclast_epi128(state, key);
  }
  // Stores past the caches; `to` is aligned to the register.
  PAES_INLINE static void stream(void* to, Register value) noexcept {
    _mm256_stream_si256(static_cast<__m256i*>(to), value);
  }
  // Each block of `after` becomes its predecessor; the first becomes the last of `before`.
  PAES_INLINE static Register following(Register before, Register after) noexcept {
    return _mm256_permute2x128_si256(before, after, 0x21);
  }
  // Fewer blocks than a register has, here one. The others read as zero.
  PAES_INLINE static Register load_some(const void* from, std::size_t /*blocks*/) noexcept {
    return only_first(load_block(from));
  }
  PAES_INLINE static void store_some(void* to, Register value, std::size_t /*blocks*/) noexcept {
    store_block(to, first_block(value));
  }
  // Less than a register; the other bytes read as zero and are not touched.
  PAES_INLINE static Register load_part(const std::uint8_t* from, std::size_t bytes) noexcept {
    return bytes < block_bytes ? only_first(paes::load_part(from, bytes))
                               : _mm256_inserti128_si256(
                                     _mm256_castsi128_si256(load_block(from)),
                                     paes::load_part(from + block_bytes, bytes - block_bytes), 1);
  }
  PAES_INLINE static void store_part(std::uint8_t* to, Register value, std::size_t bytes) noexcept {
    __m128i last = first_block(value);
    if (bytes >= block_bytes) {
      store_block(to, last);
      last = _mm256_extracti128_si256(value, 1);
      to += block_bytes;
      bytes -= block_bytes;
    }
    paes::store_part(to, last, bytes);
  }
  // One block from each message, one message per lane.
  PAES_INLINE static Register gather(const std::uint8_t* const* from, std::size_t at) noexcept {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_block(from[0] + at)),
                                   load_block(from[1] + at), 1);
  }
  PAES_INLINE static void scatter(std::uint8_t* const* to, std::size_t at,
                                  Register value) noexcept {
    store_block(to[0] + at, _mm256_castsi256_si128(value));
    store_block(to[1] + at, _mm256_extracti128_si256(value, 1));
  }
  // Shifts each block by bytes. Zeros come in.
  template <int Bytes>
  PAES_INLINE static Register shift_bytes_left(Register value) noexcept {
    return _mm256_bslli_epi128(value, Bytes);
  }
  // The halves of lane i, shifted by `bits` + i bits, and what that shifts out.
  PAES_INLINE static Register shift_left(Register value, unsigned bits) noexcept {
    return _mm256_sllv_epi64(value, lane_bits(bits));
  }
  PAES_INLINE static Register shifted_out(Register value, unsigned bits) noexcept {
    return _mm256_srlv_epi64(value, _mm256_sub_epi64(_mm256_set1_epi64x(64), lane_bits(bits)));
  }
  PAES_INLINE static Register lane_bits(unsigned bits) noexcept {
    return _mm256_add_epi64(_mm256_set1_epi64x(bits), _mm256_set_epi64x(1, 1, 0, 0));
  }
  template <int Bytes>
  PAES_INLINE static Register rotate_bytes_left(Register value) noexcept {
    return _mm256_alignr_epi8(value, value, 16 - Bytes);
  }
  PAES_INLINE static Register double_halves(Register value) noexcept {
    return _mm256_add_epi64(value, value);
  }
  // Times 64, for halves whose top six bits are zero.
  template <Design>
  PAES_INLINE static Register times_64(Register value) noexcept {
    return _mm256_slli_epi64(value, 6);
  }
  PAES_INLINE static Register and2(Register a, Register b) noexcept {
    return _mm256_and_si256(a, b);
  }
};

using Gcm = StitchedGcm<Vector256>;
using Modes = VectorModes<Vector256>;

constexpr Kernel row = {
    .name = "vaes256",
    .cipher = Cipher::aes,
    .use = Use::automatic,
    .summary = "VAES and VPCLMULQDQ on 256-bit registers, AES and GHASH stitched",
    .needs = Feature::aes | Feature::pclmul | Feature::avx2 | Feature::vaes | Feature::vpclmul,
    .lanes = Gcm::flight_blocks,
    .prepare = prepare_aes<Gcm::prepare>,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace

extern const Kernel kernel_vaes256 = wiping<
    row,
    StackUse{
        .prepare = 640, .pieces = 832, .xts = 1280, .chains = 1984, .gcm = 1408, .hash = 1024}>();

}  // namespace paes
