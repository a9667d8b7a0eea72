// The plainest loop that keeps the processor's AES units busy: CTR (SP 800-38A, section 6.5, with
// the 32-bit counter of SP 800-38D, section 6.5), eight 512-bit registers in flight, no hash. What
// it reaches is the limit of the execution ports, the mark for every real kernel. It exists only
// inside `paes bench`: its "seal" has no tag, so it must never protect anything.
#include <immintrin.h>

#include <cstring>

#include "kernel/kernel.hpp"
#include "kernel/prepare_aes.hpp"
#include "mode/gcm.hpp"

namespace paes {

extern const Kernel kernel_vaes_loop;

namespace {

constexpr std::size_t group_registers = 8;
constexpr std::size_t register_bytes = 64;
constexpr std::size_t register_blocks = register_bytes / block_bytes;

// The intrinsic without a mask reads an undefined register, of which GCC 12 warns.
__m512i broadcast(__m128i block) noexcept { return _mm512_maskz_broadcast_i32x4(0xffff, block); }

using WideKeys = __m512i[RoundKeys::max_rounds + 1];

template <unsigned Rounds>
void load_round_keys(const RoundKeys& round_keys, WideKeys& keys) noexcept {
  for (unsigned round = 0; round <= Rounds; ++round) {
    keys[round] =
        broadcast(_mm_load_si128(reinterpret_cast<const __m128i*>(round_keys.key[round].bytes)));
  }
}

// Reverses each 32-bit word that counts, so that it can be added to; leaves the rest of a block.
__m512i swap_counter_word() noexcept {
  return broadcast(_mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
}

template <unsigned Rounds, std::size_t Registers>
[[gnu::always_inline]] inline void encrypt(const WideKeys& keys,
                                           __m512i (&text)[Registers]) noexcept {
  for (std::size_t i = 0; i < Registers; ++i) {
    text[i] = _mm512_xor_si512(text[i], keys[0]);
  }
#pragma GCC unroll 16
  for (unsigned round = 1; round < Rounds; ++round) {
    for (std::size_t i = 0; i < Registers; ++i) {
      text[i] = _mm512_aesenc_epi128(text[i], keys[round]);
    }
  }
  for (std::size_t i = 0; i < Registers; ++i) {
    text[i] = _mm512_aesenclast_epi128(text[i], keys[Rounds]);
  }
}

template <unsigned Rounds>
void ctr(const RoundKeys& round_keys, const Block& first_counter, const std::uint8_t* in,
         std::uint8_t* out, std::size_t bytes) noexcept {
  WideKeys keys;
  load_round_keys<Rounds>(round_keys, keys);
  const __m512i swap = swap_counter_word();
  const __m512i one_register = broadcast(_mm_set_epi32(static_cast<int>(register_blocks), 0, 0, 0));
  __m512i counters =
      broadcast(_mm_load_si128(reinterpret_cast<const __m128i*>(first_counter.bytes)));
  counters = _mm512_add_epi32(_mm512_shuffle_epi8(counters, swap),
                              _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));

  constexpr std::size_t group_bytes = group_registers * register_bytes;
  for (; bytes >= group_bytes; bytes -= group_bytes, in += group_bytes, out += group_bytes) {
    __m512i text[group_registers];
    for (__m512i& blocks : text) {
      blocks = _mm512_shuffle_epi8(counters, swap);
      counters = _mm512_add_epi32(counters, one_register);
    }
    encrypt<Rounds>(keys, text);
    for (std::size_t i = 0; i < group_registers; ++i) {
      _mm512_storeu_si512(out + i * register_bytes,
                          _mm512_xor_si512(text[i], _mm512_loadu_si512(in + i * register_bytes)));
    }
  }
  while (bytes != 0) {
    const std::size_t part = bytes < register_bytes ? bytes : register_bytes;
    const __mmask64 mask = ~std::uint64_t{0} >> (register_bytes - part);
    __m512i text[1] = {_mm512_shuffle_epi8(counters, swap)};
    counters = _mm512_add_epi32(counters, one_register);
    encrypt<Rounds>(keys, text);
    _mm512_mask_storeu_epi8(out, mask,
                            _mm512_xor_si512(text[0], _mm512_maskz_loadu_epi8(mask, in)));
    bytes -= part;
    in += part;
    out += part;
  }
}

const RoundKeys& round_keys_of(const KernelKeys& keys) noexcept {
  return *reinterpret_cast<const RoundKeys*>(keys.bytes);
}

void prepare(const RoundKeys& round_keys, KernelKeys& keys) {
  std::memcpy(keys.bytes, &round_keys, sizeof round_keys);
}

void gctr(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  const RoundKeys& round_keys = round_keys_of(keys);
  const Block counter = gcm::add_counter(state.counter, piece.first_block);
  switch (round_keys.rounds) {
    case 10:
      return ctr<10>(round_keys, counter, piece.in, piece.out, piece.bytes);
    case 12:
      return ctr<12>(round_keys, counter, piece.in, piece.out, piece.bytes);
    default:
      return ctr<14>(round_keys, counter, piece.in, piece.out, piece.bytes);
  }
}

void no_hash(const KernelKeys&, const ModeState&, const Piece&) noexcept {}

// A message without its tag: *hash stays as it came.
void whole_message(const KernelKeys& keys, const ModeState& state, const Piece& piece) noexcept {
  ModeState text_state = state;
  text_state.counter = gcm::add_counter(state.counter, 1);
  gctr(keys, text_state, piece);
}

}  // namespace

const Kernel kernel_vaes_loop = {
    .name = "vaes_loop",
    .cipher = Cipher::aes,
    .use = Use::bench_only,
    .summary = "CTR without a hash, the limit of the processor's AES units",
    .warning = nullptr,
    .needs = Feature::aes | Feature::vaes | Feature::avx512,
    .wants_512_bit = true,
    .lanes = group_registers * register_blocks,
    .unavailable = nullptr,
    .prepare = prepare_aes<prepare>,
    .release = nullptr,
    .modes = {{nullptr, nullptr, gctr}, {}},
    .gcm = {{no_hash, gctr, gctr, whole_message, whole_message, nullptr}},
};

}  // namespace paes
