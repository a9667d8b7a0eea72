// SPDX-License-Identifier: Apache-2.0
// What the parts of gpu_tests share: how much they do, how they compare, and every parallel mode
// with every size of key. Plain C++, because the machine with the GPU may have no GoogleTest.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "cuda/device_kernel.hpp"
#include "cuda/runtime.hpp"
#include "exec/executor.hpp"
#include "kernel/registry.hpp"
#include "message/raw_key.hpp"
#include "on_threads.hpp"
#include "varied_bytes.hpp"

namespace paes::test {

using Buffer = std::vector<std::uint8_t>;

enum class Effort {
  full,
  reduced,  // under compute-sanitizer, a hundred times slower
};

// Counts what was compared, and tells what was not equal.
class Checks {
 public:
  void is_equal(Bytes found, Bytes expected, const std::string& what) {
    is_true(
        found.size() == expected.size() && std::equal(found.begin(), found.end(), expected.begin()),
        what);
  }
  // The answer is `good`, for a caller who cannot go on otherwise.
  bool is_true(bool good, const std::string& what) {
    ++made_;
    if (!good && ++failed_ <= most_told) {
      const std::lock_guard lock(mutex_);
      std::printf("FAILED: %s\n", what.c_str());
    }
    return good;
  }
  [[nodiscard]] std::size_t made() const { return made_; }
  [[nodiscard]] std::size_t failed() const { return failed_; }

 private:
  static constexpr std::size_t most_told = 20;
  std::atomic<std::size_t> made_{0};
  std::atomic<std::size_t> failed_{0};
  std::mutex mutex_;
};

struct RawSubject {
  Cipher cipher;
  Mode mode;
  Direction direction;
  std::size_t key_bytes;  // XTS: of both keys

  [[nodiscard]] Operation operation() const { return row_of(mode).operation(direction); }
  [[nodiscard]] std::size_t block_size() const { return block_bytes_of(cipher); }
  [[nodiscard]] Buffer key() const { return varied_bytes(key_bytes, 1000 + key_bytes); }
  [[nodiscard]] std::string name() const {
    const std::size_t bits = 8 * (mode == Mode::xts ? key_bytes / 2 : key_bytes);
    return (cipher == Cipher::aes ? "aes-" + std::to_string(bits) : "des-ede3") + "-" +
           row_of(mode).name + (direction == Direction::encrypt ? " encryption" : " decryption");
  }
};

// Every mode and direction that is parallel; CTR, the same in both, once.
inline std::vector<RawSubject> raw_subjects(Cipher cipher) {
  std::vector<RawSubject> subjects;
  for (const ModeRow& row : modes) {
    const auto mode = static_cast<Mode>(&row - modes);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      if (formula_of(row.operation(direction)).is_chained() ||
          (row.encrypt == row.decrypt && direction == Direction::decrypt) ||
          (row.has_units && cipher != Cipher::aes)) {
        continue;
      }
      const std::vector<std::size_t> sizes = cipher != Cipher::aes ? std::vector<std::size_t>{24}
                                             : row.has_units ? std::vector<std::size_t>{32, 64}
                                                             : std::vector<std::size_t>{16, 24, 32};
      for (const std::size_t key_bytes : sizes) {
        subjects.push_back({cipher, mode, direction, key_bytes});
      }
    }
  }
  return subjects;
}

// The processor's fastest kernel that has the mode: what the device is held against.
inline RawKey processor_key(const RawSubject& subject, std::size_t unit_bytes = 0) {
  const ModeRow& row = row_of(subject.mode);
  const Kernel& kernel = best_kernel(subject.cipher, [&](const Kernel& candidate) {
    return candidate.has(row.encrypt) && candidate.has(row.decrypt);
  });
  return RawKey(subject.cipher, subject.mode, subject.key(), kernel, unit_bytes);
}

// All of a message in one call.
inline void crypt_whole(const RawKey& key, Direction direction, Bytes iv, Bytes in,
                        MutableBytes out) {
  RawPosition position = key.start(iv);
  key.crypt(direction, position, in, out, serial_executor(), std::max<std::size_t>(in.size(), 1));
}

// The parts of gpu_tests.
void test_rows(Checks& checks, Effort effort);
void test_device(Checks& checks, Effort effort);
void test_long_messages(Checks& checks, Effort effort);

}  // namespace paes::test
