// SPDX-License-Identifier: Apache-2.0
// Secret memory: wiped before the system gets it back, out of core dumps, locked. The test program
// brings its own munmap, which looks at the pages before it lets them go.
#include "core/secret.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <new>
#include <set>
#include <sstream>
#include <vector>

namespace {

#if defined(__SANITIZE_ADDRESS__)  // GCC's name for it
#define PAES_TEST_HAS_ASAN 1
#elif defined(__has_feature)
#define PAES_TEST_HAS_ASAN __has_feature(address_sanitizer)
#else
#define PAES_TEST_HAS_ASAN 0
#endif
// AddressSanitizer makes mlock do nothing.
constexpr bool mlock_is_real = PAES_TEST_HAS_ASAN == 0;

// Set by a test to the page that it expects to be unmapped.
const void* watched_page = nullptr;
bool watched_page_was_released = false;
bool watched_page_was_zero = false;

}  // namespace

extern "C" int munmap(void* address, std::size_t bytes) noexcept {
  if (address == watched_page && watched_page != nullptr) {
    const auto* memory = static_cast<const std::uint8_t*>(address);
    watched_page_was_released = true;
    watched_page_was_zero =
        std::all_of(memory, memory + bytes, [](std::uint8_t byte) { return byte == 0; });
    watched_page = nullptr;
  }
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}

namespace paes {
namespace {

void watch(const void* page) {
  watched_page = page;
  watched_page_was_released = false;
  watched_page_was_zero = false;
}

struct Key {
  std::uint8_t bytes[48];
};

// The VmFlags of the mapping that holds `address` (proc(5), smaps).
std::string mapping_flags(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream fields(line);
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (fields >> std::hex >> first >> dash >> end && dash == '-') {
      inside = first <= wanted && wanted < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return {};
}

TEST(Secret, ObjectsAreWipedBeforeTheirPageIsReleased) {
  {
    Secret<Key> secret;
    std::fill(std::begin(secret->bytes), std::end(secret->bytes), std::uint8_t{0xa5});
    watch(&*secret);
  }
  EXPECT_TRUE(watched_page_was_released);
  EXPECT_TRUE(watched_page_was_zero);
}

TEST(Secret, PagesThatAreKeptAreWipedAndGivenBackAtTheEnd) {
  {
    const SecretPagesKept kept;
    const void* page = nullptr;
    {
      Secret<Key> secret;
      std::fill(std::begin(secret->bytes), std::end(secret->bytes), std::uint8_t{0xa5});
      page = &*secret;
      watch(page);
    }
    EXPECT_FALSE(watched_page_was_released);
    const SecretBytes longer(5000);  // of two pages, so it does not get that one
    EXPECT_NE(longer.data(), page);
    const Secret<Key> next;
    EXPECT_EQ(&*next, page);
    EXPECT_TRUE(std::all_of(std::begin(next->bytes), std::end(next->bytes),
                            [](std::uint8_t byte) { return byte == 0; }));
  }
  EXPECT_TRUE(watched_page_was_released);
}

TEST(Secret, TheWatchSeesWhatIsNotWiped) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  *static_cast<volatile std::uint8_t*>(page) = 1;
  watch(page);
  ASSERT_EQ(munmap(page, 4096), 0);
  EXPECT_TRUE(watched_page_was_released);
  EXPECT_FALSE(watched_page_was_zero);
}

TEST(Secret, BytesAreWipedToTheEndAfterATruncation) {
  {
    SecretBytes secret(std::vector<std::uint8_t>(10000, 0xa5));
    watch(secret.data());
    secret.truncate(3);
    EXPECT_EQ(secret.size(), 3u);
    EXPECT_EQ(secret.data()[2], 0xa5);
    EXPECT_EQ(secret.data()[3], 0);  // still mapped: the capacity stays
    EXPECT_EQ(secret.data()[9999], 0);
  }
  EXPECT_TRUE(watched_page_was_released);
  EXPECT_TRUE(watched_page_was_zero);
}

TEST(Secret, AssigningOverASecretWipesIt) {
  Secret<Key> kept;
  Secret<Key> other;
  kept->bytes[0] = 1;
  other->bytes[0] = 2;
  watch(&*kept);
  kept = std::move(other);
  EXPECT_TRUE(watched_page_was_released);
  EXPECT_TRUE(watched_page_was_zero);
  EXPECT_EQ(kept->bytes[0], 2);
}

TEST(Secret, MovingBytesMovesTheirMemory) {
  SecretBytes first(std::vector<std::uint8_t>{1, 2, 3});
  const std::uint8_t* memory = first.data();
  SecretBytes second(std::move(first));
  EXPECT_EQ(second.data(), memory);
  EXPECT_EQ(second.size(), 3u);
  SecretBytes third;
  third = std::move(second);
  EXPECT_EQ(third.data(), memory);
}

TEST(Secret, NewSecretsAreZero) {
  const Secret<Key> secret;
  const SecretBytes bytes(5000);
  EXPECT_TRUE(std::all_of(std::begin(secret->bytes), std::end(secret->bytes),
                          [](std::uint8_t byte) { return byte == 0; }));
  EXPECT_TRUE(std::all_of(bytes.data(), bytes.data() + bytes.size(),
                          [](std::uint8_t byte) { return byte == 0; }));
}

// An emulator of programs may say yes to madvise and do nothing.
bool dont_dump_is_real() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)madvise(page, 4096, MADV_DONTDUMP);
  const std::string flags = mapping_flags(page);
  (void)munmap(page, 4096);
  return flags.find(" dd ") != std::string::npos;
}

TEST(Secret, StaysOutOfCoreDumpsAndOutOfSwap) {
  if (!dont_dump_is_real()) {
    GTEST_SKIP() << "not run: madvise does nothing here, as under qemu-user";
  }
  const Secret<Key> secret;
  const std::string flags = mapping_flags(&*secret);
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
  if (!mlock_is_real) {
    GTEST_SKIP() << "not run: AddressSanitizer takes mlock away";
  }
  if (secret_locking_fell_short()) {
    GTEST_SKIP() << "not run: RLIMIT_MEMLOCK allows no locked page here";
  }
  EXPECT_NE(flags.find(" lo "), std::string::npos) << flags;
}

// Exits 0 if a lock limit of zero is noticed and the secret is usable all the same.
[[noreturn]] void make_a_secret_without_locked_memory() {
  const rlimit none{0, 0};
  bool limited = setrlimit(RLIMIT_MEMLOCK, &none) == 0;
  if (geteuid() == 0) {  // the limit does not bind root
    constexpr uid_t nobody = 65534;
    limited = limited && setresuid(nobody, nobody, nobody) == 0;
  }
  const bool before = secret_locking_fell_short();
  Secret<Key> secret;
  secret->bytes[0] = 1;
  _exit(limited && !before && secret_locking_fell_short() ? 0 : 1);
}

// In a process of its own, since the limit and the flag stay.
TEST(SecretDeathTest, AMemoryLockLimitIsNoticedAndSurvived) {
  if (!mlock_is_real) {
    GTEST_SKIP() << "not run: AddressSanitizer takes mlock away";
  }
  EXPECT_EXIT(make_a_secret_without_locked_memory(), testing::ExitedWithCode(0), "");
}

TEST(Secret, WipeOnExitWipesWhenAnExceptionLeaves) {
  std::array<std::uint8_t, 8> memory;
  memory.fill(9);
  try {
    const WipeOnExit wiped(memory);
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(memory, (std::array<std::uint8_t, 8>{}));
}

TEST(Secret, RandomBytesFillAllOfTheirSpan) {
  std::array<std::uint8_t, 64> first{};
  std::array<std::uint8_t, 64> second{};
  random_bytes(first);
  random_bytes(second);
  EXPECT_NE(first, second);
  // 64 bytes have no run of 8 zeros but once in 2^58.
  EXPECT_EQ(std::search_n(first.begin(), first.end(), 8, std::uint8_t{0}), first.end());
}

using Drawn = std::array<std::uint8_t, 16>;

Drawn drawn() {
  Drawn bytes{};
  random_bytes(bytes);
  return bytes;
}

TEST(RandomBytesAtOnce, NoBytesComeTwice) {
  std::set<Drawn> all;
  {
    const RandomBytesAtOnce outer;
    for (int i = 0; i < 20; ++i) {
      all.insert(drawn());
      const RandomBytesAtOnce inner;
      all.insert(drawn());
    }
    std::array<std::uint8_t, 1000> longer{};
    random_bytes(longer);
    EXPECT_NE(longer, decltype(longer){});
    all.insert(drawn());
  }
  all.insert(drawn());
  EXPECT_EQ(all.size(), 42U);
}

TEST(RandomBytesAtOnce, AChildDrawsItsOwn) {
  const RandomBytesAtOnce at_once;
  (void)drawn();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  const Drawn here = drawn();
  if (child == 0) {
    _exit(write(ends[1], here.data(), here.size()) == static_cast<ssize_t>(here.size()) ? 0 : 1);
  }
  Drawn there{};
  ASSERT_EQ(read(ends[0], there.data(), there.size()), static_cast<ssize_t>(there.size()));
  EXPECT_NE(here, there);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  (void)close(ends[0]);
  (void)close(ends[1]);
}

TEST(RandomBytesAtOnce, IsWipedWhereItWasDrawnAndAtTheEnd) {
  alignas(RandomBytesAtOnce) std::array<std::uint8_t, sizeof(RandomBytesAtOnce)> memory{};
  const auto holds = [&](const Drawn& bytes) {
    return std::search(memory.begin(), memory.end(), bytes.begin(), bytes.end()) != memory.end();
  };
  auto* const at_once = new (memory.data()) RandomBytesAtOnce;
  const Drawn first = drawn();
  EXPECT_FALSE(holds(first));
  Drawn next{};
  const auto at =
      std::find_if(memory.begin(), memory.end(), [](std::uint8_t byte) { return byte != 0; });
  ASSERT_LT(at - memory.begin(), 100);
  std::copy_n(at, next.size(), next.begin());
  EXPECT_TRUE(holds(next));
  at_once->~RandomBytesAtOnce();
  EXPECT_FALSE(holds(next));
}

}  // namespace
}  // namespace paes
