// SPDX-License-Identifier: Apache-2.0
#include "kernel/features.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace paes {

namespace {

constexpr std::string_view intel = "GenuineIntel";

constexpr bool bit(std::uint64_t word, unsigned position) noexcept {
  return ((word >> position) & 1U) != 0;
}

#if defined(__x86_64__)

constexpr std::array<NamedFeature, 8> feature_names = {{
    {Feature::aes, "aes"},
    {Feature::pclmul, "pclmul"},
    {Feature::avx, "avx"},
    {Feature::avx2, "avx2"},
    {Feature::vaes, "vaes"},
    {Feature::vpclmul, "vpclmulqdq"},
    {Feature::avx512, "avx512"},
    {Feature::avx512_vbmi, "avx512_vbmi"},
}};

struct Cpuid {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  explicit Cpuid(unsigned leaf) noexcept { __cpuid_count(leaf, 0, eax, ebx, ecx, edx); }
  Cpuid() = default;
};

// Each leaf once in a process: in a virtual machine, the host answers, which takes microseconds.
struct Processor {
  Cpuid vendor{0};  // eax is the highest leaf
  Cpuid basic{1};
  Cpuid extended = vendor.eax >= 7 ? Cpuid(7) : Cpuid();  // zero is no feature
};
const Processor& processor() noexcept {
  static const Processor known;
  return known;
}

std::uint64_t enabled_state() noexcept {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

CpuFeatures read_features() noexcept {
  const Cpuid& basic = processor().basic;
  const Cpuid& extended = processor().extended;
  // Without OSXSAVE, XGETBV is an illegal instruction.
  return features_of({basic.ecx, extended.ebx, extended.ecx,
                      bit(basic.ecx, 27) ? enabled_state() : std::uint64_t{0}});
}

std::string read_vendor() {
  const Cpuid& leaf = processor().vendor;
  const unsigned words[] = {leaf.ebx, leaf.edx, leaf.ecx};
  return {reinterpret_cast<const char*>(words), sizeof words};
}

bool read_prefers_512_bit() {
  const unsigned signature = processor().basic.eax;
  const unsigned family = (signature >> 8) & 0xf;
  const unsigned model = ((signature >> 4) & 0xf) | ((signature >> 12) & 0xf0);
  // Ice Lake (server 6a, 6c; client 7d, 7e; NNPI 9d) and Tiger Lake (8c, 8d) lower their clock
  // under sustained 512-bit work; Sapphire Rapids and later do not.
  constexpr std::array<unsigned, 7> lowers_clock = {0x6a, 0x6c, 0x7d, 0x7e, 0x9d, 0x8c, 0x8d};
  return read_vendor() != intel || family != 6 ||
         std::find(lowers_clock.begin(), lowers_clock.end(), model) == lowers_clock.end();
}

#else

#if defined(__aarch64__)

constexpr std::array<NamedFeature, 2> feature_names = {{
    {Feature::armv8_aes, "aes"},
    {Feature::armv8_pmull, "pmull"},
}};

CpuFeatures read_features() noexcept { return features_of(HwcapWord{getauxval(AT_HWCAP)}); }

#else

constexpr std::array<NamedFeature, 0> feature_names = {};

CpuFeatures read_features() noexcept { return {}; }

#endif

std::string read_vendor() { return {}; }
bool read_prefers_512_bit() { return false; }

#endif

}  // namespace

CpuFeatures features_of(const CpuidWords& words) noexcept {
  CpuFeatures found;
  const auto add_if = [&found](bool is_there, Feature feature) {
    found = is_there ? found | feature : found;
  };
  const auto saves = [&](std::uint64_t states) { return (words.saved_states & states) == states; };
  constexpr std::uint64_t ymm_state = 0x06;
  constexpr std::uint64_t zmm_state = 0xe6;
  const bool has_sse = bit(words.basic_ecx, 19) && bit(words.basic_ecx, 9);  // SSE4.1, SSSE3
  add_if(has_sse && bit(words.basic_ecx, 25), Feature::aes);
  add_if(bit(words.basic_ecx, 1), Feature::pclmul);
  const bool has_avx = saves(ymm_state) && bit(words.basic_ecx, 28);
  add_if(has_avx, Feature::avx);
  add_if(has_avx && bit(words.extended_ebx, 5), Feature::avx2);
  add_if(has_avx && bit(words.extended_ecx, 9), Feature::vaes);
  add_if(has_avx && bit(words.extended_ecx, 10), Feature::vpclmul);
  const bool has_avx512 = found.contain(Feature::avx2) && saves(zmm_state) &&
                          bit(words.extended_ebx, 16) && bit(words.extended_ebx, 17) &&
                          bit(words.extended_ebx, 30) && bit(words.extended_ebx, 31);
  add_if(has_avx512, Feature::avx512);
  add_if(has_avx512 && bit(words.extended_ecx, 1), Feature::avx512_vbmi);
  return found;
}

CpuFeatures features_of(const HwcapWord& word) noexcept {
  constexpr unsigned asimd = 1;  // the vector registers
  constexpr unsigned aes = 3;
  constexpr unsigned pmull = 4;
  constexpr unsigned sha1 = 5;
  constexpr unsigned sha2 = 6;
#if defined(__aarch64__)
  static_assert(HWCAP_ASIMD == 1U << asimd && HWCAP_AES == 1U << aes &&
                HWCAP_PMULL == 1U << pmull && HWCAP_SHA1 == 1U << sha1 && HWCAP_SHA2 == 1U << sha2);
#endif
  CpuFeatures found;
  if (!bit(word.bits, asimd)) {
    return found;
  }
  // To compilers, "crypto" includes the hash instructions.
  if (bit(word.bits, aes) && bit(word.bits, sha1) && bit(word.bits, sha2)) {
    found = found | Feature::armv8_aes;
  }
  if (bit(word.bits, pmull)) {
    found = found | Feature::armv8_pmull;
  }
  return found;
}

const CpuFeatures& machine_features() noexcept {
  static const CpuFeatures features = read_features();
  return features;
}

bool machine_prefers_512_bit() noexcept {
  static const bool prefers = read_prefers_512_bit();
  return prefers;
}

Design design_of(std::string_view vendor) noexcept {
  return vendor == intel ? Design::intel : Design::other;
}

Design machine_design() noexcept {
  static const Design design = design_of(read_vendor());
  return design;
}

std::span<const NamedFeature> named_features() noexcept { return feature_names; }

std::string missing_features(CpuFeatures needed) {
  std::string names;
  for (const auto& [feature, name] : feature_names) {
    if (needed.contain(feature) && !machine_features().contain(feature)) {
      names += names.empty() ? name : std::string(", ") + name;
    }
  }
  return names;
}

std::string machine_name() {
#if defined(__x86_64__)
  std::array<unsigned, 12> words = {};
  unsigned leaf = 0x80000002;
  for (std::size_t i = 0; i < words.size(); i += 4) {
    __get_cpuid(leaf++, &words[i], &words[i + 1], &words[i + 2], &words[i + 3]);
  }
  char name[49] = {};
  std::memcpy(name, words.data(), 48);
  std::string trimmed(name);
  trimmed.erase(trimmed.find_last_not_of(' ') + 1);
  return trimmed;
#else
  return "unknown";
#endif
}

}  // namespace paes
