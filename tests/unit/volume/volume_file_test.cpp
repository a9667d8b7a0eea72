// SPDX-License-Identifier: Apache-2.0
// The text of files, at all offsets and lengths that mean something to blocks.
#include "volume/read/volume_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "comparable_results.hpp"
#include "made_volume.hpp"
#include "volume/read/link.hpp"

namespace paes::volume {
namespace {

using test::varied_bytes;

File open_file(const MadeVolume& made, const Volume& volume, const std::string& path) {
  return {volume, Descriptor(open(made.stored(path).c_str(), O_RDONLY | O_CLOEXEC))};
}

// What is read at `offset` into so much room, or nothing after an error, which goes to `error`.
Text read_at(const File& file, std::uint64_t offset, std::size_t room, int* error = nullptr) {
  Text into(room, 0xee);
  const Result<std::size_t> bytes = file.read(offset, into, "f");
  if (error != nullptr) {
    *error = errno_of(bytes);
  } else {
    EXPECT_TRUE(bytes) << bytes.error();
  }
  if (!bytes) {
    return {};
  }
  EXPECT_TRUE(std::all_of(into.begin() + static_cast<std::ptrdiff_t>(*bytes), into.end(),
                          [](std::uint8_t byte) { return byte == 0xee; }))
      << "written beyond the answer";
  into.resize(*bytes);
  return into;
}

Text part_of(const Text& text, std::uint64_t offset, std::size_t room) {
  const std::size_t from = std::min<std::uint64_t>(offset, text.size());
  const std::size_t to = std::min(text.size(), from + room);
  return {text.begin() + static_cast<std::ptrdiff_t>(from),
          text.begin() + static_cast<std::ptrdiff_t>(to)};
}

class FileOfEachVolume : public testing::TestWithParam<NamedFeatures> {};
INSTANTIATE_TEST_SUITE_P(, FileOfEachVolume, testing::ValuesIn(all_features()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(FileOfEachVolume, TextComesBackAtEveryEdge) {
  MadeVolume made(GetParam().features);
  const Volume volume = made.open([](const Finding& finding) { ADD_FAILURE() << finding.what; });
  const std::size_t edges[] = {0,    1,    2,    15,   17,   18,   31,   32,   33,    4063, 4064,
                               4095, 4096, 4097, 4127, 4128, 4129, 8191, 8192, 12288, 12345};
  for (const std::size_t size : edges) {
    const Text text = varied_bytes(size, size);
    made.file("f", text);
    const File fresh = open_file(made, volume, "f");
    const Result<struct stat> status = volume.backing().status(fresh.descriptor());
    ASSERT_TRUE(status);
    EXPECT_EQ(length_of(volume, *status, fresh.descriptor()), size);
    for (const std::size_t offset : edges) {
      // Each file once with an id that is known already, and once without.
      const File file = open_file(made, volume, "f");
      for (const std::size_t room : edges) {
        ASSERT_EQ(read_at(fresh, offset, room), part_of(text, offset, room))
            << size << " bytes, " << room << " at " << offset;
        ASSERT_EQ(read_at(file, offset, room), part_of(text, offset, room));
      }
    }
  }
}

TEST(VolumeFile, LongReadsAndHugeOffsets) {
  MadeVolume made;
  const Text text = varied_bytes((std::size_t{3} << 20) + 777, 1);
  made.file("f", text);
  const Volume volume = made.open();
  const File file = open_file(made, volume, "f");
  EXPECT_EQ(read_at(file, 0, text.size() + 100), text);
  EXPECT_EQ(read_at(file, 5, std::size_t{2} << 20), part_of(text, 5, std::size_t{2} << 20));
  for (const std::uint64_t offset : {std::uint64_t{1} << 40, std::uint64_t{1} << 62,
                                     std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_TRUE(read_at(file, offset, 10).empty()) << offset;
  }
}

TEST(VolumeFile, ManyThreadsReadOneFile) {
  MadeVolume made;
  const Text text = varied_bytes(300'000, 2);
  made.file("f", text);
  const Volume volume = made.open();
  const File file = open_file(made, volume, "f");
  std::vector<std::thread> threads;
  for (std::uint64_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      for (std::uint64_t offset = first * 1000; offset < text.size(); offset += 7001) {
        EXPECT_EQ(read_at(file, offset, 20'000), part_of(text, offset, 20'000));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(VolumeFile, HolesAreZeros) {
  MadeVolume made;
  const vault::BlockLayout layout = made.content().layout();
  Text text = varied_bytes(5 * vault::block_bytes + 100, 3);
  Text stored = made.sealed(text);
  for (const std::size_t block : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(block * vault::block_bytes),
                vault::block_bytes, 0);
    std::fill_n(stored.begin() + static_cast<std::ptrdiff_t>(layout.offset_of(block)),
                layout.stride(), 0);
  }
  made.file("f", text);
  MadeVolume::write(made.stored("f"), stored);
  const Volume volume = made.open();
  const File file = open_file(made, volume, "f");
  EXPECT_EQ(read_at(file, 0, text.size()), text);
  EXPECT_EQ(read_at(file, 4000, 9000), part_of(text, 4000, 9000));
}

TEST(VolumeFile, OnlyAHeaderIsNoText) {
  MadeVolume made;
  made.file("f", varied_bytes(10, 4));
  const Volume volume = made.open();
  const File file = open_file(made, volume, "f");
  EXPECT_EQ(read_at(file, 0, 100).size(), 10U);
  for (const std::size_t length : {std::size_t{0}, vault::header_bytes}) {
    std::filesystem::resize_file(made.stored("f"), length);
    EXPECT_TRUE(read_at(file, 0, 100).empty());
    EXPECT_TRUE(read_at(open_file(made, volume, "f"), 0, 100).empty());
    EXPECT_TRUE(read_at(open_file(made, volume, "f"), 5000, 100).empty());
  }
}

TEST(VolumeFile, GrowsFromEmptyAndIsRewrittenWhileItIsOpen) {
  MadeVolume made;
  made.file("f", {});
  Findings findings;
  const Volume volume = made.open(findings.report());
  const File file = open_file(made, volume, "f");
  EXPECT_TRUE(read_at(file, 0, 100).empty());
  for (std::uint64_t seed = 5; seed < 9; ++seed) {
    // The file stays the same; its id and its text do not.
    const Text text = varied_bytes(10'000, seed);
    made.file("f", text);
    EXPECT_EQ(read_at(file, seed == 6 ? 5000 : 0, 20'000),
              part_of(text, seed == 6 ? 5000 : 0, 20'000));
  }
  EXPECT_EQ(findings.take(), std::vector<std::string>{});
}

// The blocks before the damaged one are read, and those after it; it is reported once for a read.
TEST(VolumeFile, OneDamagedBlockIsNamedAndKeptBack) {
  MadeVolume made;
  const Text text = varied_bytes(6 * vault::block_bytes + 50, 6);
  made.file("f", text);
  Text stored = MadeVolume::read(made.stored("f"));
  const vault::BlockLayout layout = made.content().layout();
  stored[static_cast<std::size_t>(layout.offset_of(3)) + 1000] ^= 4;
  MadeVolume::write(made.stored("f"), stored);
  Findings findings;
  const Volume volume = made.open(findings.report());
  const File file = open_file(made, volume, "f");
  const auto fails = [&](std::uint64_t offset, std::size_t room) {
    int error = 0;
    EXPECT_TRUE(read_at(file, offset, room, &error).empty());
    EXPECT_EQ(error, EIO);
    EXPECT_EQ(findings.take(), std::vector<std::string>{"f: block 3 is not authentic"});
  };
  fails(0, text.size());
  fails(3 * vault::block_bytes, 1);
  fails(3 * vault::block_bytes + 4095, 1);
  fails(2 * vault::block_bytes + 5, 2 * vault::block_bytes);
  fails(3 * vault::block_bytes + 5, 3 * vault::block_bytes);
  EXPECT_EQ(read_at(file, 0, 3 * vault::block_bytes), part_of(text, 0, 3 * vault::block_bytes));
  EXPECT_EQ(read_at(file, 4 * vault::block_bytes, 90'000),
            part_of(text, 4 * vault::block_bytes, 90'000));
  EXPECT_EQ(findings.take(), std::vector<std::string>{});
  // Nothing of the damaged block is left in the caller's memory.
  Text into(vault::block_bytes * 5, 0);
  EXPECT_FALSE(file.read(2 * vault::block_bytes, into, "f"));
  EXPECT_TRUE(std::all_of(into.begin() + vault::block_bytes, into.end(),
                          [](std::uint8_t byte) { return byte == 0; }));
}

}  // namespace
}  // namespace paes::volume
