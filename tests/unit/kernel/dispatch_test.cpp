// SPDX-License-Identifier: Apache-2.0
// Which kernel dispatch chooses on processors that we do not have: feature by feature, with sets
// that make no sense but that hypervisors do show, and with an operating system that saves no
// registers. Whatever is chosen must find every instruction that its file was compiled for.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "compiled_for.hpp"
#include "core/secret.hpp"
#include "kernel_cases.hpp"
#include "reference.hpp"
#include "varied_bytes.hpp"
#include "wide_kernels.hpp"

namespace paes {
namespace {

// Bits of CPUID leaf 1 ECX, leaf 7 EBX, leaf 7 ECX (Intel SDM volume 2, CPUID).
constexpr std::uint32_t pclmul = 1U << 1;
constexpr std::uint32_t ssse3 = 1U << 9;
constexpr std::uint32_t sse41 = 1U << 19;
constexpr std::uint32_t aes = 1U << 25;
constexpr std::uint32_t osxsave = 1U << 27;
constexpr std::uint32_t avx = 1U << 28;
constexpr std::uint32_t avx2 = 1U << 5;
constexpr std::uint32_t avx512f = 1U << 16;
constexpr std::uint32_t avx512dq = 1U << 17;
constexpr std::uint32_t avx512bw = 1U << 30;
constexpr std::uint32_t avx512vl = 1U << 31;
constexpr std::uint32_t vbmi = 1U << 1;
constexpr std::uint32_t vaes = 1U << 9;
constexpr std::uint32_t vpclmul = 1U << 10;

constexpr std::uint32_t all_basic = pclmul | ssse3 | sse41 | aes | osxsave | avx;
constexpr std::uint32_t all_ebx = avx2 | avx512f | avx512dq | avx512bw | avx512vl;
constexpr std::uint32_t all_ecx = vbmi | vaes | vpclmul;
constexpr std::uint64_t no_states = 0;
constexpr std::uint64_t sse_states = 0x03;
constexpr std::uint64_t avx_states = 0x07;
constexpr std::uint64_t zmm_states = 0xe7;

// Bits of AT_HWCAP on Armv8 (Linux, arch/arm64/include/uapi/asm/hwcap.h).
constexpr std::uint64_t asimd = 1U << 1;
constexpr std::uint64_t armv8_aes = 1U << 3;
constexpr std::uint64_t pmull64 = 1U << 4;
constexpr std::uint64_t sha1 = 1U << 5;
constexpr std::uint64_t sha2 = 1U << 6;

#if defined(__aarch64__)
using ProcessorWords = HwcapWord;
#else
using ProcessorWords = CpuidWords;
#endif

struct Machine {
  const char* what;
  ProcessorWords words;
  bool prefers_512_bit;
  const char* kernel;      // AES
  const char* des_kernel;  // 3DES
};

#if defined(__x86_64__)
constexpr Machine machines[] = {
    {"everything", {all_basic, all_ebx, all_ecx, zmm_states}, true, "vaes512", "bitslice_avx512"},
    {"everything, but slow at 512 bits",
     {all_basic, all_ebx, all_ecx, zmm_states},
     false,
     "vaes256",
     "bitslice_avx2"},
    {"everything, 512-bit registers not saved",
     {all_basic, all_ebx, all_ecx, avx_states},
     true,
     "vaes256",
     "bitslice_avx2"},
    {"everything, one of the three 512-bit states not saved",
     {all_basic, all_ebx, all_ecx, 0xa7},
     true,
     "vaes256",
     "bitslice_avx2"},
    {"everything, AVX registers not saved",
     {all_basic, all_ebx, all_ecx, sse_states},
     true,
     "bitslice",
     "bitslice"},
    {"everything, AVX registers not saved but 512-bit ones",
     {all_basic, all_ebx, all_ecx, 0xe3},
     true,
     "bitslice",
     "bitslice"},
    {"everything, no XSAVE",
     {all_basic & ~osxsave, all_ebx, all_ecx, no_states},
     true,
     "bitslice",
     "bitslice"},
    {"VAES with AVX2 alone",
     {all_basic, avx2, vaes | vpclmul, avx_states},
     true,
     "vaes256",
     "bitslice_avx2"},
    {"AVX-512 without VBMI",
     {all_basic, all_ebx, vaes | vpclmul, zmm_states},
     true,
     "vaes256",
     "bitslice_avx512"},
    {"AVX-512 without VL",
     {all_basic, all_ebx & ~avx512vl, all_ecx, zmm_states},
     true,
     "vaes256",
     "bitslice_avx2"},
    {"AVX-512 without AVX2",
     {all_basic, all_ebx & ~avx2, all_ecx, zmm_states},
     true,
     "aesni",
     "bitslice"},
    {"AVX-512 without AVX",
     {all_basic & ~avx, all_ebx, all_ecx, zmm_states},
     true,
     "bitslice",
     "bitslice"},
    {"AVX-512 without VAES",
     {all_basic, all_ebx, vbmi, zmm_states},
     true,
     "aesni",
     "bitslice_avx512"},
    {"VAES without VPCLMULQDQ",
     {all_basic, all_ebx, vbmi | vaes, zmm_states},
     true,
     "aesni",
     "bitslice_avx512"},
    {"VAES without AVX",
     {all_basic & ~avx, avx2, vaes | vpclmul, avx_states},
     true,
     "bitslice",
     "bitslice"},
    {"VAES without AES-NI",
     {all_basic & ~aes, all_ebx, all_ecx, zmm_states},
     true,
     "bitslice",
     "bitslice_avx512"},
    {"AES-NI without PCLMULQDQ",
     {all_basic & ~pclmul, all_ebx, all_ecx, zmm_states},
     true,
     "bitslice",
     "bitslice_avx512"},
    {"AES-NI without SSE4.1",
     {all_basic & ~sse41, all_ebx, all_ecx, zmm_states},
     true,
     "bitslice",
     "bitslice_avx512"},
    {"AES-NI without AVX", {all_basic & ~avx, 0, 0, sse_states}, true, "bitslice", "bitslice"},
    {"AES-NI with AVX", {all_basic, 0, 0, avx_states}, true, "aesni", "bitslice"},
    {"AVX2 without AES-NI",
     {avx | osxsave | sse41 | ssse3, avx2, 0, avx_states},
     true,
     "bitslice",
     "bitslice_avx2"},
    {"nothing", {}, true, "bitslice", "bitslice"},
};
#elif defined(__aarch64__)
constexpr Machine machines[] = {
    {"everything", {~std::uint64_t{0}}, true, "armv8", "bitslice"},
    {"what armv8 needs", {asimd | armv8_aes | pmull64 | sha1 | sha2}, true, "armv8", "bitslice"},
    {"AES without PMULL", {~pmull64}, true, "bitslice", "bitslice"},
    {"PMULL without AES", {~armv8_aes}, true, "bitslice", "bitslice"},
    {"AES and PMULL without SHA-1", {~sha1}, true, "bitslice", "bitslice"},
    {"AES and PMULL without SHA-256", {~sha2}, true, "bitslice", "bitslice"},
    {"everything, vector registers not there", {~asimd}, true, "bitslice", "bitslice"},
    {"AES alone", {asimd | armv8_aes}, true, "bitslice", "bitslice"},
    {"vector registers alone", {asimd}, true, "bitslice", "bitslice"},
    {"nothing", {}, true, "bitslice", "bitslice"},
};
#else
constexpr Machine machines[] = {{"nothing", {}, true, "bitslice", "bitslice"}};
#endif

TEST(Dispatch, ChoosesByTheTable) {
  for (const Machine& machine : machines) {
    const Kernel& chosen =
        best_kernel(Cipher::aes, features_of(machine.words), machine.prefers_512_bit);
    EXPECT_STREQ(chosen.name, machine.kernel) << machine.what;
    const Kernel& des =
        best_kernel(Cipher::des_ede3, features_of(machine.words), machine.prefers_512_bit);
    EXPECT_STREQ(des.name, machine.des_kernel) << machine.what;
  }
}

std::vector<Cipher> ciphers_of_the_table() {
  std::set<Cipher> ciphers;
  for (const Kernel* kernel : all_kernels()) {
    ciphers.insert(kernel->cipher);
  }
  return {ciphers.begin(), ciphers.end()};
}

TEST(Dispatch, ImpliedFeaturesAreThere) {
  // Every combination of the CPUID bits and of the saved states.
  constexpr std::uint32_t basic_bits[] = {pclmul, ssse3, sse41, aes, avx};
  constexpr std::uint32_t ecx_bits[] = {vbmi, vaes, vpclmul};
  constexpr std::uint32_t ebx_sets[] = {
      0, avx2, all_ebx, all_ebx & ~avx2, avx512f, all_ebx & ~avx512bw};
  for (unsigned basic = 0; basic < 32; ++basic) {
    for (unsigned ecx = 0; ecx < 8; ++ecx) {
      for (const std::uint32_t ebx : ebx_sets) {
        for (const std::uint64_t states : {no_states, sse_states, avx_states, zmm_states}) {
          CpuidWords words{osxsave, ebx, 0, states};
          for (unsigned i = 0; i < 5; ++i) {
            words.basic_ecx |= (basic >> i & 1U) != 0 ? basic_bits[i] : 0;
          }
          for (unsigned i = 0; i < 3; ++i) {
            words.extended_ecx |= (ecx >> i & 1U) != 0 ? ecx_bits[i] : 0;
          }
          const CpuFeatures features = features_of(words);
          EXPECT_EQ(test::with_implied(features).bits, features.bits);
        }
      }
    }
  }
}

TEST(Dispatch, FeaturesOfArmv8ByTheAuxiliaryVector) {
  const CpuFeatures both = Feature::armv8_aes | Feature::armv8_pmull;
  const std::uint64_t all = ~std::uint64_t{0};
  EXPECT_EQ(features_of(HwcapWord{all}).bits, both.bits);
  EXPECT_EQ(features_of(HwcapWord{asimd | armv8_aes | pmull64 | sha1 | sha2}).bits, both.bits);
  for (const std::uint64_t one : {armv8_aes, sha1, sha2}) {
    EXPECT_EQ(features_of(HwcapWord{all & ~one}).bits, CpuFeatures(Feature::armv8_pmull).bits);
  }
  EXPECT_EQ(features_of(HwcapWord{all & ~pmull64}).bits, CpuFeatures(Feature::armv8_aes).bits);
  EXPECT_EQ(features_of(HwcapWord{all & ~asimd}).bits, 0U);
  EXPECT_EQ(features_of(HwcapWord{}).bits, 0U);
}

// For every set of features there is a choice, the first of the table that fits, never a kernel
// that leaks; and `openssl` and the like are left to those who name them.
TEST(Dispatch, ChoosesTheFirstThatFitsForEverySetOfFeatures) {
  const auto count = static_cast<unsigned>(named_features().size());
  for (const Cipher cipher : ciphers_of_the_table()) {
    for (unsigned set = 0; set < 1U << count; ++set) {
      CpuFeatures features;
      for (unsigned i = 0; i < count; ++i) {
        if ((set >> i & 1U) != 0) {
          features = features | named_features()[i].feature;
        }
      }
      for (const bool prefers : {false, true}) {
        const Kernel& chosen = best_kernel(cipher, features, prefers);
        ASSERT_EQ(chosen.cipher, cipher);
        ASSERT_EQ(chosen.use, Use::automatic);
        ASSERT_TRUE(features.contain(chosen.needs))
            << chosen.name << ", features " << features.bits;
        ASSERT_TRUE(prefers || !chosen.wants_512_bit);
        for (const Kernel* better : all_kernels()) {
          if (better == &chosen) {
            break;
          }
          const bool fits = better->cipher == cipher && better->use == Use::automatic &&
                            features.contain(better->needs) && (prefers || !better->wants_512_bit);
          ASSERT_FALSE(fits) << better->name << " before " << chosen.name;
        }
      }
    }
  }
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(Dispatch, KernelsNeedWhatTheirFilesAreCompiledFor) {
#define PAES_KERNEL(name, condition, flags) {#name, flags},
  constexpr test::CompiledRow rows[] = {
#include "kernel/compiled_kernels.def"
  };
#undef PAES_KERNEL
  test::expect_needs_of_flags(rows, all_kernels());
}

// Our own detection against the system's.
TEST(Dispatch, FeaturesAreThoseThatTheSystemLists) {
  const std::set<std::string> system = test::system_features();
  ASSERT_FALSE(system.empty());
  const std::map<Feature, std::vector<const char*>> names = {
      {Feature::armv8_aes, {"asimd", "aes", "sha1", "sha2"}},
      {Feature::armv8_pmull, {"asimd", "pmull"}},
      {Feature::aes, {"aes", "sse4_1", "ssse3"}},
      {Feature::pclmul, {"pclmulqdq"}},
      {Feature::avx, {"avx"}},
      {Feature::avx2, {"avx2"}},
      {Feature::vaes, {"vaes"}},
      {Feature::vpclmul, {"vpclmulqdq"}},
      {Feature::avx512, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {Feature::avx512_vbmi, {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi"}},
  };
  for (const auto& [feature, name] : named_features()) {
    ASSERT_TRUE(names.contains(feature)) << name;
    bool is_listed = true;
    for (const char* listed : names.at(feature)) {
      is_listed = is_listed && system.contains(listed);
    }
    EXPECT_EQ(machine_features().contain(feature), is_listed) << name;
  }
}
#endif

TEST(Dispatch, DesignsAreTheVendors) {
  EXPECT_EQ(design_of("GenuineIntel"), Design::intel);
  for (const char* other : {"AuthenticAMD", "HygonGenuine", "CentaurHauls", "  Shanghai  ", ""}) {
    EXPECT_EQ(design_of(other), Design::other) << other;
  }
#if defined(__x86_64__)
  // The name that we read from CPUID against the system's.
  std::ifstream file("/proc/cpuinfo");
  std::string vendor;
  for (std::string line; vendor.empty() && std::getline(file, line);) {
    if (line.starts_with("vendor_id")) {
      vendor = line.substr(line.find(": ") + 2);
    }
  }
  ASSERT_FALSE(vendor.empty());
  EXPECT_EQ(machine_design(), design_of(vendor)) << vendor;
#else
  EXPECT_EQ(machine_design(), Design::other);
#endif
}

// The choices that can run here encrypt as libcrypto does. Those that cannot are named.
TEST(Dispatch, ChosenKernelsAreRight) {
  std::set<const Kernel*> choices;
  for (const Machine& machine : machines) {
    for (const Cipher cipher : ciphers_of_the_table()) {
      choices.insert(&best_kernel(cipher, features_of(machine.words), machine.prefers_512_bit));
    }
  }
  for (const Kernel* kernel : choices) {
    if (const std::string reason = unavailable_reason(*kernel); !reason.empty()) {
      std::cout << test_name(*kernel) << ": not run: " << reason << '\n';
      continue;
    }
    const bool is_aes = kernel->cipher == Cipher::aes;
    const std::size_t size = block_bytes_of(kernel->cipher);
    const std::vector<std::uint8_t> key = test::varied_bytes(is_aes ? 32 : 24, 1);
    Secret<KernelKeys> keys;
    kernel->prepare(key, *keys);
    std::vector<std::uint8_t> counters(999 * size);
    for (std::size_t at = 0; at < counters.size(); at += size) {
      store_be32(counters.data() + at + size - 4, static_cast<std::uint32_t>(at / size));
    }
    const std::vector<std::uint8_t> expected = test::reference_crypt(
        test::reference_name(is_aes, key.size(), "ECB"), true, key, {}, counters);
    std::vector<std::uint8_t> out(counters.size());
    const std::vector<std::uint8_t> zeros(counters.size());
    const CounterBlock counter = {};
    kernel->run(Operation::ctr)(
        *keys, {.text = {zeros.data(), out.data(), out.size()}, .counter = &counter});
    EXPECT_EQ(out, expected) << test_name(*kernel);
    if (kernel->release != nullptr) {
      kernel->release(*keys);
    }
  }
}

}  // namespace
}  // namespace paes
