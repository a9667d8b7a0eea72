// SPDX-License-Identifier: Apache-2.0
// The limits of this processor's execution ports: how many cycles the AES round, the carry-less
// multiplication, the instructions of ChaCha20 and Poly1305, and mixtures take if nothing else
// limits them. docs/log/kernels.md takes its limits from this program. Cycles are derived from a
// chain of dependent additions (one a cycle), so no counter of the machine is needed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#if defined(__x86_64__)

namespace {

constexpr int repetitions = 400000;

double seconds_of(void (*body)()) {
  std::vector<double> runs;
  for (int run = 0; run < 9; ++run) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    runs.push_back(taken.count());
  }
  return *std::min_element(runs.begin(), runs.end());  // the undisturbed run is the port's limit
}

// One round of instructions over independent registers. zmm31 holds a constant that nobody reads.
#define AES(r) "vaesenc %%zmm31, %%zmm" #r ", %%zmm" #r "\n\t"
#define MULTIPLY(r) "vpclmulqdq $0, %%zmm31, %%zmm" #r ", %%zmm" #r "\n\t"
#define EXOR(r) "vpxord %%zmm31, %%zmm" #r ", %%zmm" #r "\n\t"
#define SHUFFLE(r) "vpshufb %%zmm31, %%zmm" #r ", %%zmm" #r "\n\t"
#define ADD(r) "vpaddd %%zmm31, %%zmm" #r ", %%zmm" #r "\n\t"
#define ROTATE(r) "vprold $7, %%zmm" #r ", %%zmm" #r "\n\t"
#define ADD_EXOR_ROTATE(r) ADD(r) EXOR(r) ROTATE(r)
#define MULTIPLY_ADD(r) "vpmadd52luq %%zmm31, %%zmm31, %%zmm" #r "\n\t"
#define EIGHT(o) o(0) o(1) o(2) o(3) o(4) o(5) o(6) o(7)
#define AES12(o) \
  AES(0)         \
  AES(1)         \
  AES(2) o(12) AES(3) AES(4) AES(5) o(13) AES(6) AES(7) AES(8) o(14) AES(9) AES(10) AES(11) o(15)
// Registers 16 and up need not be listed, because nothing here is compiled for AVX-512.
#define ZMM_0_TO_15                                                                        \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define NONE(r)
#define ROW(text)                           \
  [] {                                      \
    for (int i = 0; i < repetitions; ++i) { \
      asm volatile(text : : : ZMM_0_TO_15); \
    }                                       \
  }

struct Row {
  const char* name;
  void (*body)();
};

const Row rows[] = {
    {"12 AES rounds", ROW(AES12(NONE))},
    {"8 multiplications", ROW(EIGHT(MULTIPLY))},
    {"8 XORs", ROW(EIGHT(EXOR))},
    {"8 byte shuffles", ROW(EIGHT(SHUFFLE))},
    {"8 rotations", ROW(EIGHT(ROTATE))},
    {"8 multiply-adds of 52 bits", ROW(EIGHT(MULTIPLY_ADD))},
    {"8 additions, XORs and rotations", ROW(EIGHT(ADD_EXOR_ROTATE))},
    {"12 AES rounds, 4 multiplications", ROW(AES12(MULTIPLY))},
    {"12 AES rounds, 4 XORs", ROW(AES12(EXOR))},
    {"12 AES rounds, 4 byte shuffles", ROW(AES12(SHUFFLE))},
    {"7 AES rounds, 3 XORs, 1 byte shuffle",
     ROW(AES(0) EXOR(12) AES(1) AES(2) SHUFFLE(13) AES(3) AES(4) EXOR(14) AES(5) AES(6) EXOR(15))},
};

}  // namespace

int main() {
  if (!__builtin_cpu_supports("vpclmulqdq") || !__builtin_cpu_supports("vaes") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512ifma")) {
    std::puts("not measured: this processor lacks VAES, VPCLMULQDQ, AVX-512 or its IFMA");
    return 0;
  }
  const double cycle =
      seconds_of([] {
        unsigned long sum = 0;
        for (int i = 0; i < repetitions; ++i) {
          asm volatile("add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0" : "+r"(sum));
        }
      }) /
      (4.0 * repetitions);
  std::printf("%.2f GHz; cycles on 512-bit registers:\n", 1e-9 / cycle);
  for (const Row& row : rows) {
    std::printf("  %-38s %6.2f\n", row.name, seconds_of(row.body) / repetitions / cycle);
  }
  return 0;
}

#else

int main() { std::puts("not measured: only x86-64 has these instructions"); }

#endif
