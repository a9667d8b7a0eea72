// SPDX-License-Identifier: Apache-2.0
// A volume's file that is written: lengths, holes, several handles, and what is left when the
// backing file system gives up in the middle.
#include "volume/change/writable_file.hpp"

#include <linux/falloc.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "comparable_results.hpp"
#include "written_volume.hpp"

namespace paes::volume {
namespace {

using test::random_text;
using test::ScratchFolder;
using test::Text;
using test::text_of;
using test::WrittenVolume;
using vault::block_bytes;

// Writes at most so many bytes, then says `error`; as a file system that is full and takes room
// also for what is written over. So its volumes have to save all blocks.
class FullBacking final : public Backing {
 public:
  mutable std::int64_t room = -1;  // negative: all there is
  int error = ENOSPC;

  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    if (room < 0) {
      return Backing::write(file, offset, from);
    }
    if (room == 0) {
      room = -1;  // what is put back finds room
      return Errno(error);
    }
    const auto bytes = std::min(from.size(), static_cast<std::size_t>(room));
    room -= static_cast<std::int64_t>(bytes);
    return Backing::write(file, offset, from.first(bytes));
  }
};

// A file system that is full but for so many pages, as tmpfs and ext4 are: what the file has
// already can be written over, and everything else is refused for as long as it is full.
class NearlyFullBacking final : public Backing {
 public:
  mutable std::int64_t pages = -1;  // negative: all there are

  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    if (pages < 0) {
      return Backing::write(file, offset, from);
    }
    constexpr std::size_t page_bytes = 4096;
    std::size_t done = 0;
    while (done < from.size()) {
      std::size_t next = test::bytes_without_room(file, offset + done, from.size() - done);
      if (next == 0) {
        if (pages == 0) {
          break;
        }
        --pages;
        next = std::min(from.size() - done, page_bytes - (offset + done) % page_bytes);
      }
      const Result<std::size_t> written =
          Backing::write(file, offset + done, from.subspan(done, next));
      if (!written) {
        return written;
      }
      done += *written;
    }
    return done == 0 ? Errno(ENOSPC) : Result<std::size_t>(done);
  }
};

Text overlaid(Text text, std::size_t offset, const Text& with) {
  if (text.size() < offset + with.size()) {
    text.resize(offset + with.size());
  }
  std::copy(with.begin(), with.end(), text.begin() + static_cast<std::ptrdiff_t>(offset));
  return text;
}

// Sizes and offsets at and around the ends of blocks.
constexpr std::size_t places[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 12289};

TEST(WritableFile, KeepsWhatIsWrittenAnywhere) {
  const vault::ContentCipher ciphers[] = {vault::ContentCipher::aes_256_gcm,
                                          vault::ContentCipher::xchacha20_poly1305,
                                          vault::ContentCipher::aes_siv};
  for (const vault::ContentCipher cipher : ciphers) {
    const ScratchFolder scratch;
    WrittenVolume volume(scratch.path(), {.content = cipher});
    const Folder root = volume.root();
    int number = 0;
    for (const std::size_t length : places) {
      for (const std::size_t offset : places) {
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{5000}}) {
          Result<WritableFile> file = volume.create(root, "f" + std::to_string(number++));
          ASSERT_TRUE(file);
          const Text before = random_text(length, 2);
          const Text with = random_text(bytes, 3);
          ASSERT_EQ(*file->write(0, before, "f"), length);
          ASSERT_EQ(*file->write(offset, with, "f"), bytes);
          ASSERT_EQ(text_of(*file), overlaid(before, offset, with)) << length << " " << offset;
        }
      }
    }
    EXPECT_EQ(test::fsck_findings(volume.volume()), std::vector<std::string>{});
  }
}

TEST(WritableFile, TakesAnyLength) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  int number = 0;
  for (const std::size_t from : places) {
    for (const std::size_t to : places) {
      Result<WritableFile> file = volume.create(root, "f" + std::to_string(number++));
      ASSERT_TRUE(file);
      Text text = random_text(from);
      ASSERT_EQ(*file->write(0, text, "f"), from);
      ASSERT_EQ(file->set_length(to, "f"), 0);
      text.resize(to);
      ASSERT_EQ(text_of(*file), text) << from << " to " << to;
      ASSERT_EQ(*file->write(to + 5000, Text{1}, "f"), 1U);
      ASSERT_EQ(text_of(*file), overlaid(text, to + 5000, {1})) << from << " to " << to;
    }
  }
  EXPECT_EQ(test::fsck_findings(volume.volume()), std::vector<std::string>{});
}

TEST(WritableFile, LongRequestsAreWrittenInParts) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  const Text text = random_text((std::size_t{3} << 20) + 77);
  ASSERT_EQ(*file->write(1000, text, "f"), text.size());
  EXPECT_EQ(text_of(*file), overlaid({}, 1000, text));
}

TEST(WritableFile, RefusesWhatNoBackingFileCanHold) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->write(std::uint64_t{1} << 63, Text{1}, "f"), EFBIG);
  EXPECT_EQ(file->set_length(~std::uint64_t{0}, "f"), EFBIG);
  EXPECT_EQ(file->allocate(0, ~std::uint64_t{0}, 2, "f"), EFBIG);
  EXPECT_EQ(file->allocate(0, 0, 0, "f"), EINVAL);
  EXPECT_EQ(file->allocate(FALLOC_FL_COLLAPSE_RANGE, 0, 4096, "f"), EOPNOTSUPP);
  EXPECT_EQ(*file->length(), 0U);
  EXPECT_EQ(*file->write(~std::uint64_t{0}, {}, "f"), 0U);
}

vault::FileId header_of(const WritableFile& file) {
  std::uint8_t header[vault::header_bytes] = {};
  vault::FileId id{};
  EXPECT_EQ(pread(file.descriptor().number(), header, sizeof header, 0), ssize_t{sizeof header});
  EXPECT_TRUE(vault::parse_header(header, id));
  return id;
}

TEST(WritableFile, AnEmptyFileHasNoHeaderAndGetsANewId) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  Result<WritableFile> other = volume.open(root, "f");
  ASSERT_TRUE(other);
  ASSERT_EQ(*file->write(0, Text(5000, 7), "f"), 5000U);
  const vault::FileId first = header_of(*file);
  EXPECT_EQ(text_of(*other), Text(5000, 7));
  ASSERT_EQ(other->set_length(0, "f"), 0);
  struct stat status = {};
  ASSERT_EQ(fstat(file->descriptor().number(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
  ASSERT_EQ(*file->write(0, Text(4096, 8), "f"), 4096U);
  EXPECT_NE(header_of(*file), first);
  EXPECT_EQ(text_of(*other), Text(4096, 8));
}

TEST(WritableFile, WhatIsLeftOfAHeaderIsNoText) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  ASSERT_EQ(*file->write(0, Text{1}, "f"), 1U);
  const vault::FileId first = header_of(*file);
  ASSERT_EQ(ftruncate(file->descriptor().number(), vault::header_bytes), 0);
  EXPECT_EQ(*file->length(), 0U);
  ASSERT_EQ(*file->write(0, Text{2}, "f"), 1U);
  EXPECT_NE(header_of(*file), first);
  EXPECT_EQ(text_of(*file), Text{2});
}

TEST(WritableFile, RangesBecomeZeros) {
  for (const int mode : {FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE}) {
    const ScratchFolder scratch;
    WrittenVolume volume(scratch.path());
    const Folder root = volume.root();
    int number = 0;
    for (const std::size_t offset : places) {
      for (const std::size_t bytes : places) {
        Result<WritableFile> file = volume.create(root, "f" + std::to_string(number++));
        ASSERT_TRUE(file);
        Text text = random_text(12000);
        ASSERT_EQ(*file->write(0, text, "f"), text.size());
        if (bytes == 0) {
          continue;
        }
        ASSERT_EQ(file->allocate(mode, offset, bytes, "f"), 0);
        if (mode == FALLOC_FL_ZERO_RANGE && offset + bytes > text.size()) {
          text.resize(offset + bytes);
        }
        for (std::size_t i = offset; i < std::min(offset + bytes, text.size()); ++i) {
          text[i] = 0;
        }
        ASSERT_EQ(text_of(*file), text) << offset << " " << bytes;
      }
    }
    EXPECT_EQ(test::fsck_findings(volume.volume()), std::vector<std::string>{});
  }
}

// Cannot make holes.
class UnpunchedBacking final : public Backing {
 public:
  int error = EOPNOTSUPP;

  [[nodiscard]] Result<void> allocate(FileRef, int, std::uint64_t, std::uint64_t) const override {
    return Errno(error);
  }
};

void flip_bit(int file, std::uint64_t offset) {
  const auto at = static_cast<off_t>(offset);
  std::uint8_t byte = 0;
  ASSERT_EQ(pread(file, &byte, 1, at), 1);
  byte ^= 1;
  ASSERT_EQ(pwrite(file, &byte, 1, at), 1);
}

constexpr int zeroing_modes[] = {FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE};

TEST(WritableFile, ARangeWithADamagedEdgeStays) {
  for (const int mode : zeroing_modes) {
    const ScratchFolder scratch;
    WrittenVolume volume(scratch.path());
    Result<WritableFile> file = volume.create(volume.root(), "f");
    ASSERT_TRUE(file);
    const Text text = random_text(5 * block_bytes);
    ASSERT_EQ(*file->write(0, text, "f"), text.size());
    flip_bit(file->descriptor().number(), volume.volume().content().layout().offset_of(4) + 100);
    EXPECT_EQ(file->allocate(mode, 100, 4 * block_bytes, "f"), EIO);
    Text whole(4 * block_bytes);
    ASSERT_EQ(*file->read(0, whole, "f"), whole.size());
    EXPECT_EQ(whole == Text(text.begin(), text.begin() + 4 * block_bytes), true);
  }
}

TEST(WritableFile, ARangeThatCannotBecomeAHoleStays) {
  for (const int mode : zeroing_modes) {
    for (const int error : {EOPNOTSUPP, EIO, ENOSPC}) {
      const ScratchFolder scratch;
      auto own = std::make_unique<UnpunchedBacking>();
      own->error = error;
      WrittenVolume volume(scratch.path(), {}, std::move(own), SavedBlocks::where_room_may_end);
      Result<WritableFile> file = volume.create(volume.root(), "f");
      ASSERT_TRUE(file);
      const Text text = random_text(4 * block_bytes + 100);
      ASSERT_EQ(*file->write(0, text, "f"), text.size());
      EXPECT_EQ(file->allocate(mode, 100, 4 * block_bytes, "f"), error);
      EXPECT_EQ(text_of(*file) == text, true);
    }
  }
}

TEST(WritableFile, ARangeWhoseLastEdgeFindsNoRoomStays) {
  for (const int mode : zeroing_modes) {
    const ScratchFolder scratch;
    auto own = std::make_unique<FullBacking>();
    const FullBacking& full = *own;
    WrittenVolume volume(scratch.path(), {}, std::move(own), SavedBlocks::always);
    Result<WritableFile> file = volume.create(volume.root(), "f");
    ASSERT_TRUE(file);
    const Text text = random_text(5 * block_bytes);
    ASSERT_EQ(*file->write(0, text, "f"), text.size());
    full.room = static_cast<std::int64_t>(volume.volume().content().layout().stride()) + 100;
    EXPECT_EQ(file->allocate(mode, 100, 4 * block_bytes, "f"), ENOSPC);
    EXPECT_LT(full.room, 0);
    EXPECT_EQ(text_of(*file) == text, true);
  }
}

TEST(WritableFile, AllocatesWithAndWithoutGrowing) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->allocate(FALLOC_FL_KEEP_SIZE, 0, 100000, "f"), 0);
  EXPECT_EQ(*file->length(), 0U);
  ASSERT_EQ(*file->write(0, Text(10, 1), "f"), 10U);
  ASSERT_EQ(file->allocate(0, 5, 20000, "f"), 0);
  EXPECT_EQ(text_of(*file), overlaid(Text(20005), 0, Text(10, 1)));
  struct stat status = {};
  ASSERT_EQ(fstat(file->descriptor().number(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, 100000);
}

TEST(WritableFile, CopiesRanges) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  Result<WritableFile> from = volume.create(root, "from");
  Result<WritableFile> to = volume.create(root, "to");
  ASSERT_TRUE(from && to);
  const Text text = random_text((std::size_t{2} << 20) + 100);
  ASSERT_EQ(*from->write(0, text, "from"), text.size());
  EXPECT_EQ(*copy_range(*from, 50, "from", *to, 7000, "to", std::size_t{10} << 20),
            text.size() - 50);
  EXPECT_EQ(text_of(*to), overlaid({}, 7000, Text(text.begin() + 50, text.end())));
  EXPECT_EQ(copy_range(*from, 0, "from", *from, 10, "from", 11), EINVAL);
  EXPECT_EQ(*copy_range(*from, 0, "from", *from, 10, "from", 10), 10U);
  EXPECT_EQ(*copy_range(*from, text.size(), "from", *to, 0, "to", 10), 0U);
}

TEST(WritableFile, DamageIsAnErrorAndStays) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  ASSERT_EQ(*file->write(0, random_text(10000), "f"), 10000U);
  flip_bit(file->descriptor().number(), 18 + 4128 + 100);
  EXPECT_EQ(file->write(5000, Text{1}, "f"), EIO);
  EXPECT_EQ(file->set_length(5000, "f"), EIO);
  EXPECT_EQ(*file->length(), 10000U);
  EXPECT_EQ(volume.findings(), (std::vector<std::string>(2, "f: block 1 is not authentic")));
  // A block that is written over as a whole is a new one.
  EXPECT_EQ(*file->write(4096, Text(4096, 1), "f"), 4096U);
  EXPECT_TRUE(file->set_length(5000, "f") == 0);
  EXPECT_EQ(*file->length(), 5000U);
}

// For each place in the stored bytes at which the room ends: the text is as before, or as much of
// it written as the call says.
void write_without_room(std::size_t length, std::size_t offset, std::size_t bytes) {
  const Text before = random_text(length, 4);
  const Text with = random_text(bytes, 5);
  for (std::int64_t room = 0;; room += 1021) {
    const ScratchFolder scratch;
    auto backing = std::make_unique<FullBacking>();
    FullBacking& full = *backing;
    WrittenVolume volume(scratch.path(), {}, std::move(backing), SavedBlocks::always);
    const Folder root = volume.root();
    Result<WritableFile> file = volume.create(root, "f");
    ASSERT_TRUE(file);
    ASSERT_EQ(*file->write(0, before, "f"), length);
    full.room = room;
    const Result<std::size_t> written = file->write(offset, with, "f");
    const bool had_room = full.room >= 0;
    full.room = -1;
    Text expected = before;
    if (written) {
      expected = overlaid(before, offset,
                          Text(with.begin(), with.begin() + static_cast<std::ptrdiff_t>(*written)));
    } else {
      EXPECT_EQ(written, ENOSPC);
    }
    ASSERT_EQ(text_of(*file), expected)
        << "length " << length << " offset " << offset << " room " << room;
    Result<WritableFile> again = volume.open(root, "f");
    ASSERT_TRUE(again);
    ASSERT_EQ(text_of(*again), expected);
    // The file can be used as before.
    ASSERT_EQ(*file->write(expected.size(), Text{9}, "f"), 1U);
    ASSERT_EQ(text_of(*again), overlaid(expected, expected.size(), {9}));
    if (had_room) {
      ASSERT_EQ(*written, bytes);
      break;
    }
  }
}

TEST(WritableFile, WithoutRoomTheTextIsAsReported) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{5000}, std::size_t{16384}}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4096}, std::size_t{4900},
                                     std::size_t{16384}, std::size_t{30000}}) {
      write_without_room(length, offset, 4096);
      write_without_room(length, offset, 9000);
    }
  }
}

// As write_without_room, with a file system that is really full, and with what a mount saves of the
// blocks that are written over.
void write_into_full_file_system(const std::function<Text(WritableFile&)>& make, std::size_t offset,
                                 std::size_t bytes) {
  const Text with = random_text(bytes, 5);
  bool had_room = false;
  for (std::int64_t pages = 0; !had_room && !testing::Test::HasFailure(); ++pages) {
    SCOPED_TRACE(testing::Message() << "offset " << offset << ", " << bytes << " bytes, room for "
                                    << pages << " pages");
    const ScratchFolder scratch;
    auto own = std::make_unique<NearlyFullBacking>();
    const NearlyFullBacking& full = *own;
    WrittenVolume volume(scratch.path(), {}, std::move(own), SavedBlocks::where_room_may_end);
    const Folder root = volume.root();
    Text before;
    {
      Result<WritableFile> file = volume.create(root, "f");
      ASSERT_TRUE(file);
      before = make(*file);
    }
    // What was known of the file is forgotten by now.
    Result<WritableFile> file = volume.open(root, "f");
    ASSERT_TRUE(file);
    full.pages = pages;
    const Result<std::size_t> written = file->write(offset, with, "f");
    const std::size_t done = written ? *written : 0;
    EXPECT_TRUE(written || written.failed_with(ENOSPC)) << written.error();
    had_room = done == bytes;
    const Text expected =
        done == 0 ? before
                  : overlaid(before, offset,
                             Text(with.begin(), with.begin() + static_cast<std::ptrdiff_t>(done)));
    EXPECT_EQ(text_of(*file) == expected, true) << done << " bytes were written";
    EXPECT_EQ(test::fsck_findings(volume.volume()), std::vector<std::string>{});
    full.pages = -1;
  }
}

TEST(WritableFile, AFullFileSystemTakesNothingAway) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, std::size_t{5000},
                                   std::size_t{16384}, std::size_t{20000}}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4096}, std::size_t{4900},
                                     std::size_t{16384}, std::size_t{30000}}) {
      for (const std::size_t bytes : {std::size_t{10}, std::size_t{4096}, std::size_t{20000}}) {
        write_into_full_file_system(
            [&](WritableFile& file) {
              const Text text = random_text(length, 4);
              EXPECT_EQ(*file.write(0, text, "f"), length);
              return text;
            },
            offset, bytes);
      }
    }
  }
}

// Room that lies beyond the end says nothing about holes.
TEST(WritableFile, AFullFileSystemTakesNothingAwayFromHoles) {
  for (const std::size_t offset : {std::size_t{0}, 2 * block_bytes, 3 * block_bytes + 50}) {
    write_into_full_file_system(
        [](WritableFile& file) {
          Text text = random_text(10 * block_bytes, 4);
          EXPECT_EQ(*file.write(0, text, "f"), text.size());
          constexpr int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
          EXPECT_EQ(file.allocate(hole, 2 * block_bytes, 5 * block_bytes, "f"), 0);
          EXPECT_EQ(file.allocate(FALLOC_FL_KEEP_SIZE, text.size(), 200000, "f"), 0);
          std::fill_n(text.begin() + 2 * block_bytes, 5 * block_bytes, 0);
          return text;
        },
        offset, 6 * block_bytes);
  }
}

TEST(WritableFile, WithoutRoomALengthStays) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{5000}, std::size_t{8192}}) {
    for (const std::size_t to : {std::size_t{10}, std::size_t{4097}, std::size_t{5001},
                                 std::size_t{20000}, std::size_t{40960}}) {
      for (std::int64_t room = 0; room < 9000; room += 511) {
        const ScratchFolder scratch;
        auto backing = std::make_unique<FullBacking>();
        FullBacking& full = *backing;
        WrittenVolume volume(scratch.path(), {}, std::move(backing), SavedBlocks::always);
        Result<WritableFile> file = volume.create(volume.root(), "f");
        ASSERT_TRUE(file);
        Text text = random_text(length, 4);
        ASSERT_EQ(*file->write(0, text, "f"), length);
        full.room = room;
        const Result<void> set = file->set_length(to, "f");
        full.room = -1;
        if (set) {
          text.resize(to);
        } else {
          EXPECT_EQ(set, ENOSPC);
        }
        ASSERT_EQ(text_of(*file), text) << length << " to " << to << " room " << room;
      }
    }
  }
}

// Says how long the file is for others whenever something is written to it.
class LookingBacking final : public Backing {
 public:
  mutable std::function<void()> look;

  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    const Result<std::size_t> written = Backing::write(file, offset, from);
    if (look) {
      look();
    }
    return written;
  }
};

TEST(WritableFile, NobodySeesALengthInBetween) {
  const ScratchFolder scratch;
  auto own = std::make_unique<LookingBacking>();
  const LookingBacking& backing = *own;
  WrittenVolume volume(scratch.path(), {}, std::move(own));
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(0, random_text(100), "f"));
  std::atomic<int> looking{0};
  std::mutex mutex;
  std::vector<std::uint64_t> lengths;
  std::vector<std::jthread> threads;
  backing.look = [&] {
    threads.emplace_back([&] {
      ++looking;
      const Result<std::uint64_t> length = file->length();
      const std::lock_guard lock(mutex);
      lengths.push_back(length ? *length : 0);
    });
    while (looking < static_cast<int>(threads.size())) {
      std::this_thread::yield();
    }
    // It either waits or has looked. More time makes it only more likely that a fault is seen.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  ASSERT_TRUE(file->write(10000, random_text(10), "f"));
  backing.look = nullptr;
  threads.clear();
  EXPECT_EQ(lengths, std::vector<std::uint64_t>(lengths.size(), 10010));
  EXPECT_GE(lengths.size(), 2U);
}

TEST(WritableFile, TheSameLengthAgainChangesTheTime) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(0, random_text(100), "f"));
  const struct timespec past[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(futimens(file->descriptor().number(), past), 0);
  EXPECT_EQ(file->set_length(100, "f"), 0);
  struct stat status = {};
  ASSERT_EQ(fstat(file->descriptor().number(), &status), 0);
  EXPECT_NE(status.st_mtim.tv_sec, 1000);
  EXPECT_EQ(*file->length(), 100U);
}

TEST(WritableFile, EverythingThatIsWrittenIsReadAgain) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  const Text text = random_text(5000);
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  for (const std::uint64_t offset : {most - 5000, most - 2000, most + 12345, most + most / 2}) {
    const Result<std::size_t> written = file->write(offset, text, "f");
    if (written.failed_with(EFBIG)) {
      GTEST_SKIP() << scratch.path() << " has no files of " << offset << " bytes";
    }
    ASSERT_TRUE(written) << written.error();
    Text found(text.size());
    const Result<std::size_t> read = file->read(offset, found, "f");
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, text.size()) << offset;
    EXPECT_EQ(found == text, true) << offset;
  }
}

TEST(WritableFile, WhatOtherProgramsWriteGetsNoBlocksOfItsFormerId) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path(), {}, std::make_unique<Backing>(),
                       SavedBlocks::where_room_may_end, OtherWriters::some);
  Result<WritableFile> file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  ASSERT_EQ(*file->write(0, random_text(5 * block_bytes, 2), "f"), 5 * block_bytes);
  Text expected;
  for (std::uint64_t round = 0; round < 4; ++round) {
    {
      WrittenVolume other(scratch.path());
      Result<WritableFile> same = other.open(other.root(), "f");
      ASSERT_TRUE(same);
      ASSERT_EQ(same->set_length(0, "f"), 0);
      expected = random_text(6 * block_bytes + 100, 10 + round);
      ASSERT_EQ(*same->write(0, expected, "f"), expected.size());
    }
    // A block in place, a part of one, a longer text, a shorter one.
    switch (round) {
      case 0:
      case 1: {
        const std::size_t offset = round == 0 ? block_bytes : 2 * block_bytes + 7;
        const Text with = random_text(block_bytes, 20 + round);
        ASSERT_EQ(*file->write(offset, with, "f"), with.size());
        expected = overlaid(expected, offset, with);
        break;
      }
      default:
        expected.resize(round == 2 ? 9 * block_bytes + 1 : 5000);
        ASSERT_EQ(file->set_length(expected.size(), "f"), 0);
    }
    EXPECT_EQ(text_of(*file) == expected, true) << round;
    EXPECT_EQ(test::fsck_findings(volume.volume()), std::vector<std::string>{}) << round;
  }
}

TEST(OpenFiles, HandlesOfOneFileShare) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  Result<WritableFile> file = volume.create(root, "f");
  Result<WritableFile> same = volume.open(root, "f");
  Result<WritableFile> other = volume.create(root, "g");
  ASSERT_TRUE(file && same && other);
  EXPECT_TRUE(file->shares_file_with(*same));
  EXPECT_FALSE(file->shares_file_with(*other));
}

// For a thread that should wait to show that it does not. More time makes it only more likely that
// a fault is seen.
void give_time() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST(BlockLocks, WhoChangesABlockWaitsForItsReaders) {
  BlockLocks locks;
  std::vector<int> order;
  std::mutex mutex;
  const auto note = [&](int who) {
    const std::lock_guard lock(mutex);
    order.push_back(who);
  };
  std::unique_ptr<BlockLocks::Lock> first(new BlockLocks::Lock(locks.to_read({0, 5})));
  std::atomic<int> waiting{0};
  std::jthread changer([&] {
    ++waiting;
    const BlockLocks::Lock lock = locks.to_change({4, 6});
    note(1);
  });
  while (waiting == 0) {
    std::this_thread::yield();
  }
  // Blocks without a conflict are free meanwhile.
  { const BlockLocks::Lock free = locks.to_change({6, 9}); }
  { const BlockLocks::Lock free = locks.to_read({0, 4}); }
  give_time();
  note(0);
  first.reset();
  changer.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace paes::volume
