// SPDX-License-Identifier: Apache-2.0
// What the raw modes take beside the caller's buffers does not grow with the message: XTS with the
// smallest data units has as many tweaks as blocks.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "exec/thread_pool.hpp"
#include "kernel/registry.hpp"
#include "message/raw_key.hpp"
#include "sanitized.hpp"

namespace paes {
namespace {

// The most memory since the last reset, in KiB; nothing where the system does not tell.
std::size_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %llu", &kib) == 1) {
      return static_cast<std::size_t>(kib);
    }
  }
  return 0;
}

TEST(RawMemory, ManyUnitsTakeNoMoreThanFew) {
  constexpr std::size_t text_bytes = std::size_t{32} << 20;
  const std::vector<std::uint8_t> key_bytes = [] {
    std::vector<std::uint8_t> bytes(32);
    bytes[0] = 1;  // two halves
    return bytes;
  }();
  const RawKey key(Cipher::aes, Mode::xts, key_bytes, best_kernel(Cipher::aes), block_bytes);
  const auto executor = make_thread_pool(2);
  executor->start();
  std::vector<std::uint8_t> text(text_bytes);
  const std::vector<std::uint8_t> number(block_bytes);
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  const std::size_t before_kib = peak_kib();
  for (const std::size_t piece : {std::size_t{1} << 20, text_bytes}) {
    RawPosition position = key.start(number);
    key.crypt(Direction::encrypt, position, text, text, *executor, piece);
    EXPECT_EQ(load_le<std::uint64_t>(std::get<UnitNumber>(position.next).bytes),
              text_bytes / block_bytes);
  }
  if (before_kib == 0) {
    GTEST_SKIP() << "not run: no VmHWM in /proc/self/status";
  }
  if (test::is_sanitized) {
    GTEST_SKIP() << "not run: a sanitizer's shadow grows with what is touched";
  }
  EXPECT_LT(peak_kib(), before_kib + (text_bytes >> 12));  // a quarter of the text
}

}  // namespace
}  // namespace paes
