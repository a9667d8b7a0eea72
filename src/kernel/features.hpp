// What the processor can do and the operating system lets it do. Having 512-bit registers and being
// better off with them are two questions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace paes {

enum class Feature : std::uint32_t {
  aes = 1U << 0,     // AES-NI, with SSE4.1 and SSSE3
  pclmul = 1U << 1,  // PCLMULQDQ
  avx = 1U << 2,     // AVX, registers enabled in XCR0
  avx2 = 1U << 3,
  vaes = 1U << 4,     // VAES on 256-bit registers
  vpclmul = 1U << 5,  // VPCLMULQDQ on 256-bit registers
  avx512 = 1U << 6,   // AVX-512 F, BW, DQ and VL, registers enabled in XCR0
  avx512_vbmi = 1U << 7,
};

struct Features {
  std::uint32_t bits = 0;
  constexpr Features() noexcept = default;
  constexpr Features(Feature one) noexcept : bits(static_cast<std::uint32_t>(one)) {}  // NOLINT
  [[nodiscard]] constexpr bool contain(Features other) const noexcept {
    return (bits & other.bits) == other.bits;
  }
  friend constexpr Features operator|(Features a, Features b) noexcept {
    Features both;
    both.bits = a.bits | b.bits;
    return both;
  }
};

constexpr Features operator|(Feature a, Feature b) noexcept { return Features(a) | Features(b); }

// Read once from CPUID and XCR0.
[[nodiscard]] const Features& machine_features() noexcept;

// False on processors whose clock drops enough under 512-bit instructions to lose by them.
[[nodiscard]] bool machine_prefers_512_bit() noexcept;

struct NamedFeature {
  Feature feature;
  const char* name;
};

// Every feature, for reports.
[[nodiscard]] std::span<const NamedFeature> named_features() noexcept;

// "vaes, avx512": the names of what `needed` asks for and this machine lacks.
[[nodiscard]] std::string missing_features(Features needed);

// The processor's name as CPUID gives it, for reports.
[[nodiscard]] std::string machine_name();

}  // namespace paes
