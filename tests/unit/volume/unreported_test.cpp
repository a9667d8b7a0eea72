// SPDX-License-Identifier: Apache-2.0
// A file system whose sync tells nobody what could not be written, as overlayfs. Each file is then
// synced by the descriptor that wrote to it.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <thread>

#include "comparable_results.hpp"
#include "written_volume.hpp"

namespace paes::volume {
namespace {

using test::ScratchFolder;
using test::WrittenVolume;

// What all of its backings share.
struct Disk {
  bool fails = false;
  std::atomic<bool> waits{false};  // a sync, as long as this is so
  std::atomic<bool> begun{false};
  std::map<ino_t, unsigned> synced;

  [[nodiscard]] unsigned syncs() const {
    unsigned all = 0;
    for (const auto& [inode, times] : synced) {
      all += times;
    }
    return all;
  }
};

// As the system does it, an error is told once to each descriptor that was open before.
class QuietBacking : public Backing {
 public:
  explicit QuietBacking(Disk* disk) : disk_(disk) {}

  bool reports_sync_errors(FileRef) const override { return false; }
  Result<void> sync_file_system(FileRef) const override { return {}; }
  Result<void> sync(FileRef file, bool) const override {
    disk_->begun = true;
    disk_->begun.notify_all();
    disk_->waits.wait(true);
    struct stat status = {};
    EXPECT_EQ(fstat(file.number(), &status), 0);
    ++disk_->synced[status.st_ino];
    return result_of(disk_->fails ? EIO : 0);
  }

 private:
  Disk* disk_;
};

class Unreported : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<WrittenVolume> open() {
    return std::make_unique<WrittenVolume>(folder_.path(), vault::Features{},
                                           std::make_unique<QuietBacking>(&disk_));
  }
  static void write(WrittenVolume& volume, const char* name) {
    Result<WritableFile> file = volume.create(volume.root(), name);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(0, test::random_text(10'000), name));
  }

  ScratchFolder folder_;
  Disk disk_;
};

TEST_F(Unreported, AFileIsSyncedWhenItIsClosed) {
  const auto volume = open();
  write(*volume, "file");
  EXPECT_EQ(disk_.syncs(), 1U);
  const Result<WritableFile> read = volume->open(volume->root(), "file");
  ASSERT_TRUE(read);
  EXPECT_EQ(test::text_of(*read).size(), 10'000U);
  EXPECT_EQ(volume->writable().sync(), 0);
  EXPECT_EQ(disk_.syncs(), 1U);  // nothing was written since
}

TEST_F(Unreported, WhatCouldNotBeSyncedAtItsEndIsTold) {
  const auto volume = open();
  disk_.fails = true;
  write(*volume, "file");
  disk_.fails = false;
  Result<WritableFile> other = volume->create(volume->root(), "other");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->sync(false), 0);
  Result<WritableFile> again = volume->open(volume->root(), "file");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sync(false), EIO);
  EXPECT_EQ(again->sync(false), 0);  // as fsync(2), once
  EXPECT_EQ(volume->writable().sync(), EIO);
  EXPECT_EQ(volume->writable().sync(), EIO);
}

TEST_F(Unreported, EveryChangeOfContentIsSynced) {
  const auto volume = open();
  write(*volume, "file");
  const auto synced_after = [&](const std::function<Result<void>(WritableFile&)>& change) {
    const unsigned before = disk_.syncs();
    {
      Result<WritableFile> file = volume->open(volume->root(), "file");
      EXPECT_TRUE(file);
      EXPECT_EQ(change(*file), 0);
    }
    return disk_.syncs() - before;
  };
  EXPECT_EQ(synced_after([](WritableFile&) { return Result<void>(); }), 0U);
  EXPECT_EQ(synced_after([](WritableFile& file) { return file.set_length(100, "file"); }), 1U);
  EXPECT_EQ(synced_after([](WritableFile& file) { return file.allocate(0, 0, 5000, "file"); }), 1U);
  EXPECT_EQ(synced_after([](WritableFile& file) { return file.set_length(0, "file"); }), 1U);
}

TEST_F(Unreported, WhatIsStillOpenIsSynced) {
  const auto volume = open();
  Result<WritableFile> file = volume->create(volume->root(), "file");
  ASSERT_TRUE(file && file->write(0, test::random_text(10), "file"));
  disk_.fails = true;
  EXPECT_EQ(volume->writable().sync(), EIO);
}

// The system tells a descriptor of an error once, and then it was told to whoever synced all.
TEST_F(Unreported, WhatTheSyncOfAllHeardIsToldToWhoeverSyncsTheFile) {
  const auto volume = open();
  Result<WritableFile> file = volume->create(volume->root(), "file");
  ASSERT_TRUE(file && file->write(0, test::random_text(10), "file"));
  disk_.fails = true;
  EXPECT_EQ(volume->writable().sync(), EIO);
  disk_.fails = false;
  EXPECT_EQ(file->sync(false), EIO);
  EXPECT_EQ(file->sync(false), 0);
}

TEST_F(Unreported, WhatTheSyncOfAllHeardIsToldToWhoeverOpensTheFileAgain) {
  const auto volume = open();
  {
    Result<WritableFile> file = volume->create(volume->root(), "file");
    ASSERT_TRUE(file && file->write(0, test::random_text(10), "file"));
    disk_.fails = true;
    EXPECT_EQ(volume->writable().sync(), EIO);
    disk_.fails = false;
  }
  Result<WritableFile> again = volume->open(volume->root(), "file");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sync(false), EIO);
  EXPECT_EQ(again->sync(false), 0);
}

TEST_F(Unreported, AFileThatIsGoneNeedsNoSync) {
  const auto volume = open();
  {
    Result<WritableFile> file = volume->create(volume->root(), "file");
    ASSERT_TRUE(file && file->write(0, test::random_text(10), "file"));
    EXPECT_EQ(remove_file(volume->writable(), volume->root(), "file"), 0);
    disk_.fails = true;
  }
  disk_.fails = false;
  EXPECT_EQ(volume->writable().sync(), 0);
}

TEST_F(Unreported, FilesAreOpenedAndClosedWhileAnotherIsSynced) {
  const auto volume = open();
  Result<WritableFile> file = volume->create(volume->root(), "file");
  ASSERT_TRUE(file && file->write(0, test::random_text(10), "file"));
  disk_.waits = true;
  std::thread syncing([&] { EXPECT_EQ(volume->writable().sync(), 0); });
  disk_.begun.wait(false);
  auto opened = std::async(std::launch::async,
                           [&] { return Result<void>(volume->open(volume->root(), "file")); });
  EXPECT_EQ(opened.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  disk_.waits = false;
  disk_.waits.notify_all();
  syncing.join();
  EXPECT_EQ(opened.get(), 0);
}

TEST_F(Unreported, WhoSyncsAllWaitsForAFileThatIsBeingClosed) {
  const auto volume = open();
  disk_.waits = true;
  std::thread closing([&] { write(*volume, "file"); });
  disk_.begun.wait(false);
  auto synced = std::async(std::launch::async, [&] { return volume->writable().sync(); });
  EXPECT_EQ(synced.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  disk_.waits = false;
  disk_.waits.notify_all();
  closing.join();
  EXPECT_EQ(synced.get(), 0);
}

// Above 64 the file system would be synced as a whole.
TEST_F(Unreported, ManyFilesOfTheVolumeItselfAreSyncedEach) {
  const auto volume = open();
  Result<WritableFile> file = volume->create(volume->root(), "file");
  ASSERT_TRUE(file);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(make_folder(volume->writable(), volume->root(), std::to_string(i), {0755, {}}), 0);
  }
  EXPECT_EQ(file->sync(false), 0);
  EXPECT_EQ(disk_.synced.size(), 201U);  // an IV for each folder, and the file
}

TEST_F(Unreported, AFolderWhoseIvHasNoRoomIsNotMade) {
  const auto volume = open();
  disk_.fails = true;
  Result<void> done;
  int made = 0;
  for (; made < 100 && done; ++made) {
    done = make_folder(volume->writable(), volume->root(), std::to_string(made), {0755, {}});
  }
  EXPECT_EQ(done, EIO);
  EXPECT_EQ(made, 65);
  EXPECT_EQ(volume->writable().unsynced().sync(), EIO);
  disk_.fails = false;
  EXPECT_EQ(volume->writable().unsynced().sync(), 0);
  EXPECT_EQ(test::fsck_findings(volume->volume()), std::vector<std::string>());
}

// One that gives what is removed while it is open another name in the same folder (FUSE, NFS).
class HidingBacking : public Backing {
 public:
  bool removes_open_files(FileRef) const override { return false; }
  Result<void> remove(FolderRef folder, const char* name, bool is_folder) const override {
    struct stat status = {};
    if (!is_folder && fstatat(folder.number(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_open(status)) {
      return result_of(renameat(folder.number(), name, folder.number(), ".hidden") == 0 ? 0
                                                                                        : errno);
    }
    return Backing::remove(folder, name, is_folder);
  }

 private:
  static bool is_open(const struct stat& wanted) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      struct stat open = {};
      if (stat(entry.path().c_str(), &open) == 0 && open.st_dev == wanted.st_dev &&
          open.st_ino == wanted.st_ino) {
        return true;
      }
    }
    return false;
  }
};

TEST(Hiding, AnEmptyFolderIsRemovedWithAllThatItHas) {
  const ScratchFolder folder;
  WrittenVolume volume(folder.path(), {}, std::make_unique<HidingBacking>());
  const std::string long_name(200, 'l');
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_EQ(make_folder(volume.writable(), volume.root(), "a", {0755, {}}), 0);
    const Result<Folder> inside = volume.folder(volume.root(), "a");
    ASSERT_TRUE(inside);
    ASSERT_EQ(make_folder(volume.writable(), *inside, long_name, {0755, {}}), 0);
    ASSERT_EQ(remove_folder(volume.writable(), *inside, long_name), 0);
    ASSERT_TRUE(volume.create(*inside, long_name));
    ASSERT_EQ(remove_file(volume.writable(), *inside, long_name), 0);
    ASSERT_EQ(remove_folder(volume.writable(), volume.root(), "a"), 0);
  }
  // Nothing but the IV of the root.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            1);
}

}  // namespace
}  // namespace paes::volume
