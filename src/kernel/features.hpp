// SPDX-License-Identifier: Apache-2.0
// What the processor can do, and what the operating system lets it do. Whether it has 512-bit
// registers and whether they pay are two questions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace paes {

enum class Feature : std::uint32_t {
  aes = 1U << 0,     // AES-NI, with SSE4.1 and SSSE3
  pclmul = 1U << 1,  // PCLMULQDQ
  avx = 1U << 2,     // AVX, registers enabled in XCR0
  avx2 = 1U << 3,
  vaes = 1U << 4,     // VAES on 256-bit registers
  vpclmul = 1U << 5,  // VPCLMULQDQ on 256-bit registers
  avx512 = 1U << 6,   // AVX-512 F, BW, DQ and VL, registers enabled in XCR0; avx2 with it
  avx512_vbmi = 1U << 7,
  armv8_aes = 1U << 8,    // AESE, AESD and their kin, with SHA-1 and SHA-256
  armv8_pmull = 1U << 9,  // PMULL on 64 bits
};

struct CpuFeatures {
  std::uint32_t bits = 0;
  constexpr CpuFeatures() noexcept = default;
  constexpr CpuFeatures(Feature one) noexcept : bits(static_cast<std::uint32_t>(one)) {}  // NOLINT
  [[nodiscard]] constexpr bool contain(CpuFeatures other) const noexcept {
    return (bits & other.bits) == other.bits;
  }
  friend constexpr CpuFeatures operator|(CpuFeatures a, CpuFeatures b) noexcept {
    CpuFeatures both;
    both.bits = a.bits | b.bits;
    return both;
  }
};

constexpr CpuFeatures operator|(Feature a, Feature b) noexcept {
  return CpuFeatures(a) | CpuFeatures(b);
}

// What an x86 processor says about itself: CPUID's leaves 1 and 7, and the register states in XCR0
// that the operating system saves, or 0 if it saves none (Intel SDM volume 1, section 13.3).
struct CpuidWords {
  std::uint32_t basic_ecx = 0;
  std::uint32_t extended_ebx = 0;
  std::uint32_t extended_ecx = 0;
  std::uint64_t saved_states = 0;
};

// A feature counts only if the system saves the registers that it works on, and if the narrower
// instructions are there that its kernels are compiled with. A hypervisor may have masked any of
// them.
[[nodiscard]] CpuFeatures features_of(const CpuidWords& words) noexcept;

// What the system says about an Armv8 processor: AT_HWCAP of the auxiliary vector (Linux,
// Documentation/arch/arm64/elf_hwcaps.rst).
struct HwcapWord {
  std::uint64_t bits = 0;
};
[[nodiscard]] CpuFeatures features_of(const HwcapWord& word) noexcept;

// Read once, from CPUID and XCR0 or from the auxiliary vector.
[[nodiscard]] const CpuFeatures& machine_features() noexcept;

// False on processors whose clock drops under 512-bit instructions, so that these are slower.
[[nodiscard]] bool machine_prefers_512_bit() noexcept;

// Whose processors a kernel is tuned to, where one code is not the best for all.
enum class Design : std::uint8_t { as_machine, intel, other };

// By the vendor's name in CPUID's leaf 0. Two choices depend on it (docs/log/kernels.md):
// - How a kernel that stores past the caches prefetches its input: two pages ahead and into the
//   second cache on Intel's, some lines ahead and past the outer caches on others. In Intel's,
//   lines that bypass the second cache occupy fill buffers that stores past the caches need, too:
//   on a Sapphire Rapids the near way was slower than no prefetch at all, and the far one was 1.3
//   to 1.8 times as fast on one thread. On AMD's Zen 3 the near way gained 8 to 11 %. The far one
//   was never measured there, nor was anything on Intel's other designs. `vaes512` always takes the
//   far way.
// - How `vaes512` multiplies XTS's tweaks: on Intel's, shifts of 512-bit registers take turns with
//   the AES rounds, and on AMD's Zen 4 the instruction that takes their place there does.
[[nodiscard]] Design design_of(std::string_view vendor) noexcept;

[[nodiscard]] Design machine_design() noexcept;

struct NamedFeature {
  Feature feature;
  const char* name;
};

// Every feature that this kind of processor can have, for reports.
[[nodiscard]] std::span<const NamedFeature> named_features() noexcept;

// "vaes, avx512": the features in `needed` that this machine lacks.
[[nodiscard]] std::string missing_features(CpuFeatures needed);

// The processor's name from CPUID, or "unknown", for reports.
[[nodiscard]] std::string machine_name();

}  // namespace paes
