// SPDX-License-Identifier: Apache-2.0
// Blocks sealed with IV and keystream made ahead: they open as any block does, on every kernel and
// from any number of threads; no IV comes twice; and where nothing can be made ahead, or in a
// forked child, blocks are sealed as without.
#include "volume/change/sealing_ahead.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "comparable_results.hpp"
#include "message/cipher_name.hpp"
#include "paes/error.hpp"
#include "sanitized.hpp"
#include "vault/content_cipher.hpp"
#include "written_volume.hpp"

namespace paes::volume::test {
namespace {

using paes::test::is_sanitized;
using vault::block_bytes;

constexpr std::size_t iv_bytes = 16;
constexpr vault::BlockLayout layout = {.iv_bytes = iv_bytes};
const vault::FileId file_id = {7, 6, 5};

SecretBytes content_key() { return fixed_key().content_key({}); }

struct Sealer {
  explicit Sealer(unsigned blocks = 16, const Kernel& kernel = a_kernel(),
                  SealingAhead::Maker maker = SealingAhead::Maker::fill)
      : key(vault::make_content_key(vault::ContentCipher::aes_256_gcm, content_key(), kernel)),
        ahead(content_key(), kernel, blocks, maker) {}

  // Seals, opens and compares. The block's IV, or nothing.
  [[nodiscard]] Text sealed_iv(std::uint64_t number, const Text& text) const {
    Text sealed(text.size() + layout.overhead());
    const vault::BlockPlace place = {number, &file_id};
    Text opened(text.size());
    if (!ahead.seal(place, text, sealed) || !vault::open_block(*key, place, sealed, opened) ||
        opened != text) {
      return {};
    }
    sealed.resize(iv_bytes);
    return sealed;
  }

  std::unique_ptr<vault::ContentKey> key;
  SealingAhead ahead;
};

std::uint64_t found(const KeystreamUse& use) { return use.own + use.other + use.bypassed; }

void fill(const SealingAhead& ahead, std::chrono::milliseconds time = std::chrono::seconds(60)) {
  ahead.fill(std::chrono::steady_clock::now() + time);
}

// Whole blocks and shorter ones, every other one with its keystream made ahead. False: one was not
// sealed, does not open, or has an IV from before.
bool seal_some(const Sealer& sealer, std::set<Text>& ivs, std::uint64_t blocks) {
  for (std::uint64_t number = 0; number < blocks; ++number) {
    if (number % 8 < 4) {
      fill(sealer.ahead);
    }
    const std::size_t bytes = number % 5 == 4 ? 1 + number % block_bytes : block_bytes;
    const Text iv = sealer.sealed_iv(number, random_text(bytes, number));
    if (iv.empty() || !ivs.insert(iv).second) {
      return false;
    }
  }
  return true;
}

TEST(SealingAhead, BlocksOpenOnEveryKernel) {
  for (const Kernel* kernel : all_kernels()) {
    if (!unavailable_reason(*kernel).empty() ||
        !has_cipher(*kernel, find_cipher_name("aes-256-gcm"))) {
      continue;
    }
    const Sealer sealer(16, *kernel);
    std::set<Text> ivs;
    EXPECT_TRUE(seal_some(sealer, ivs, 80)) << kernel->name;
    // Half of the first 32 do. After that the engine may find that it does not pay on a busy
    // machine.
    EXPECT_GE(found(sealer.ahead.use()), 12U) << kernel->name;
  }
}

// Another key's IVs are others: each mount has its own.
TEST(SealingAhead, NoIvComesTwice) {
  constexpr unsigned threads = 4;
  constexpr std::uint64_t blocks = is_sanitized ? 200 : 4000;
  const Sealer one(8, a_kernel(), SealingAhead::Maker::a_thread);
  const Sealer other(64, a_kernel(), SealingAhead::Maker::a_thread);
  std::vector<std::vector<Text>> of_threads(threads);
  {
    std::vector<std::jthread> workers;
    for (unsigned thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        for (std::uint64_t number = 0; number < blocks; ++number) {
          const Text text = random_text(64, number);  // short: many IVs in little time
          of_threads[thread].push_back((number % 2 == 0 ? one : other).sealed_iv(number, text));
        }
      });
    }
  }
  std::set<Text> ivs;
  for (const std::vector<Text>& of_thread : of_threads) {
    ivs.insert(of_thread.begin(), of_thread.end());
  }
  EXPECT_EQ(ivs.size(), threads * blocks);
  EXPECT_FALSE(ivs.contains(Text())) << "a block that was not sealed, or does not open";
}

// A function of the number under which some have no IV that the format knows.
class SomeZero final : public keystream::MessageIvs {
 public:
  [[nodiscard]] std::size_t bytes() const noexcept override { return iv_bytes; }
  void make(std::uint64_t message, std::uint8_t* iv) const noexcept override {
    std::fill_n(iv, iv_bytes, std::uint8_t{0});
    iv[0] = static_cast<std::uint8_t>(message % 4 == 1 || message % 4 == 2 ? 0 : message);
  }
};

TEST(SealingAhead, NumbersWhoseIvIsZeroAreSkipped) {
  const SealingAhead ahead(content_key(), a_kernel(), 4, SealingAhead::Maker::fill,
                           std::make_unique<SomeZero>());
  std::vector<std::uint8_t> first_bytes;
  for (int i = 0; i < 5; ++i) {
    Text sealed(100 + layout.overhead());
    ASSERT_TRUE(ahead.seal({1, &file_id}, Text(100), sealed));
    first_bytes.push_back(sealed[0]);
  }
  EXPECT_EQ(first_bytes, (Text{3, 4, 7, 8, 11})) << "number 0 has an IV of zeros, too";
}

TEST(SealingAhead, AForkedChildSealsNothing) {
  const Sealer sealer(16, a_kernel(), SealingAhead::Maker::a_thread);
  const Text text(block_bytes, 0x41);
  ASSERT_FALSE(sealer.sealed_iv(0, text).empty());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Text sealed(layout.stride(), 0x17);
    const bool has_sealed = sealer.ahead.seal({1, &file_id}, text, sealed);
    _exit((has_sealed ? 1 : 0) | (sealed != Text(layout.stride(), 0x17) ? 2 : 0));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(sealer.sealed_iv(1, text).empty());
}

TEST(SealingAhead, MemoryIsBoundedByTheNumberOfBlocks) {
  for (const unsigned blocks : {1U, 16U, 100U}) {
    const Sealer sealer(blocks);
    std::set<Text> ivs;
    ASSERT_TRUE(seal_some(sealer, ivs, 40)) << blocks;
    const KeystreamStatistics statistics = sealer.ahead.statistics();
    EXPECT_LE(statistics.memory_bytes, SealingAhead::memory_bytes(blocks));
    EXPECT_GT(statistics.keystream_bytes, 0U);
  }
  EXPECT_LE(SealingAhead::memory_bytes(64), std::size_t{64} * 4416 + 65536);
}

// The least address space with which this process goes on as it is.
rlim_t address_space() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// The system refuses the memory for keystream: every block is computed at once.
TEST(SealingAhead, WithoutMemoryBlocksAreComputedAtOnce) {
  if (is_sanitized) {
    GTEST_SKIP() << "sanitizers need address space of their own";
  }
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  // Memory that this test takes itself is there already, and goes back before it is taken.
  std::vector<std::uint8_t> kept(std::size_t{1} << 16);
  struct rlimit tight = before;
  const Sealer sealer(SealingAhead::max_blocks);
  tight.rlim_cur = address_space();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  kept = {};
  bool all_open = true;
  const Text text(block_bytes, 3);
  constexpr std::uint64_t blocks = 2000;
  for (std::uint64_t number = 0; number < blocks; ++number) {
    fill(sealer.ahead, std::chrono::milliseconds(1));
    all_open = all_open && !sealer.sealed_iv(number, text).empty();
  }
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_TRUE(all_open);
  EXPECT_LT(found(sealer.ahead.use()), blocks);
  EXPECT_GT(sealer.ahead.use().direct, 0U);
}

// The IVs of all whole blocks that the stored file has.
std::vector<Text> ivs_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const Text stored((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<Text> ivs;
  for (std::size_t at = vault::header_bytes; at + layout.overhead() < stored.size();
       at += layout.stride()) {
    const auto begin = stored.begin() + static_cast<std::ptrdiff_t>(at);
    ivs.emplace_back(begin, begin + iv_bytes);
  }
  return ivs;
}

// Writes of all lengths and places against a model, and no IV twice in all that was ever stored.
TEST(SealingAhead, FilesAreAsWithout) {
  const ScratchFolder scratch;
  const SealingAhead ahead(content_key(), a_kernel(), 16, SealingAhead::Maker::fill);
  WrittenVolume volume(scratch.path(), {.has_plaintext_names = true}, std::make_unique<Backing>(),
                       SavedBlocks::where_room_may_end, OtherWriters::none, &ahead);
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  std::mt19937_64 random(5);
  Text model = random_text(20 * block_bytes, 1);  // more blocks than there is keystream for
  fill(ahead);
  ASSERT_EQ(*file->write(0, model, "f"), model.size());
  std::set<Text> seen;
  for (int round = 0; round < (is_sanitized ? 40 : 400); ++round) {
    if (random() % 2 == 0) {
      fill(ahead);
    }
    const std::size_t offset = random() % (20 * block_bytes);
    const bool is_aligned = random() % 2 == 0;
    const std::size_t at = is_aligned ? offset / block_bytes * block_bytes : offset;
    const Text text =
        random_text(is_aligned ? (1 + random() % 4) * block_bytes : 1 + random() % 9000, random());
    ASSERT_EQ(*file->write(at, text, "f"), text.size());
    model.resize(std::max(model.size(), at + text.size()));
    std::copy(text.begin(), text.end(), model.begin() + static_cast<std::ptrdiff_t>(at));
    if (random() % 8 == 0) {
      model.resize(random() % (22 * block_bytes) + 1);
      ASSERT_EQ(file->set_length(model.size(), "f"), 0);
    }
    const std::vector<Text> now = ivs_of(scratch.path() + "/f");
    const std::set<Text> distinct(now.begin(), now.end());
    const auto holes = static_cast<std::size_t>(std::count(now.begin(), now.end(), Text(iv_bytes)));
    ASSERT_EQ(distinct.size() + (holes > 0 ? holes - 1 : 0), now.size());
    seen.insert(now.begin(), now.end());
  }
  EXPECT_EQ(text_of(*file), model);
  EXPECT_GT(seen.size(), 100U);
  const KeystreamUse use = ahead.use();
  EXPECT_GT(found(use), 0U);
  EXPECT_GT(use.direct, 0U);
  EXPECT_TRUE(volume.findings().empty());
  EXPECT_TRUE(fsck_findings(volume.volume()).empty());
}

}  // namespace
}  // namespace paes::volume::test
