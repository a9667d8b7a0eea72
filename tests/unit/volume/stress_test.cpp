// SPDX-License-Identifier: Apache-2.0
// Many threads at once on one file and on the same names; above all for ThreadSanitizer.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "comparable_results.hpp"
#include "sanitized.hpp"
#include "written_volume.hpp"

namespace paes::volume::test {
namespace {

using paes::test::is_sanitized;
using vault::block_bytes;

constexpr std::uint8_t writers = 3;
constexpr int rounds = is_sanitized ? 60 : 600;
constexpr std::size_t file_blocks = 40;

// A block's text is one byte again and again, so that a read that sees two of them has seen a block
// that was half written.
bool is_uniform(Bytes block) {
  return std::all_of(block.begin(), block.end(),
                     [&](std::uint8_t byte) { return byte == block[0]; });
}

TEST(Stress, ReadersSeeWholeBlocksWhileOthersWrite) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  {
    Result<WritableFile> file = volume.create(root, "f");
    ASSERT_TRUE(file);
    ASSERT_EQ(*file->write(0, Text(file_blocks * block_bytes, 1), "f"), file_blocks * block_bytes);
  }
  std::atomic<int> failures{0};
  std::vector<std::jthread> threads;
  for (std::uint8_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      Result<WritableFile> file = volume.open(root, "f");
      std::mt19937_64 random(writer);
      for (int round = 0; file && round < rounds; ++round) {
        const std::size_t block = random() % file_blocks;
        const std::size_t count = 1 + random() % 8;
        const Text text(count * block_bytes, static_cast<std::uint8_t>(2 + writer));
        const Result<std::size_t> written = file->write(block * block_bytes, text, "f");
        failures += written && *written == text.size() ? 0 : 1;
      }
      failures += file ? 0 : 1;
    });
  }
  threads.emplace_back([&] {
    Result<WritableFile> file = volume.open(root, "f");
    std::mt19937_64 random(77);
    for (int round = 0; file && round < rounds; ++round) {
      switch (random() % 4) {
        case 0:
          failures += file->set_length(random() % (file_blocks / 2) * block_bytes, "f") != 0;
          break;
        case 1:
          failures += file->set_length(file_blocks * block_bytes, "f") != 0;
          break;
        case 2:
          failures += file->set_length(0, "f") != 0;
          break;
        default:
          failures += file->sync(true) != 0;
      }
    }
  });
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&, reader] {
      const Result<WritableFile> file = volume.open(root, "f");
      std::mt19937_64 random(100 + static_cast<std::uint64_t>(reader));
      Text text(5 * block_bytes);
      for (int round = 0; file && round < rounds; ++round) {
        const std::size_t block = random() % file_blocks;
        const Result<std::size_t> read = file->read(block * block_bytes, text, "f");
        failures += read && *read % block_bytes == 0 ? 0 : 1;
        for (std::size_t at = 0; read && at < *read; at += block_bytes) {
          failures += is_uniform(Bytes(text).subspan(at, block_bytes)) ? 0 : 1;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(volume.findings(), std::vector<std::string>{});
  EXPECT_EQ(fsck_findings(volume.volume()), std::vector<std::string>{});
}

TEST(Stress, NamesAreMadeMovedAndRemovedAtOnce) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  const std::array<std::string, 3> names = {"a", std::string(200, 'b'), "c"};
  std::atomic<int> unexpected{0};
  const auto expect = [&](Result<void> done, std::initializer_list<int> usual) {
    unexpected += std::find(usual.begin(), usual.end(), errno_of(done)) == usual.end() ? 1 : 0;
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t number = 0; number < 4; ++number) {
      threads.emplace_back([&, number] {
        std::mt19937_64 random(number);
        WritableVolume& writable = volume.writable();
        for (int round = 0; round < rounds; ++round) {
          const std::string& name = names[random() % names.size()];
          const std::string& other = names[random() % names.size()];
          switch (random() % 6) {
            case 0:
              expect(Result<void>(volume.create(root, name)), {0, EEXIST});
              break;
            case 1:
              expect(make_folder(writable, root, name, {.mode = 0755, .owner = {}}), {0, EEXIST});
              break;
            case 2:
              expect(remove_file(writable, root, name), {0, ENOENT, EISDIR});
              break;
            case 3:
              expect(remove_folder(writable, root, name), {0, ENOENT, ENOTDIR, ENOTEMPTY});
              break;
            case 4:
              expect(rename(writable, root, name, root, other, 0),
                     {0, ENOENT, EISDIR, ENOTDIR, ENOTEMPTY});
              break;
            default:
              if (const Result<Folder> folder = volume.folder(root, name); folder) {
                expect(rename(writable, root, other, *folder, other, RENAME_NOREPLACE),
                       {0, ENOENT, EEXIST, EINVAL});
              }
          }
        }
      });
    }
  }
  EXPECT_EQ(unexpected, 0);
  EXPECT_EQ(fsck_findings(volume.volume()), std::vector<std::string>{});
}

}  // namespace
}  // namespace paes::volume::test
