// The nonce allocator: numbers never come twice, through crashes, threads, processes and forks.
#include "paes/nonces.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "core/bytes.hpp"
#include "subject.hpp"

namespace paes::test {
namespace {

class Nonces : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "noncesXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  [[nodiscard]] std::string file() const { return folder + "/counter"; }

  std::string folder;
};

std::uint64_t number_of(const Nonce& nonce) {
  return load_be64(nonce.counter + (nonce.counter_bytes == 16 ? 4 : 0));
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

TEST_F(Nonces, DamageAndOtherCiphersAreRefused) {
  { (void)NonceAllocator::in_file(NonceCipher::aes, file()).allocate(); }
  EXPECT_EQ(code_of([&] { (void)NonceAllocator::in_file(NonceCipher::des_ede3, file()); }),
            ErrorCode::corrupt);
  std::filesystem::resize_file(file(), 23);
  EXPECT_EQ(code_of([&] { (void)NonceAllocator::in_file(NonceCipher::aes, file()); }),
            ErrorCode::corrupt);
  EXPECT_EQ(code_of([&] { (void)NonceAllocator::in_file(NonceCipher::aes, folder + "/no/where"); }),
            ErrorCode::failure);
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
