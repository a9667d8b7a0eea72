// AES step by step on a device, as the studies first had it: S-boxes and round keys in constant
// memory, each thread's block staged through shared memory, 256 threads to a thread block. The
// steps are those of cipher/aes_compute.hpp. To be read and measured against: a look-up in constant
// memory takes the longer the more the addresses of a warp differ, so the time depends on secrets.
#pragma once

#include "cipher/aes_compute.hpp"
#include "cuda/device_kernel.hpp"
#include "cuda/mode_loop.hpp"

namespace paes::cuda {
namespace {  // NOLINT

PAES_CONSTANT_KEYS(RoundKeys, aes_round_keys);
PAES_CONSTANT_TABLE aes_compute::Sbox aes_sbox = aes_compute::make_sbox();
PAES_CONSTANT_TABLE aes_compute::Sbox aes_inverse_sbox = aes_compute::make_inverse_sbox();

struct AesComputeKeys {
  const RoundKeys* round_keys;  // where the emulation reads them
  unsigned slot;                // where the device does

  PAES_DEVICE const RoundKeys& in_slot() const {
#if defined(__CUDA_ARCH__)
    return aes_round_keys[slot].keys;
#else
    return *round_keys;
#endif
  }
};

template <bool Inverse>
class AesComputeCore {
 public:
  static constexpr unsigned block_bytes = 16;
  static constexpr unsigned blocks = 1;
  static constexpr bool inverse = Inverse;
  using Keys = AesComputeKeys;
  static constexpr unsigned threads = 256;
  static constexpr unsigned shared_bytes = threads * sizeof(Block);

  PAES_DEVICE static void fill(std::uint8_t* /*shared*/, const Keys& /*keys*/,
                               const Thread& /*thread*/) {}

  PAES_DEVICE AesComputeCore(std::uint8_t* shared, const Keys& keys, const Thread& thread)
      : state_(reinterpret_cast<Block*>(shared)[thread.index]), keys_(keys) {}

  PAES_DEVICE void crypt(Words<16> (&state)[blocks]) const {
    store_words(&state_, state[0]);
    if constexpr (Inverse) {
      aes_compute::decrypt_block(keys_.in_slot(), state_, aes_inverse_sbox);
    } else {
      aes_compute::encrypt_block(keys_.in_slot(), state_, aes_sbox);
    }
    state[0] = load_words<16>(&state_);
  }

 private:
  Block& state_;  // this thread's, in shared memory
  Keys keys_;
};

}  // namespace
}  // namespace paes::cuda
