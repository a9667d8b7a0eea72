// SPDX-License-Identifier: Apache-2.0
// What the differential tests run: each kernel in each mode and direction that it has, and how much
// of the work a kernel of its speed is given. Reading which kernel was exercised is part of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "kernel_cases.hpp"
#include "message/raw_key.hpp"
#include "paes/error.hpp"
#include "reference.hpp"
#include "sanitized.hpp"
#include "varied_bytes.hpp"
#include "wide_kernels.hpp"

namespace paes::test {

using Buffer = std::vector<std::uint8_t>;

// Builds with sanitizers or without optimisation look for other faults than wrong bytes, ten times
// slower. An emulated processor is as slow; PAES_EFFORT=small says so of one that looks real.
enum class Effort { small, normal, deep };

inline Effort effort() {
#if defined(PAES_TEST_IS_EMULATED) || !defined(__OPTIMIZE__)
  return Effort::small;
#else
  if (is_sanitized) {
    return Effort::small;
  }
  const char* const wanted = std::getenv("PAES_EFFORT");
  if (wanted != nullptr && std::string(wanted) == "small") {
    return Effort::small;
  }
  return std::getenv("PAES_EXHAUSTIVE") != nullptr ? Effort::deep : Effort::normal;
#endif
}

// A kernel in one mode and direction.
struct Subject {
  const Kernel* kernel;
  Mode mode;
  Direction direction;

  [[nodiscard]] bool is_aes() const { return kernel->cipher == Cipher::aes; }
  [[nodiscard]] Operation operation() const { return row_of(mode).operation(direction); }
  [[nodiscard]] std::size_t block_size() const { return block_bytes_of(kernel->cipher); }
  [[nodiscard]] std::vector<std::size_t> key_sizes() const {
    if (!is_aes()) {
      return {24};
    }
    return mode == Mode::xts ? std::vector<std::size_t>{32, 64}
                             : std::vector<std::size_t>{16, 24, 32};
  }
  [[nodiscard]] Buffer iv(std::uint64_t seed) const {
    return mode == Mode::ecb ? Buffer() : varied_bytes(block_size(), seed);
  }
  [[nodiscard]] Buffer reference(Bytes key, Bytes iv, Bytes in, std::size_t unit_bytes = 0) const {
    return reference_raw(kernel->cipher, mode, direction, key, iv, in, unit_bytes);
  }
  // One message computes one lane of a chain; the kernel's others idle.
  [[nodiscard]] bool is_slow() const {
    const std::string name = kernel->name;
    return name == "compute" || is_emulated(*kernel) ||
           (formula_of(operation()).is_chained() && name.starts_with("bitslice"));
  }
  // With AES instructions of our own behind it: `openssl` would be held against itself.
  [[nodiscard]] bool is_fast() const {
    const std::string name = kernel->name;
    return is_aes() && !is_emulated(*kernel) && name != "compute" && name != "tables" &&
           name != "bitslice" && name != "openssl";
  }
  [[nodiscard]] std::string name() const {
    return test_name(*kernel) + " " + row_of(mode).name +
           (direction == Direction::encrypt ? " encryption" : " decryption");
  }
};

inline Exercised& exercised() {
  static Exercised kernels;
  return kernels;
}

// Every subject of this machine; of one kernel if it is given. An emulated device under a sanitizer
// would take ten minutes, and the tests of src/kernel and src/cuda look at it there.
inline std::vector<Subject> subjects(const Kernel* only = nullptr) {
  std::vector<Subject> found;
  for (const Kernel* kernel : all_tested_kernels()) {
    if ((only != nullptr && kernel != only) || !unavailable_reason(*kernel).empty() ||
        (only == nullptr && is_sanitized && is_emulated(*kernel))) {
      continue;
    }
    for (const ModeRow& row : modes) {
      const auto mode = static_cast<Mode>(&row - modes);
      const Subject encryption{kernel, mode, Direction::encrypt};
      try {
        const RawKey key(kernel->cipher, mode, Buffer(encryption.key_sizes()[0]), *kernel);
      } catch (const Error&) {
        continue;  // the mode is not for this cipher, or the kernel lacks it
      }
      // Chained modes are no device's work.
      if (!is_emulated(*kernel) || !formula_of(encryption.operation()).is_chained()) {
        found.push_back(encryption);
      }
      found.push_back({kernel, mode, Direction::decrypt});
    }
  }
  return found;
}

// All of a message in one call.
inline void crypt_whole(const RawKey& key, Direction direction, Bytes iv, Bytes in,
                        MutableBytes out) {
  RawPosition position = key.start(iv);
  key.crypt(direction, position, in, out, serial_executor(), std::max<std::size_t>(in.size(), 1));
}

// A seed that is told when its test fails: SCOPED_TRACE(seed.text()). The deep mode takes new ones
// each time; PAES_SEED repeats one.
class Seed {
 public:
  Seed() {
    if (const char* given = std::getenv("PAES_SEED"); given != nullptr) {
      value_ = std::strtoull(given, nullptr, 0);
    } else if (effort() == Effort::deep) {
      value_ = (std::uint64_t{std::random_device()()} << 32) | std::random_device()();
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }
  [[nodiscard]] std::string text() const {
    return "to repeat: PAES_SEED=" + std::to_string(value_);
  }

 private:
  std::uint64_t value_ = 20231124;
};

}  // namespace paes::test
