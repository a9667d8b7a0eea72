// SPDX-License-Identifier: Apache-2.0
// The vocabulary of device code. nvcc compiles every function and table of a kernel for the device,
// and the host's compiler compiles them again for tests, which emulate the device. Here are the few
// instructions that have no name in C++, each with its meaning in C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cipher/block.hpp"

#if defined(__CUDACC__)
#define PAES_DEVICE __device__ __forceinline__
// A table that device code reads, and a table in constant memory.
#define PAES_DEVICE_TABLE __device__ constexpr
#define PAES_CONSTANT_TABLE __constant__ constexpr
#define PAES_UNROLL _Pragma("unroll")
#define PAES_KEEP_LOOP _Pragma("unroll 1")
#else
#define PAES_DEVICE inline
#define PAES_DEVICE_TABLE inline constexpr
#define PAES_CONSTANT_TABLE inline constexpr
#define PAES_UNROLL
#define PAES_KEEP_LOOP
#endif

namespace paes::cuda {
namespace {  // NOLINT: the linker may never merge what two compilers make of these

inline constexpr unsigned warp_lanes = 32;

// Four of the eight bytes of y:x (x is the lower half), chosen by the nibbles of `selector` (PRMT).
PAES_DEVICE std::uint32_t byte_permute(std::uint32_t x, std::uint32_t y, std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(x, y, selector);
#else
  const std::uint64_t both = (std::uint64_t{y} << 32) | x;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned from = (selector >> (4 * i)) & 7;
    result |= static_cast<std::uint32_t>((both >> (8 * from)) & 0xff) << (8 * i);
  }
  return result;
#endif
}

// Adds the sum of the products of corresponding bytes of `x` and `y` to `sum` (IDP.4A). On a device
// it runs on the multiplier's pipe, beside logic and byte permutations.
PAES_DEVICE std::uint32_t dot_bytes(std::uint32_t x, std::uint32_t y, std::uint32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(x, y, sum);
#else
  for (unsigned i = 0; i < 4; ++i) {
    sum += ((x >> (8 * i)) & 0xff) * ((y >> (8 * i)) & 0xff);
  }
  return sum;
#endif
}

PAES_DEVICE std::uint32_t swap_bytes(std::uint32_t word) { return byte_permute(word, 0, 0x0123); }

// shift_left: the upper 32 bits of high:low << bits. shift_right: the lower 32 bits of high:low >>
// bits (SHF). `bits` is 0 to 31.
PAES_DEVICE std::uint32_t shift_left(std::uint32_t high, std::uint32_t low, unsigned bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, bits);
#else
  return static_cast<std::uint32_t>((((std::uint64_t{high} << 32) | low) << bits) >> 32);
#endif
}
PAES_DEVICE std::uint32_t shift_right(std::uint32_t high, std::uint32_t low, unsigned bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, bits);
#else
  return static_cast<std::uint32_t>(((std::uint64_t{high} << 32) | low) >> bits);
#endif
}

// Tells the compiler that `value` is the same for all lanes of the warp, which it cannot know of a
// value computed from a thread's index. All lanes call this together.
PAES_DEVICE unsigned uniform(unsigned value) {
#if defined(__CUDA_ARCH__)
  return __shfl_sync(0xffffffff, value, 0);
#else
  return value;
#endif
}

// What `make(lane)` returns for each lane of the warp, in words. On a device, each lane makes its
// own and gets the others' from them; the emulation, which runs one lane after the other, makes
// them again.
template <class Make>
class OfLanes {
 public:
  using Value = decltype(std::declval<const Make&>()(0U));
  static_assert(std::is_trivially_copyable_v<Value> && alignof(Value) == alignof(std::uint32_t));

  PAES_DEVICE OfLanes(unsigned lane, const Make& make)
#if defined(__CUDA_ARCH__)
      : own_(make(lane)) {
  }
  // All lanes call this together, with the same number.
  [[nodiscard]] PAES_DEVICE Value of(unsigned lane) const {
    Value value = own_;
    auto* const words = reinterpret_cast<std::uint32_t*>(&value);
    PAES_UNROLL
    for (unsigned i = 0; i < sizeof(Value) / sizeof(std::uint32_t); ++i) {
      words[i] = __shfl_sync(0xffffffff, words[i], static_cast<int>(lane));
    }
    return value;
  }

 private:
  Value own_;
#else
      : make_(make) {
    (void)lane;
  }
  [[nodiscard]] Value of(unsigned lane) const { return make_(lane); }

 private:
  const Make& make_;
#endif
};

// A block of the cipher as 32-bit words. Its first byte in memory is the lowest of the first word.
template <unsigned Bytes>
struct alignas(Bytes) Words {
  std::uint32_t word[Bytes / 4];
};

template <unsigned Bytes>
PAES_DEVICE Words<Bytes> operator^(const Words<Bytes>& a, const Words<Bytes>& b) {
  Words<Bytes> sum;
  PAES_UNROLL
  for (unsigned i = 0; i < Bytes / 4; ++i) {
    sum.word[i] = a.word[i] ^ b.word[i];
  }
  return sum;
}

// One access of the block's whole width, of which `address` is a multiple.
template <unsigned Bytes>
PAES_DEVICE Words<Bytes> load_words(const void* address) {
#if defined(__CUDA_ARCH__)
  if constexpr (Bytes == 16) {
    const uint4 four = *static_cast<const uint4*>(address);
    return {{four.x, four.y, four.z, four.w}};
  } else {
    const uint2 two = *static_cast<const uint2*>(address);
    return {{two.x, two.y}};
  }
#else
  return *static_cast<const Words<Bytes>*>(address);
#endif
}

template <unsigned Bytes>
PAES_DEVICE void store_words(void* address, const Words<Bytes>& words) {
#if defined(__CUDA_ARCH__)
  if constexpr (Bytes == 16) {
    *static_cast<uint4*>(address) =
        make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]);
  } else {
    *static_cast<uint2*>(address) = make_uint2(words.word[0], words.word[1]);
  }
#else
  *static_cast<Words<Bytes>*>(address) = words;
#endif
}

// Words in a thread block's shared memory, by their 32-bit addresses. With a pointer, the compiler
// may add the memory's own address to every place in it.
class SharedWords {
 public:
  PAES_DEVICE explicit SharedWords(const std::uint8_t* memory)
#if defined(__CUDA_ARCH__)
      : address_(static_cast<std::uint32_t>(__cvta_generic_to_shared(memory))) {
  }
  [[nodiscard]] PAES_DEVICE std::uint32_t address() const { return address_; }
  [[nodiscard]] PAES_DEVICE std::uint32_t word(std::uint32_t address) const {
    return *static_cast<const std::uint32_t*>(__cvta_shared_to_generic(address));
  }

 private:
  std::uint32_t address_;
#else
      : memory_(memory) {
  }
  [[nodiscard]] std::uint32_t address() const { return 0; }
  [[nodiscard]] std::uint32_t word(std::uint32_t address) const {
    return *reinterpret_cast<const std::uint32_t*>(memory_ + address);
  }

 private:
  const std::uint8_t* memory_;
#endif
};

// These load, store or keep only the first `bytes` of a block; the returned block has zeros for the
// others. Indices are constants, because otherwise the words would have to leave their registers.
template <unsigned Bytes>
PAES_DEVICE Words<Bytes> load_partial(const void* address, unsigned bytes) {
  Words<Bytes> words = {};
  PAES_UNROLL
  for (unsigned i = 0; i < Bytes; ++i) {
    if (i < bytes) {
      words.word[i / 4] |= std::uint32_t{static_cast<const std::uint8_t*>(address)[i]}
                           << (8 * (i % 4));
    }
  }
  return words;
}
template <unsigned Bytes>
PAES_DEVICE void store_partial(void* address, const Words<Bytes>& words, unsigned bytes) {
  PAES_UNROLL
  for (unsigned i = 0; i < Bytes; ++i) {
    if (i < bytes) {
      static_cast<std::uint8_t*>(address)[i] =
          static_cast<std::uint8_t>(words.word[i / 4] >> (8 * (i % 4)));
    }
  }
}
template <unsigned Bytes>
PAES_DEVICE Words<Bytes> first_bytes(const Words<Bytes>& words, unsigned bytes) {
  Words<Bytes> first;
  PAES_UNROLL
  for (unsigned i = 0; i < Bytes / 4; ++i) {
    const unsigned here = bytes < 4 * i ? 0 : bytes - 4 * i;
    first.word[i] = here >= 4 ? words.word[i] : words.word[i] & ((1U << (8 * here)) - 1);
  }
  return first;
}

// The words of a block in launch parameters. They are read as words, because the compiler would
// keep every byte in its own register.
template <unsigned Bytes>
PAES_DEVICE Words<Bytes> words_of(const Block& block) {
  return load_words<Bytes>(&block);
}

}  // namespace
}  // namespace paes::cuda
