#include "kernel/features.hpp"

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
  Cpuid(unsigned leaf, unsigned subleaf) noexcept {
    // Leaves above the processor's highest leave all four at zero: no feature.
    (void)__get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx);
  }
};

std::uint64_t enabled_state() noexcept {
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

Features read_features() noexcept {
  const Cpuid basic(1, 0);
  const Cpuid extended(7, 0);
  // Without OSXSAVE, XGETBV itself is an illegal instruction.
  return features_of({basic.ecx, extended.ebx, extended.ecx,
                      bit(basic.ecx, 27) ? enabled_state() : std::uint64_t{0}});
}

struct Vendor {
  char name[13] = {};
  Vendor() noexcept {
    std::array<unsigned, 3> words = {};
    unsigned highest = 0;
    __get_cpuid(0, &highest, &words[0], &words[2], &words[1]);
    std::memcpy(name, words.data(), 12);
  }
};

bool read_prefers_512_bit() noexcept {
  if (Vendor().name != intel) {
    return true;
  }
  const unsigned signature = Cpuid(1, 0).eax;
  const unsigned family = (signature >> 8) & 0xf;
  const unsigned model = ((signature >> 4) & 0xf) | ((signature >> 12) & 0xf0);
  // Ice Lake (server 6a, 6c; client 7d, 7e; NNPI 9d) and Tiger Lake (8c, 8d) lower their clock
  // under sustained 512-bit work; Sapphire Rapids and later do not.
  constexpr std::array<unsigned, 7> lowers_clock = {0x6a, 0x6c, 0x7d, 0x7e, 0x9d, 0x8c, 0x8d};
  if (family == 6) {
    for (const unsigned slow : lowers_clock) {
      if (model == slow) {
        return false;
      }
    }
  }
  return true;
}

StreamFetch read_stream_fetch() noexcept { return stream_fetch_of(Vendor().name); }

std::string read_machine_name() {
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
}

#elif defined(__aarch64__)

constexpr std::array<NamedFeature, 2> feature_names = {{
    {Feature::armv8_aes, "aes"},
    {Feature::armv8_pmull, "pmull"},
}};

Features read_features() noexcept { return features_of(HwcapWord{getauxval(AT_HWCAP)}); }
bool read_prefers_512_bit() noexcept { return false; }
StreamFetch read_stream_fetch() noexcept { return stream_fetch_of({}); }
std::string read_machine_name() { return "unknown"; }

#else

constexpr std::array<NamedFeature, 0> feature_names = {};

Features read_features() noexcept { return {}; }
bool read_prefers_512_bit() noexcept { return false; }
StreamFetch read_stream_fetch() noexcept { return stream_fetch_of({}); }
std::string read_machine_name() { return "unknown"; }

#endif

}  // namespace

Features features_of(const CpuidWords& words) noexcept {
  constexpr std::uint64_t ymm_state = 0x06;
  constexpr std::uint64_t zmm_state = 0xe6;
  Features found;
  const bool sse = bit(words.basic_ecx, 19) && bit(words.basic_ecx, 9);  // SSE4.1, SSSE3
  if (sse && bit(words.basic_ecx, 25)) {
    found = found | Feature::aes;
  }
  if (bit(words.basic_ecx, 1)) {
    found = found | Feature::pclmul;
  }
  if ((words.saved_states & ymm_state) == ymm_state && bit(words.basic_ecx, 28)) {
    found = found | Feature::avx;
    if (bit(words.extended_ebx, 5)) {
      found = found | Feature::avx2;
    }
    if (bit(words.extended_ecx, 9)) {
      found = found | Feature::vaes;
    }
    if (bit(words.extended_ecx, 10)) {
      found = found | Feature::vpclmul;
    }
  }
  if (found.contain(Feature::avx2) && (words.saved_states & zmm_state) == zmm_state &&
      bit(words.extended_ebx, 16) && bit(words.extended_ebx, 17) && bit(words.extended_ebx, 30) &&
      bit(words.extended_ebx, 31)) {
    found = found | Feature::avx512;
    if (bit(words.extended_ecx, 1)) {
      found = found | Feature::avx512_vbmi;
    }
  }
  return found;
}

Features features_of(const HwcapWord& word) noexcept {
  constexpr unsigned asimd = 1;  // the vector registers
  constexpr unsigned aes = 3;
  constexpr unsigned pmull = 4;
  constexpr unsigned sha1 = 5;
  constexpr unsigned sha2 = 6;
#if defined(__aarch64__)
  static_assert(HWCAP_ASIMD == 1U << asimd && HWCAP_AES == 1U << aes &&
                HWCAP_PMULL == 1U << pmull && HWCAP_SHA1 == 1U << sha1 && HWCAP_SHA2 == 1U << sha2);
#endif
  Features found;
  if (!bit(word.bits, asimd)) {
    return found;
  }
  // The compilers' "crypto" has the hashes with it.
  if (bit(word.bits, aes) && bit(word.bits, sha1) && bit(word.bits, sha2)) {
    found = found | Feature::armv8_aes;
  }
  if (bit(word.bits, pmull)) {
    found = found | Feature::armv8_pmull;
  }
  return found;
}

const Features& machine_features() noexcept {
  static const Features features = read_features();
  return features;
}

bool machine_prefers_512_bit() noexcept {
  static const bool prefers = read_prefers_512_bit();
  return prefers;
}

StreamFetch stream_fetch_of(std::string_view vendor) noexcept {
  return vendor == intel ? StreamFetch::far : StreamFetch::near;
}

StreamFetch machine_stream_fetch() noexcept {
  static const StreamFetch fetch = read_stream_fetch();
  return fetch;
}

std::span<const NamedFeature> named_features() noexcept { return feature_names; }

std::string missing_features(Features needed) {
  std::string names;
  for (const auto& [feature, name] : feature_names) {
    if (needed.contain(feature) && !machine_features().contain(feature)) {
      names += names.empty() ? name : std::string(", ") + name;
    }
  }
  return names;
}

std::string machine_name() { return read_machine_name(); }

}  // namespace paes
