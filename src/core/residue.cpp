// SPDX-License-Identifier: Apache-2.0
#include "core/residue.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/secret.hpp"

namespace paes {

namespace {

// Calls from such a scope do not go deeper. When a thread ends, glibc returns to the system what is
// more than 16 KiB below.
constexpr std::size_t residue_bytes = std::size_t{64} << 10;

#if defined(__x86_64__)

[[gnu::target("avx512f")]] void wipe_registers_of_avx512() noexcept {
  asm volatile(
      ".irp r, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
      "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r\n\t"
      ".endr"
      :
      :
      : "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
}

#define PAES_FIRST_REGISTERS                                                               \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

// The register states that the system saves (XCR0). GCC's own test of the processor would run at
// the start of each program, where a virtual machine takes microseconds for each question.
std::uint64_t saved_states() noexcept {
  constexpr std::uint64_t not_asked_yet = 0;
  static std::atomic<std::uint64_t> known{not_asked_yet};
  std::uint64_t states = known.load(std::memory_order_relaxed);
  if (states == not_asked_yet) {
    unsigned eax = 1;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    constexpr unsigned osxsave = 1U << 27;  // without it, xgetbv is an illegal instruction
    states = 3;                             // what every processor of 64 bits has
    if ((ecx & osxsave) != 0) {
      asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
      states = std::uint64_t{edx} << 32 | eax;
    }
    known.store(states, std::memory_order_relaxed);
  }
  return states;
}

void wipe_registers() noexcept {
  constexpr std::uint64_t ymm_states = 0x06;
  constexpr std::uint64_t zmm_states = 0xe6;
  const std::uint64_t states = saved_states();
  if ((states & zmm_states) == zmm_states) {
    wipe_registers_of_avx512();
  }
  if ((states & ymm_states) == ymm_states) {
    asm volatile("vzeroall" : : : PAES_FIRST_REGISTERS);  // in full width
  } else {
    asm volatile(
        ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
        "pxor %%xmm\\r, %%xmm\\r\n\t"
        ".endr"
        :
        :
        : PAES_FIRST_REGISTERS);
  }
}

#undef PAES_FIRST_REGISTERS

#elif defined(__aarch64__)

void wipe_registers() noexcept {
  asm volatile(
      ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"
      "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
      "movi v\\r\\().2d, #0\n\t"
      ".endr"
      :
      :
      : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
        "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
        "v27", "v28", "v29", "v30", "v31");
}

#else

// No kernel uses the vector registers of other processors.
void wipe_registers() noexcept {}

#endif

// Never inlined, so that its frame lies where those of earlier calls lay.
[[gnu::noinline]] void wipe_stack() noexcept {
  std::uint8_t below[residue_bytes];
  wipe(below, sizeof below);
}

}  // namespace

// The registers go first: if a signal comes meanwhile, its frame is then free of secrets.
WipeResidueOnExit::~WipeResidueOnExit() {
  wipe_registers();
  wipe_stack();
}

}  // namespace paes
