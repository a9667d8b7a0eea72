// SPDX-License-Identifier: Apache-2.0
// Where a file's text has holes: compared with which blocks were written, for each format's blocks.
#include "volume/change/holes.hpp"

#include <linux/falloc.h>

#include <cerrno>
#include <vector>

#include "comparable_results.hpp"
#include "written_volume.hpp"

namespace paes::volume {
namespace {

using test::random_text;
using test::ScratchFolder;
using test::Text;
using test::WrittenVolume;
using vault::block_bytes;

// Knows no holes.
class DenseBacking final : public Backing {
 public:
  [[nodiscard]] Result<std::uint64_t> next_data(FileRef, std::uint64_t) const override {
    return Errno(EINVAL);
  }
  [[nodiscard]] Result<std::uint64_t> next_hole(FileRef, std::uint64_t) const override {
    return Errno(EINVAL);
  }
};

bool knows_holes(const std::string& folder) {
  const std::string path = folder + "/holes";
  const Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const bool knows = ftruncate(file.number(), 1 << 20) == 0 &&
                     lseek(file.number(), 0, SEEK_DATA) < 0 && errno == ENXIO;
  unlink(path.c_str());
  return knows;
}

// What next_data and next_hole say from each block on and from its middle must fit a map of the
// blocks that have data. `exact`: no hole may be missed.
void expect_map(const WrittenVolume& volume, const WritableFile& file, const std::vector<bool>& map,
                std::uint64_t length, bool exact) {
  for (std::uint64_t offset = 0; offset < length + block_bytes; offset += block_bytes / 2) {
    SCOPED_TRACE(offset);
    const auto next = [&](bool data) {
      std::uint64_t at = offset;
      while (at < length && map[at / block_bytes] != data) {
        at = (at / block_bytes + 1) * block_bytes;
      }
      return std::min(at, length);
    };
    const Result<std::uint64_t> data = next_data(volume.volume(), file, "f", offset);
    const Result<std::uint64_t> hole = next_hole(volume.volume(), file, "f", offset);
    if (offset >= length) {
      EXPECT_EQ(data, ENXIO);
      EXPECT_EQ(hole, ENXIO);
      continue;
    }
    const std::uint64_t data_at = data ? *data : length;
    EXPECT_TRUE(data || data.failed_with(ENXIO)) << data.error();
    ASSERT_TRUE(hole) << hole.error();
    EXPECT_GE(data_at, offset);
    EXPECT_GE(*hole, offset);
    EXPECT_LE(data_at, next(true)) << "data is passed over";
    EXPECT_TRUE(*hole == length || !map[*hole / block_bytes]) << "data is told as a hole";
    if (exact) {
      EXPECT_EQ(data_at, next(true));
      EXPECT_EQ(*hole, next(false));
    }
  }
}

vault::Features features_of(vault::ContentCipher content) {
  vault::Features features;
  features.content = content;
  return features;
}

class Holes : public ::testing::TestWithParam<vault::ContentCipher> {};

TEST_P(Holes, AreThoseThatWereMade) {
  const ScratchFolder scratch;
  if (!knows_holes(scratch.path())) {
    GTEST_SKIP() << "the file system of the tests knows no holes";
  }
  WrittenVolume volume(scratch.path(), features_of(GetParam()));
  const Folder root = volume.root();
  int number = 0;
  for (const std::uint64_t length : {40 * block_bytes, 40 * block_bytes + 100}) {
    for (const std::vector<std::uint64_t>& written : std::vector<std::vector<std::uint64_t>>{
             {}, {0}, {20}, {39}, {10, 11, 12, 13}, {0, 39}, {1}, {3, 20, 21, 22, 30}}) {
      Result<WritableFile> file = volume.create(root, "f" + std::to_string(number++));
      ASSERT_TRUE(file);
      ASSERT_EQ(file->set_length(length, "f"), 0);
      std::vector<bool> map((length + block_bytes - 1) / block_bytes);
      map.back() = length % block_bytes != 0;  // a short block is always stored
      for (const std::uint64_t block : written) {
        ASSERT_EQ(*file->write(block * block_bytes, random_text(block_bytes), "f"), block_bytes);
        map[block] = true;
      }
      // Its first block is stored once it has grown, which is seen where a hole follows.
      expect_map(volume, *file, map, length, written != std::vector<std::uint64_t>{1});
    }
  }
}

TEST_P(Holes, ArePunched) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path(), features_of(GetParam()));
  const Folder root = volume.root();
  Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  const Text text = random_text(100 * block_bytes);
  ASSERT_EQ(*file->write(0, text, "f"), text.size());
  std::vector<bool> map(100, true);
  expect_map(volume, *file, map, text.size(), true);
  for (std::uint64_t block = 0; block < 100; block += 3) {
    ASSERT_EQ(file->allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block * block_bytes,
                             block_bytes, "f"),
              0);
    map[block] = false;
  }
  expect_map(volume, *file, map, text.size(), false);
}

// Where blocks were punched two at a time, the file system has kept the pages in which two pairs
// meet. Both searches have to say the same of a block then, or data of no length are told.
TEST_P(Holes, AlternateWithDataOfSomeLength) {
  constexpr std::uint64_t blocks = 600;
  const ScratchFolder scratch;
  if (!knows_holes(scratch.path())) {
    GTEST_SKIP() << "the file system of the tests knows no holes";
  }
  WrittenVolume volume(scratch.path(), features_of(GetParam()));
  const Folder root = volume.root();
  Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  ASSERT_EQ(*file->write(0, random_text(blocks * block_bytes), "f"), blocks * block_bytes);
  for (std::uint64_t block = 0; block + 2 < blocks; block += 2) {
    ASSERT_EQ(file->allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block * block_bytes,
                             2 * block_bytes, "f"),
              0);
  }
  std::uint64_t told = 0;
  std::uint64_t at = 0;
  while (at < blocks * block_bytes) {
    const Result<std::uint64_t> data = next_data(volume.volume(), *file, "f", at);
    ASSERT_TRUE(data);
    ASSERT_GE(*data, at);
    const Result<std::uint64_t> hole = next_hole(volume.volume(), *file, "f", *data);
    ASSERT_TRUE(hole);
    ASSERT_GT(*hole, *data);
    told += *hole - *data;
    at = *hole;
  }
  EXPECT_LE(told, 10 * block_bytes) << "holes are told as data";
}

TEST_P(Holes, AreNotToldWhereNobodyKnowsThem) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path(), features_of(GetParam()), std::make_unique<DenseBacking>());
  const Folder root = volume.root();
  Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->set_length(200 * block_bytes, "f"), 0);
  ASSERT_EQ(*file->write(150 * block_bytes, random_text(block_bytes), "f"), block_bytes);
  std::vector<bool> map(200);
  map[150] = true;
  expect_map(volume, *file, map, 200 * block_bytes, false);
}

TEST(HolesOfNothing, AFileWithoutTextHasNone) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(next_data(volume.volume(), *file, "f", 0), ENXIO);
  EXPECT_EQ(next_hole(volume.volume(), *file, "f", 0), ENXIO);
}

INSTANTIATE_TEST_SUITE_P(, Holes,
                         ::testing::Values(vault::ContentCipher::aes_256_gcm,
                                           vault::ContentCipher::xchacha20_poly1305));

}  // namespace
}  // namespace paes::volume
