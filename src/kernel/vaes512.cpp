// SPDX-License-Identifier: Apache-2.0
// AES-GCM and the raw modes on 512-bit registers: VAES, VPCLMULQDQ and AVX-512, four blocks per
// register, eight registers in flight.
#include "kernel/gcm_stitched.hpp"
#include "kernel/vector_modes.hpp"
#include "kernel/wiped_stack.hpp"

namespace paes {

namespace {

struct Vector512 {
  using Register = __m512i;
  static constexpr unsigned blocks = 4;
  static constexpr unsigned registers = 32;
  static constexpr unsigned flight = 8;  // registers that go through the cipher at once
  // There are enough registers to keep the sums of products over several flights.
  static constexpr unsigned group_flights = 4;
  // Lines fetched past the second cache would take fill buffers, which are few and which stores
  // past the caches need. So this prefetches as on Intel's processors, whatever the design is.
  static constexpr bool always_fetches_far = true;
  static constexpr bool multiplies_by_design = true;

  PAES_INLINE static Register zero() noexcept { return _mm512_setzero_si512(); }
  PAES_INLINE static Register load(const void* from) noexcept { return _mm512_loadu_si512(from); }
  PAES_INLINE static void store(void* to, Register value) noexcept {
    _mm512_storeu_si512(to, value);
  }
  PAES_INLINE static Register broadcast(__m128i block) noexcept {
    return _mm512_broadcast_i32x4(block);
  }
  PAES_INLINE static __m128i first_block(Register value) noexcept {
    return _mm512_castsi512_si128(value);
  }
  PAES_INLINE static Register only_first(__m128i block) noexcept {
    return _mm512_zextsi128_si512(block);
  }
  PAES_INLINE static __m128i join(Register value) noexcept {
    const __m256i two =
        _mm256_xor_si256(_mm512_castsi512_si256(value), _mm512_extracti64x4_epi64(value, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
  }
  // The register of a flight that holds its last two blocks. A carry may fall just before them.
  PAES_INLINE static Register last_two(Register before, Register after) noexcept {
    return _mm512_mask_blend_epi64(0xf0, before, after);
  }
  PAES_INLINE static Register reverse_bytes(Register value) noexcept {
    return _mm512_shuffle_epi8(
        value, broadcast(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
  }
  // Adds count, count + 1, ... to the lanes' lowest 32 bits.
  PAES_INLINE static Register add_count(Register value, std::uint32_t count) noexcept {
    const Register start = broadcast(_mm_cvtsi32_si128(static_cast<int>(count)));
    const Register lane = _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0);
    return _mm512_add_epi32(value, _mm512_add_epi32(start, lane));
  }
  PAES_INLINE static Register xor2(Register a, Register b) noexcept {
    return _mm512_xor_si512(a, b);
  }
  PAES_INLINE static Register xor3(Register a, Register b, Register c) noexcept {
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
  }
  PAES_INLINE static Register swap_halves(Register value) noexcept {
    return _mm512_shuffle_epi32(value, _MM_PERM_BADC);
  }
  // In each lane, the byte-reversed half of a beside that of b. VBMI has one instruction for this;
  // without it, a shuffle per register and an unpack.
  PAES_INLINE static Register reversed_low_halves(Register a, Register b) noexcept {
    return _mm512_permutex2var_epi8(a, half_selector(8), b);
  }
  PAES_INLINE static Register reversed_high_halves(Register a, Register b) noexcept {
    return _mm512_permutex2var_epi8(a, half_selector(0), b);
  }
  // Byte i of the result is byte selector[i] of the 128 bytes a || b.
  PAES_INLINE static Register half_selector(int first_byte) noexcept {
    const Register lanes =
        _mm512_set_epi64(0x3030303030303030, 0x3030303030303030, 0x2020202020202020,
                         0x2020202020202020, 0x1010101010101010, 0x1010101010101010, 0, 0);
    const Register sources =
        _mm512_broadcast_i32x4(_mm_set_epi64x(0x4041424344454647, 0x0001020304050607));
    return _mm512_add_epi8(_mm512_add_epi8(lanes, sources),
                           _mm512_set1_epi8(static_cast<char>(first_byte)));
  }
  // One half of the value's lanes beside zero.
  PAES_INLINE static Register low_half(Register value) noexcept {
    return _mm512_unpacklo_epi64(value, zero());
  }
  PAES_INLINE static Register high_half(Register value) noexcept {
    return _mm512_unpackhi_epi64(value, zero());
  }
  template <int Halves>
  PAES_INLINE static Register multiply(Register a, Register b) noexcept {
    return _mm512_clmulepi64_epi128(a, b, Halves);
  }
  PAES_INLINE static Register aes_round(Register state, Register key) noexcept {
    return _mm512_aesenc_epi128(state, key);
  }
  PAES_INLINE static Register aes_last_round(Register state, Register key) noexcept {
    return _mm512_aesenclast_epi128(state, key);
  }
  PAES_INLINE static Register aes_inverse_round(Register state, Register key) noexcept {
    return _mm512_aesdec_epi128(state, key);
  }
  PAES_INLINE static Register aes_inverse_last_round(Register state, Register key) noexcept {
    return _mm512_aesdeclast_epi128(state, key);
  }
  // Stores past the caches; `to` is aligned to the register.
  PAES_INLINE static void stream(void* to, Register value) noexcept {
    _mm512_stream_si512(static_cast<__m512i*>(to), value);
  }
  // Each block of `after` becomes its predecessor; the first becomes the last of `before`.
  PAES_INLINE static Register following(Register before, Register after) noexcept {
    return _mm512_alignr_epi64(after, before, 6);
  }
  // Fewer blocks than a register has; the others read as zero and are not touched.
  PAES_INLINE static Register load_some(const void* from, std::size_t count) noexcept {
    return _mm512_maskz_loadu_epi64(first_halves(count), from);
  }
  PAES_INLINE static void store_some(void* to, Register value, std::size_t count) noexcept {
    _mm512_mask_storeu_epi64(to, first_halves(count), value);
  }
  PAES_INLINE static __mmask8 first_halves(std::size_t count) noexcept {
    return static_cast<__mmask8>((1U << (2 * count)) - 1);
  }
  // Less than a register; the other bytes read as zero and are not touched.
  PAES_INLINE static Register load_part(const std::uint8_t* from, std::size_t bytes) noexcept {
    return _mm512_maskz_loadu_epi8(first_bytes(bytes), from);
  }
  PAES_INLINE static void store_part(std::uint8_t* to, Register value, std::size_t bytes) noexcept {
    _mm512_mask_storeu_epi8(to, first_bytes(bytes), value);
  }
  PAES_INLINE static __mmask64 first_bytes(std::size_t count) noexcept {
    return (std::uint64_t{1} << count) - 1;
  }
  PAES_INLINE static Register keep_part(Register value, std::size_t bytes) noexcept {
    return _mm512_maskz_mov_epi8(first_bytes(bytes), value);
  }
  // Each block becomes its successor; the last becomes the first of `after`.
  PAES_INLINE static Register shifted(Register value, Register after) noexcept {
    return _mm512_alignr_epi64(after, value, 2);
  }
  // With a block in the place of this lane's, if there is such a lane.
  PAES_INLINE static Register with_block(Register value, __m128i block, std::size_t lane) noexcept {
    const unsigned words = lane < blocks ? 0xfU << (4 * lane) : 0U;
    return _mm512_mask_broadcast_i32x4(value, static_cast<__mmask16>(words), block);
  }
  // One block from each message, one message per lane.
  PAES_INLINE static Register gather(const std::uint8_t* const* from, std::size_t at) noexcept {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load_block(from[0] + at)),
                                                load_block(from[1] + at), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load_block(from[2] + at)),
                                                 load_block(from[3] + at), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  PAES_INLINE static void scatter(std::uint8_t* const* to, std::size_t at,
                                  Register value) noexcept {
    store_block(to[0] + at, _mm512_castsi512_si128(value));
    store_block(to[1] + at, _mm512_extracti64x2_epi64(value, 1));
    store_block(to[2] + at, _mm512_extracti64x2_epi64(value, 2));
    store_block(to[3] + at, _mm512_extracti64x2_epi64(value, 3));
  }
  // Shifts each block by bytes. Zeros come in.
  template <int Bytes>
  PAES_INLINE static Register shift_bytes_left(Register value) noexcept {
    return _mm512_bslli_epi128(value, Bytes);
  }
  // The halves of lane i, shifted by `bits` + i bits, and what that shifts out.
  PAES_INLINE static Register shift_left(Register value, unsigned bits) noexcept {
    return _mm512_sllv_epi64(value, lane_bits(bits));
  }
  PAES_INLINE static Register shifted_out(Register value, unsigned bits) noexcept {
    return _mm512_srlv_epi64(value, _mm512_sub_epi64(_mm512_set1_epi64(64), lane_bits(bits)));
  }
  PAES_INLINE static Register lane_bits(unsigned bits) noexcept {
    return _mm512_add_epi64(_mm512_set1_epi64(bits), _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0));
  }
  template <int Bytes>
  PAES_INLINE static Register rotate_bytes_left(Register value) noexcept {
    return _mm512_alignr_epi8(value, value, 16 - Bytes);
  }
  PAES_INLINE static Register double_halves(Register value) noexcept {
    return _mm512_add_epi64(value, value);
  }
  // Times 64, for halves whose top six bits are zero. On Intel's processors, shifts of 512-bit
  // registers take turns with the AES rounds on port 0, and a rotation of each half runs on port 5.
  // On AMD's Zen 4 it is the other way round.
  template <Design For>
  PAES_INLINE static Register times_64(Register value) noexcept {
    if constexpr (For == Design::intel) {
      return _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x322a221a120a023a), value);
    } else {
      return _mm512_slli_epi64(value, 6);
    }
  }
  PAES_INLINE static Register and2(Register a, Register b) noexcept {
    return _mm512_and_si512(a, b);
  }
};

using Gcm = StitchedGcm<Vector512>;
using Modes = VectorModes<Vector512>;

constexpr Kernel row = {
    .name = "vaes512",
    .cipher = Cipher::aes,
    .use = Use::automatic,
    .summary = "VAES and VPCLMULQDQ on 512-bit registers, AES and GHASH stitched",
    .needs = Feature::aes | Feature::pclmul | Feature::avx2 | Feature::vaes | Feature::vpclmul |
             Feature::avx512 | Feature::avx512_vbmi,
    .wants_512_bit = true,
    .lanes = Gcm::flight_blocks,
    .prepare = prepare_aes<Gcm::prepare>,
    .modes = Modes::runs(),
    .gcm = Gcm::runs,
};

}  // namespace

extern const Kernel kernel_vaes512 = wiping<
    row,
    StackUse{.prepare = 640, .pieces = 448, .xts = 576, .chains = 3072, .gcm = 576, .hash = 256}>();

}  // namespace paes
