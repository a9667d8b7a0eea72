// SPDX-License-Identifier: Apache-2.0
// The nonce allocator: numbers never come twice, through crashes, threads, processes and forks.
#include "paes/nonces.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "core/bytes.hpp"
#include "keystream_subject.hpp"
#include "without_call.hpp"

namespace paes::test {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t record_bytes = 32;

std::uint64_t number_of(const Nonce& nonce) {
  return load_be64(nonce.counter + (nonce.counter_bytes == 16 ? 4 : 0));
}

class Nonces : public testing::Test {
 protected:
  void SetUp() override {
    // In memory where that can be, for syncs by the ten thousand.
    const std::string memory = "/dev/shm/";
    std::string pattern =
        (access(memory.c_str(), W_OK) == 0 ? memory : testing::TempDir()) + "noncesXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  [[nodiscard]] std::string file() const { return folder + "/counter"; }
  [[nodiscard]] Buffer content() const {
    std::ifstream stream(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void replace(const Buffer& bytes) const {
    std::ofstream stream(file(), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    stream.close();
    ASSERT_EQ(chmod(file().c_str(), 0600), 0);
  }

  [[nodiscard]] ErrorCode refused(NonceCipher cipher) const {
    return code_of([&] { (void)NonceAllocator::in_file(cipher, file()); });
  }
  // The number after the last that was handed out.
  [[nodiscard]] std::uint64_t use_some(NonceCipher cipher) const {
    NonceAllocator nonces = NonceAllocator::in_file(cipher, file());
    std::uint64_t last = 0;
    for (int i = 0; i < 10; ++i) {
      last = number_of(nonces.allocate());
    }
    return last + 1;
  }
  [[nodiscard]] std::uint64_t next_number(NonceCipher cipher = NonceCipher::aes) const {
    return number_of(NonceAllocator::in_file(cipher, file()).allocate());
  }

  std::string folder;
};

TEST_F(Nonces, AFileSystemThatRefusesLinksAndFlags) {
  for (const int error : {EPERM, EACCES, EINVAL, ENOSYS, EOPNOTSUPP, EXDEV, EMLINK}) {
    EXPECT_EQ(
        run_without({SYS_renameat2, SYS_linkat}, error,
                    [&] { (void)NonceAllocator::in_file(NonceCipher::aes, file()).allocate(); }),
        "")
        << error;
    EXPECT_EQ(content().size(), 2 * page_bytes);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    ASSERT_EQ(unlink(file().c_str()), 0);
  }
}

TEST_F(Nonces, DifferAndLeaveTheirBlockCounterAtZero) {
  NonceAllocator nonces = NonceAllocator::in_process();
  std::set<Buffer> seen;
  for (int i = 0; i < 20000; ++i) {
    const Nonce nonce = nonces.allocate();
    ASSERT_EQ(nonce.limit_bytes, std::uint64_t{1} << 36);
    ASSERT_EQ(load_be32(nonce.counter + 12), 0U);
    ASSERT_TRUE(seen.insert(Buffer(nonce.counter, nonce.counter + 12)).second);
  }
  NonceAllocator others = NonceAllocator::in_process();
  const Nonce nonce = others.allocate();
  EXPECT_TRUE(seen.insert(Buffer(nonce.counter, nonce.counter + 12)).second);
}

// Each part that is drawn differs. 32 bits are, so that of three allocators two may have the same
// ones, but not all.
TEST_F(Nonces, OfOtherAllocatorsHaveNothingInCommon) {
  std::set<std::uint32_t> of_process;
  std::set<std::uint32_t> of_file;
  std::set<std::uint64_t> first_numbers;
  for (int i = 0; i < 3; ++i) {
    const Nonce nonce = NonceAllocator::in_process().allocate();
    of_process.insert(load_be32(nonce.counter));
    first_numbers.insert(number_of(nonce));
    of_file.insert(load_be32(NonceAllocator::in_file(NonceCipher::aes, file()).allocate().counter));
    ASSERT_EQ(unlink(file().c_str()), 0);
  }
  EXPECT_GT(of_process.size(), 1U);
  EXPECT_EQ(first_numbers.size(), 3U);
  EXPECT_GT(of_file.size(), 1U);
}

TEST_F(Nonces, AFileGoesOnAfterAnyEnd) {
  std::set<Buffer> seen;
  for (int run = 0; run < 5; ++run) {
    // Opened before there are two who could truncate it.
    const int channel = open((folder + "/seen").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(channel, 0);
    // A crash: what has been written is what there is.
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      NonceAllocator nonces = NonceAllocator::in_file(NonceCipher::aes, file());
      for (int i = 0; i < 5000; ++i) {
        const Nonce nonce = nonces.allocate();
        if (write(channel, nonce.counter, 12) != 12) {
          _exit(2);
        }
      }
      _exit(0);  // without any destructor
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    Buffer bytes(12);
    int count = 0;
    for (; pread(channel, bytes.data(), 12, count * 12) == 12; ++count) {
      ASSERT_TRUE(seen.insert(bytes).second) << "run " << run << ", " << count;
    }
    ASSERT_EQ(count, 5000);
    (void)close(channel);
  }
}

TEST_F(Nonces, OneAllocatorAFile) {
  const NonceAllocator first = NonceAllocator::in_file(NonceCipher::aes, file());
  EXPECT_EQ(code_of([&] { (void)NonceAllocator::in_file(NonceCipher::aes, file()); }),
            ErrorCode::failure);
}

TEST_F(Nonces, ForksFailClosed) {
  NonceAllocator in_process = NonceAllocator::in_process();
  NonceAllocator in_file = NonceAllocator::in_file(NonceCipher::aes, file());
  (void)in_process.allocate();
  (void)in_file.allocate();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    _exit((code_of([&] { (void)in_process.allocate(); }) != ErrorCode::failure ? 1 : 0) |
          (code_of([&] { (void)in_file.allocate(); }) != ErrorCode::failure ? 2 : 0));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  (void)in_process.allocate();
  (void)in_file.allocate();
}

TEST_F(Nonces, Of3DesAreRangesThatDoNotOverlap) {
  std::uint64_t end = 0;
  for (int run = 0; run < 3; ++run) {
    NonceAllocator nonces = NonceAllocator::in_file(NonceCipher::des_ede3, file());
    for (const std::uint64_t bytes : {1U, 8U, 9U, 4096U, 100000U, 8U << 20}) {
      const Nonce nonce = nonces.allocate(bytes);
      EXPECT_GE(number_of(nonce), end);
      EXPECT_GE(nonce.limit_bytes, bytes);
      EXPECT_EQ(nonce.first_counter().size(), 8U);
      end = number_of(nonce) + nonce.limit_bytes / 8;
    }
    EXPECT_EQ(code_of([&] { (void)nonces.allocate((8U << 20) + 1); }), ErrorCode::usage);
    EXPECT_EQ(code_of([&] { (void)nonces.allocate(0); }), ErrorCode::usage);
  }
}

TEST_F(Nonces, ThreadsGetDifferentOnes) {
  NonceAllocator nonces = NonceAllocator::in_file(NonceCipher::aes, file());
  std::vector<std::vector<std::uint64_t>> numbers(4);
  {
    std::vector<std::jthread> threads;
    for (auto& of_thread : numbers) {
      threads.emplace_back([&] {
        for (int i = 0; i < 3000; ++i) {
          of_thread.push_back(number_of(nonces.allocate()));
        }
      });
    }
  }
  std::set<std::uint64_t> all;
  for (const auto& of_thread : numbers) {
    all.insert(of_thread.begin(), of_thread.end());
  }
  EXPECT_EQ(all.size(), 12000U);
}

TEST_F(Nonces, OtherCiphersAndNoFilesAreRefused) {
  { (void)NonceAllocator::in_file(NonceCipher::aes, file()).allocate(); }
  EXPECT_EQ(refused(NonceCipher::des_ede3), ErrorCode::corrupt);
  EXPECT_EQ(code_of([&] { (void)NonceAllocator::in_file(NonceCipher::aes, folder + "/no/where"); }),
            ErrorCode::failure);
}

// A file that lost its contents would count from the beginning again.
TEST_F(Nonces, EmptyAndCutAndLongerFilesAreRefused) {
  replace({});
  EXPECT_EQ(refused(NonceCipher::des_ede3), ErrorCode::corrupt);
  EXPECT_EQ(refused(NonceCipher::aes), ErrorCode::corrupt);
  std::filesystem::remove(file());
  { (void)NonceAllocator::in_file(NonceCipher::aes, file()).allocate(); }
  const Buffer whole = content();
  ASSERT_EQ(whole.size(), 8192U);
  for (const std::size_t size : {0U, 1U, 23U, 24U, 31U, 32U, 4096U, 8191U, 8193U, 12288U}) {
    Buffer other = whole;
    other.resize(size);
    replace(other);
    EXPECT_EQ(refused(NonceCipher::aes), ErrorCode::corrupt) << size;
  }
}

// Each byte, damaged, is either noticed or does not bring a number back.
TEST_F(Nonces, NoDamageBringsANumberBack) {
  const std::uint64_t used = use_some(NonceCipher::aes);
  const Buffer whole = content();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const std::uint8_t bits : {std::uint8_t{1}, std::uint8_t{0x80}, std::uint8_t{0xff}}) {
      Buffer damaged = whole;
      damaged[at] = static_cast<std::uint8_t>(damaged[at] ^ bits);
      replace(damaged);
      ASSERT_GE(next_number(), used) << at;
      // The same in both records: nothing is left that could be believed.
      if (at < record_bytes) {
        damaged[page_bytes + at] = static_cast<std::uint8_t>(damaged[page_bytes + at] ^ bits);
        replace(damaged);
        ASSERT_EQ(refused(NonceCipher::aes), ErrorCode::corrupt) << at;
      }
    }
  }
}

// A crash tears a write: of one record a beginning is new, or an end, and the other is whole.
TEST_F(Nonces, ATornWriteBringsNoNumberBack) {
  const std::uint64_t used = use_some(NonceCipher::aes);
  const Buffer before = content();
  (void)use_some(NonceCipher::aes);
  const Buffer after = content();
  for (const bool first : {true, false}) {
    for (std::size_t split = 0; split <= record_bytes; ++split) {
      for (const bool beginning : {true, false}) {
        Buffer torn = before;
        if (!first) {
          std::copy_n(after.begin(), page_bytes, torn.begin());
        }
        const std::size_t at = first ? 0 : page_bytes;
        const std::size_t from = at + (beginning ? 0 : split);
        const std::size_t to = at + (beginning ? split : record_bytes);
        std::copy(after.begin() + static_cast<std::ptrdiff_t>(from),
                  after.begin() + static_cast<std::ptrdiff_t>(to),
                  torn.begin() + static_cast<std::ptrdiff_t>(from));
        replace(torn);
        // What the torn write was to cover had not been handed out.
        ASSERT_GE(next_number(), used) << first << split << beginning;
        ASSERT_EQ(next_number() % 4096, 0U) << "it was not mended";
      }
    }
  }
}

// The first format had no checksum, and no release wrote it.
TEST_F(Nonces, ARecordWithoutChecksumIsRefused) {
  replace({'p',  'a', 'e', 's', 'n', 'c', '1', static_cast<std::uint8_t>(NonceCipher::aes),
           0xfe, 1,   2,   3,   0,   0,   0,   0,
           0,    0,   0,   0,   0,   1,   0,   0});
  EXPECT_EQ(refused(NonceCipher::aes), ErrorCode::corrupt);
}

TEST_F(Nonces, OnlyAFileOfOnesOwnIsOpened) {
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(refused(NonceCipher::aes), ErrorCode::failure);
  std::filesystem::remove(file());
  { (void)NonceAllocator::in_file(NonceCipher::aes, folder + "/other"); }
  std::filesystem::create_symlink(folder + "/other", file());
  EXPECT_EQ(refused(NonceCipher::aes), ErrorCode::failure);
  std::filesystem::remove(file());
  (void)use_some(NonceCipher::aes);
  struct stat status = {};
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(chmod(file().c_str(), 0620), 0);
  EXPECT_EQ(refused(NonceCipher::aes), ErrorCode::failure);
  ASSERT_EQ(chmod(file().c_str(), 0600), 0);
  if (geteuid() != 0) {
    GTEST_SKIP() << "a file of another user's: only root can make one";
  }
  ASSERT_EQ(chown(file().c_str(), 65534, 65534), 0);
  EXPECT_EQ(refused(NonceCipher::aes), ErrorCode::failure);
}

// Killed at each of its calls of the system, from the first to the last: what it leaves opens, and
// what it handed out never comes again.
TEST_F(Nonces, KilledAtAnyMomentItBringsNoNumberBack) {
  auto* const handed_out = static_cast<std::atomic<std::uint64_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(handed_out, MAP_FAILED);
  bool is_at_end = false;
  for (int stops = 0; !is_at_end; ++stops) {
    ASSERT_LT(stops, 1000);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    handed_out->store(0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
        _exit(77);
      }
      (void)raise(SIGSTOP);
      NonceAllocator nonces = NonceAllocator::in_file(NonceCipher::des_ede3, file());
      for (int i = 0; i < 3; ++i) {
        const Nonce nonce = nonces.allocate(8 * 4000);
        handed_out->store(number_of(nonce) + 4000);
      }
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
      GTEST_SKIP() << "processes cannot be traced here";
    }
    for (int i = 0; i < stops && !is_at_end; ++i) {
      ASSERT_EQ(ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), 0);
      ASSERT_EQ(waitpid(child, &status, 0), child);
      is_at_end = WIFEXITED(status);
    }
    if (!is_at_end) {
      ASSERT_EQ(kill(child, SIGKILL), 0);
      ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    NonceAllocator nonces = NonceAllocator::in_file(NonceCipher::des_ede3, file());
    ASSERT_GE(number_of(nonces.allocate(8)), handed_out->load()) << stops;
  }
  (void)munmap(handed_out, 4096);
}

TEST_F(Nonces, ManyAtOnceMakeOneFile) {
  for (int round = 0; round < 50; ++round) {
    std::filesystem::remove(file());
    std::vector<pid_t> children;
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    for (int i = 0; i < 4; ++i) {
      children.push_back(fork());
      ASSERT_GE(children.back(), 0);
      if (children.back() == 0) {
        char byte = 0;
        (void)close(pipe_ends[1]);
        if (read(pipe_ends[0], &byte, 1) != 0) {  // until all are there
          _exit(2);
        }
        std::optional<NonceAllocator> nonces;
        while (!nonces) {
          if (code_of([&] { nonces = NonceAllocator::in_file(NonceCipher::aes, file()); }) ==
              ErrorCode::corrupt) {
            _exit(1);
          }
        }
        _exit(0);
      }
    }
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_EQ(status, 0);
    }
    // And no other: nothing of those who were late is left.
    const std::filesystem::directory_iterator found(folder);
    ASSERT_EQ(std::distance(begin(found), end(found)), 1);
  }
}

// A nonce's counters are its own: its last block, and not one more.
TEST_F(Nonces, AContextEndsWhereTheNextNonceBegins) {
  NonceAllocator nonces = NonceAllocator::in_process();
  const Nonce nonce = nonces.allocate();
  KeystreamEngine engine;
  KeystreamContext context = engine.open(engine.bind("aes-128-ctr", key_for("aes-128-ctr")),
                                         nonce.first_counter(), {.limit_bytes = nonce.limit_bytes});
  Buffer block(17);
  EXPECT_EQ(code_of([&] { context.encrypt(nonce.limit_bytes - 16, block, block); }),
            ErrorCode::usage);
  block.pop_back();
  context.encrypt(nonce.limit_bytes - 16, block, block);
}

}  // namespace
}  // namespace paes::test
