// SPDX-License-Identifier: Apache-2.0
// Wipes what a kernel's functions leave on the stack. A compiler that runs out of registers puts
// round keys, text and tweaks into places that have no name in the source, and each compiler
// chooses other places. So the functions of a row are called through wiping_run, which wipes the
// memory that the call's frames had, whatever lies there. No compiler can optimise that away: it
// cannot see which function is called, and the wiping is assembly.
//
// A row says how much stack its functions may take (StackUse). wiped_stack_test.cpp calls all of
// them and fails if anything is left below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/secret.hpp"
#include "kernel/kernel.hpp"

namespace paes {
namespace {  // NOLINT: see kernel.hpp

// Wipes the stack below the caller's frame, 512 bytes per turn: few turns, so that the processor
// predicts the end of the loop. The stack pointer moves along, because a signal may write to what
// is below it.
#if defined(__x86_64__)

// The widest stores that the file is compiled for. The register is zeroed in its full width, so
// that its upper part counts as unused afterwards.
#if defined(__AVX512F__)
#define PAES_WIPE_ZERO "vpxor %%xmm0, %%xmm0, %%xmm0\n\t"
#define PAES_WIPE_64(at) "vmovdqu64 %%zmm0, " at "\n\t"
#elif defined(__AVX__)
#define PAES_WIPE_ZERO "vpxor %%xmm0, %%xmm0, %%xmm0\n\t"
#define PAES_WIPE_64(at) "vmovdqu %%ymm0, " at "\n\tvmovdqu %%ymm0, 32+" at "\n\t"
#else
#define PAES_WIPE_ZERO "pxor %%xmm0, %%xmm0\n\t"
#define PAES_WIPE_64(at)                                                       \
  "movups %%xmm0, " at "\n\tmovups %%xmm0, 16+" at "\n\tmovups %%xmm0, 32+" at \
  "\n\tmovups %%xmm0, 48+" at "\n\t"
#endif

template <std::size_t StackBytes>
__attribute__((always_inline)) inline void wipe_stack_below() noexcept {
  std::uintptr_t at = 0;
  std::uintptr_t last = 0;
  // First the topmost 64 bytes, then whole cache lines downwards.
  asm volatile(
      "lea -64(%%rsp), %[last]\n\t"
      "mov %%rsp, %[at]\n\t"
      "and $-64, %[at]\n\t"
      "lea -%c[bytes](%[at]), %%rsp\n\t"  //
      PAES_WIPE_ZERO PAES_WIPE_64("0(%[last])")
      ".irp below, 64,128,192,256,320,384,448\n\t"
      ".if \\below <= %c[rest]\n\t"  //
      PAES_WIPE_64("-\\below(%[at])")
      ".endif\n\t"
      ".endr\n\t"
      "sub $%c[rest], %[at]\n\t"
      ".if %c[bytes] >= 512\n\t"
      "0:\n\t"
      ".irp below, 64,128,192,256,320,384,448,512\n\t"  //
      PAES_WIPE_64("-\\below(%[at])")
      ".endr\n\t"
      "sub $512, %[at]\n\t"
      "cmp %%rsp, %[at]\n\t"
      "ja 0b\n\t"
      ".endif\n\t"
      "lea 64(%[last]), %%rsp"
      : [at] "=&r"(at), [last] "=&r"(last)
      : [bytes] "i"(StackBytes), [rest] "i"(StackBytes % 512)
      : "xmm0", "cc", "memory");
}

#undef PAES_WIPE_ZERO
#undef PAES_WIPE_64

#elif defined(__aarch64__)
template <std::size_t StackBytes>
__attribute__((always_inline)) inline void wipe_stack_below() noexcept {
  std::uintptr_t at = StackBytes;
  std::uintptr_t end = 0;
  asm volatile(
      "mov %[end], sp\n\t"
      "sub %[at], %[end], %[at]\n\t"
      "mov sp, %[at]\n\t"
      "0:\n\t"
      "stp xzr, xzr, [%[at]], #16\n\t"
      "stp xzr, xzr, [%[at]], #16\n\t"
      "stp xzr, xzr, [%[at]], #16\n\t"
      "stp xzr, xzr, [%[at]], #16\n\t"
      "cmp %[at], %[end]\n\t"
      "b.lo 0b\n\t"
      "mov sp, %[end]"
      : [at] "+&r"(at), [end] "=&r"(end)
      :
      : "cc", "memory");
}
#else
// Its frame lies where those of the call lay, except between the end of its frame and `below`.
template <std::size_t StackBytes>
__attribute__((noinline)) void wipe_stack_below() noexcept {
  std::uint8_t below[StackBytes];
  wipe(below, sizeof below);
}
#endif

template <std::size_t StackBytes, auto Run>
struct WipingRun;

template <std::size_t StackBytes, class... Arguments, bool Noexcept,
          void (*Run)(Arguments...) noexcept(Noexcept)>
struct WipingRun<StackBytes, Run> {
  static_assert(StackBytes >= 256 && StackBytes % 64 == 0);

  __attribute__((noinline)) static void run(Arguments... arguments) noexcept {
    // The compiler must not know the function, or it would merge its frame with this one.
    void (*unknown)(Arguments...) noexcept(Noexcept) = Run;
    asm volatile("" : "+r"(unknown));
    unknown(arguments...);
    wipe_stack_below<StackBytes>();
  }
};

// `Run`, then wiping as much of the stack as Run and all its callees used. Null stays null.
template <std::size_t StackBytes, auto Run>
consteval auto wiping_run() noexcept {
  if constexpr (Run == nullptr) {
    return Run;
  } else {
    return &WipingRun<StackBytes, Run>::run;
  }
}

// How much stack the functions of a row may take: bytes, in multiples of 64. The values are some
// hundred more than GCC 12 and Clang 14 were seen to take, and GCC 16 where that takes more; each
// further 64 bytes cost a short message one or two cycles.
struct StackUse {
  std::size_t prepare;
  std::size_t pieces;
  std::size_t xts = pieces;  // its pieces, which hold tweaks
  std::size_t chains = pieces;
  std::size_t gcm = 512;
  std::size_t hash = gcm;  // and verify
};

// The row with functions that wipe their stack, for rows whose keys are nothing but memory.
template <const Kernel& row, StackUse use>
consteval Kernel wiping() noexcept {
  // NOLINTBEGIN(readability-redundant-parentheses): it sees some where templates have arguments
  static_assert(row.release == nullptr && !row.takes_whole_units());
  Kernel wiped = row;
  wiped.prepare = wiping_run<use.prepare, row.prepare>();
  [&]<unsigned... Index>(std::integer_sequence<unsigned, Index...>) consteval {
    ((wiped.modes.piece[Index] = wiping_run < formulas[Index].has_tweak() ? use.xts : use.pieces,
      row.modes.piece[Index] > ()),
     ...);
    ((wiped.modes.chain[Index] = wiping_run<use.chains, row.modes.chain[Index]>()), ...);
  }
  (std::make_integer_sequence<unsigned, operation_count>());
  wiped.gcm = {.hash = wiping_run<use.hash, row.gcm.hash>(),
               .encrypt = wiping_run<use.gcm, row.gcm.encrypt>(),
               .decrypt = wiping_run<use.gcm, row.gcm.decrypt>(),
               .seal = wiping_run<use.gcm, row.gcm.seal>(),
               .open = wiping_run<use.gcm, row.gcm.open>(),
               .verify = wiping_run<use.hash, row.gcm.verify>()};
  // NOLINTEND(readability-redundant-parentheses)
  return wiped;
}

}  // namespace
}  // namespace paes
