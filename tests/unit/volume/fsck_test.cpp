// SPDX-License-Identifier: Apache-2.0
// The check of whole volumes: what it counts, what it names, and on how many threads.
#include "volume/check/fsck.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "comparable_results.hpp"
#include "exec/thread_pool.hpp"
#include "made_volume.hpp"
#include "refusal.hpp"
#include "volume/read/hidden_names.hpp"
#include "volume/read/volume_folder.hpp"

namespace paes::volume {
namespace {

using test::varied_bytes;

struct Checked {
  FsckCounts counts;
  std::vector<std::string> damaged;
  std::vector<std::string> unread;
  std::vector<std::string> leftovers;
};

Checked check(const Volume& volume, const std::vector<std::string>& paths = {},
              unsigned threads = 1, std::size_t most_folders = 512) {
  Findings damaged;
  Findings unread;
  Findings leftovers;
  FsckWatch watch;
  watch.damaged = damaged.report();
  watch.leftover = leftovers.report();
  watch.unread = unread.report();
  const std::unique_ptr<Executor> executor = make_thread_pool(threads);
  const FsckCounts counts = fsck(volume, paths, *executor, watch, most_folders);
  Checked checked{counts, damaged.take(), unread.take(), leftovers.take()};
  std::sort(checked.damaged.begin(), checked.damaged.end());
  std::sort(checked.leftovers.begin(), checked.leftovers.end());
  EXPECT_EQ(counts.leftovers, checked.leftovers.size());
  EXPECT_EQ(counts.damaged, checked.damaged.size());
  EXPECT_EQ(counts.unread, checked.unread.size());
  return checked;
}

using Names = std::vector<std::string>;

void flip(const std::filesystem::path& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 1));
  ASSERT_TRUE(file.flush());
}

TEST(VolumeFsck, CountsWhatIsThere) {
  for (const NamedFeatures& tested : all_features()) {
    MadeVolume made(tested.features);
    made.folder("a");
    made.folder("a/b");
    made.file("empty", {});
    made.file("a/file", varied_bytes(5000, 1));
    made.file("a/b/" + std::string(150, 'x'), varied_bytes(100, 2));
    made.link("a/link", "nowhere");
    ASSERT_EQ(mkfifo(made.stored("a/pipe").c_str(), 0600), 0);
    const Volume volume = made.open();
    for (const unsigned threads : {1U, 4U}) {
      const Checked all = check(volume, {}, threads);
      EXPECT_EQ(all.damaged, Names{}) << tested.name;
      EXPECT_EQ(all.counts.folders, 3U);
      EXPECT_EQ(all.counts.files, 3U);
      EXPECT_EQ(all.counts.links, 1U);
      EXPECT_EQ(all.counts.others, 1U);
      EXPECT_EQ(all.counts.text_bytes, 5100U);
    }
  }
}

TEST(VolumeFsck, PathsChooseAPart) {
  MadeVolume made;
  const std::string long_name(250, 'x');
  made.folder("a");
  made.folder("a/b");
  made.file("a/b/f", varied_bytes(1000, 1));
  made.file("a/g", varied_bytes(10, 1));
  made.file(long_name, varied_bytes(7, 1));
  made.link("l", "a");
  const Volume volume = made.open();
  const auto bytes = [&](const Names& paths) { return check(volume, paths).counts.text_bytes; };
  EXPECT_EQ(bytes({"a"}), 1010U);
  EXPECT_EQ(bytes({"/a//b/./"}), 1000U);
  EXPECT_EQ(bytes({"a/b/f", "a/g"}), 1010U);
  EXPECT_EQ(bytes({long_name}), 7U);
  EXPECT_EQ(bytes({"/"}), 1017U);
  EXPECT_EQ(check(volume, {"l"}).counts.links, 1U);
  const auto refused = [&](const std::string& path) {
    return test::refusal(ErrorCode::usage, [&] { check(volume, {path}); });
  };
  EXPECT_EQ(refused("none"), "none: No such file or directory");
  EXPECT_EQ(refused("a/none/f"), "a/none/f: No such file or directory");
  EXPECT_EQ(refused("a/g/f"), "a/g/f: Not a directory");
  EXPECT_EQ(refused("l/g"), "l/g: Not a directory");
  EXPECT_EQ(refused("a/../a"), "a/../a: has .. in it");
  EXPECT_EQ(refused(std::string(256, 'n')), std::string(256, 'n') + ": File name too long");
  // What is asked about lies in a folder that is damaged.
  std::filesystem::remove(made.stored("a") / "gocryptfs.diriv");
  EXPECT_EQ(check(volume, {"a/g"}).damaged, Names{"a: gocryptfs.diriv is missing"});
}

// A file of many runs goes to all threads, and each of its damaged blocks is named.
TEST(VolumeFsck, LongFilesAreShared) {
  MadeVolume made;
  const std::size_t blocks = 1000;
  made.file("f", varied_bytes(blocks * vault::block_bytes + 7, 1));
  const vault::BlockLayout layout = made.content().layout();
  for (const std::uint64_t block : {0U, 63U, 64U, 500U, 501U, 502U, 999U, 1000U}) {
    flip(made.stored("f"), layout.offset_of(block) + 20);
  }
  const Volume volume = made.open();
  for (const unsigned threads : {1U, 2U, 8U}) {
    const Checked all = check(volume, {}, threads);
    EXPECT_EQ(
        all.damaged,
        (Names{"f: block 0 is not authentic", "f: blocks 500 to 502 are not authentic",
               "f: blocks 63 to 64 are not authentic", "f: blocks 999 to 1000 are not authentic"}));
    EXPECT_EQ(all.counts.text_bytes, blocks * vault::block_bytes + 7);
  }
}

// Holes need not be read, but only those that are whole blocks are holes.
TEST(VolumeFsck, HolesAreAuthentic) {
  MadeVolume made;
  const vault::BlockLayout layout = made.content().layout();
  made.file("f", varied_bytes(vault::block_bytes, 1));
  std::filesystem::resize_file(made.stored("f"), layout.offset_of(100'000));
  const Volume volume = made.open();
  EXPECT_EQ(check(volume, {}, 2).damaged, Names{});
  std::filesystem::resize_file(made.stored("f"), layout.offset_of(100'000) + 100);
  EXPECT_EQ(check(volume, {}, 2).damaged, Names{"f: block 100000 is not authentic"});
  std::filesystem::resize_file(made.stored("f"), layout.offset_of(100'000) + layout.overhead());
  EXPECT_EQ(check(volume, {}, 2).damaged, Names{"f: block 100000 is cut short"});
}

// Counts how often somebody looks for the end of a hole.
class HoleCountingBacking : public Backing {
 public:
  explicit HoleCountingBacking(std::atomic<unsigned>& count) : count_(&count) {}

  Result<std::uint64_t> next_data(FileRef file, std::uint64_t offset) const override {
    ++*count_;
    return Backing::next_data(file, offset);
  }

 private:
  std::atomic<unsigned>* count_;
};

// A hole costs the same whatever its length, which is the choice of whoever made the file.
TEST(VolumeFsck, LongHolesArePassedOverAtOnce) {
  MadeVolume made;
  constexpr std::uint64_t blocks = 2'000'000;
  constexpr std::uint64_t damaged = 1'234'567;
  made.file("f", varied_bytes(vault::block_bytes, 1));
  const vault::BlockLayout layout = made.content().layout();
  std::filesystem::resize_file(made.stored("f"), layout.offset_of(blocks));
  std::atomic<unsigned> looks{0};
  const Volume volume = made.open({}, std::make_unique<HoleCountingBacking>(looks));
  for (const bool has_damage : {false, true}) {
    for (const unsigned threads : {1U, 4U}) {
      looks = 0;
      const Checked all = check(volume, {}, threads);
      EXPECT_EQ(all.damaged, has_damage ? Names{"f: block 1234567 is not authentic"} : Names{});
      EXPECT_EQ(all.counts.text_bytes, blocks * vault::block_bytes);
      EXPECT_LT(looks.load(), 100U);
    }
    flip(made.stored("f"), layout.offset_of(damaged) + 20);
  }
}

TEST(VolumeFsck, ManyDamagedBlocksAreCounted) {
  MadeVolume made;
  made.file("f", varied_bytes(400 * vault::block_bytes, 1));
  for (std::uint64_t block = 0; block < 400; block += 2) {
    flip(made.stored("f"), made.content().layout().offset_of(block));
  }
  const Checked all = check(made.open());
  EXPECT_EQ(all.damaged.size(), 101U);
  EXPECT_TRUE(
      std::count(all.damaged.begin(), all.damaged.end(), "f: 100 more blocks are not authentic"));
}

TEST(VolumeFsck, HardLinksAreCheckedOnce) {
  MadeVolume made;
  made.file("f", varied_bytes(100, 1));
  made.hard_link("g", "f");
  flip(made.stored("f"), 60);
  const Checked all = check(made.open());
  EXPECT_EQ(all.damaged.size(), 1U);
  EXPECT_EQ(all.counts.files, 2U);
  EXPECT_EQ(all.counts.text_bytes, 100U);
}

TEST(VolumeFsck, FilesOfLongNamesThatNothingHasAreLeftOver) {
  MadeVolume made;
  const std::string name(200, 'x');
  made.folder("d");
  made.file("d/" + name, {});
  const std::filesystem::path stored = made.stored("d/" + name);
  std::filesystem::remove(stored);
  const Checked all = check(made.open());
  EXPECT_EQ(all.damaged, Names{});
  EXPECT_EQ(all.leftovers,
            Names{"d/" + stored.filename().string() + ".name: what has this long name is missing"});
}

// Under hidden names: an IV that was not complete, and folders that were new, or almost gone.
TEST(VolumeFsck, WhatACrashLeavesIsNoDamage) {
  for (const NamedFeatures& tested : all_features()) {
    if (tested.features.has_plaintext_names) {
      continue;  // such a name is any user's there
    }
    SCOPED_TRACE(tested.name);
    MadeVolume made(tested.features);
    made.folder("d");
    const std::filesystem::path folder = made.stored("d");
    Names hidden(3);
    for (std::string& name : hidden) {
      name = new_hidden_name();
    }
    MadeVolume::write(folder / hidden[0], to_text("half"));
    std::filesystem::create_directory(folder / hidden[1]);
    std::filesystem::create_directory(folder / hidden[2]);
    if (made.has_ivs()) {
      MadeVolume::write(folder / hidden[2] / "gocryptfs.diriv", Text(16, 1));
    }
    Findings findings;
    const Volume volume = made.open(findings.report());
    const Checked all = check(volume);
    EXPECT_EQ(all.damaged, Names{});
    Names expected;
    for (const std::string& name : hidden) {
      expected.push_back("d/" + name + ": nothing needs it");
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(all.leftovers, expected);
    EXPECT_EQ(all.counts.folders, 2U);
    // Whoever lists the folder hears nothing of it.
    const Result<Folder> opened =
        Folder::open(volume, volume.root(), folder.filename().c_str(), "d");
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->list("d", [](const FolderEntry& entry) { ADD_FAILURE() << entry.name; }), 0);
    EXPECT_EQ(findings.take(), Names{});
    // What has entries may be missed by somebody.
    MadeVolume::write(folder / hidden[1] / "entry", to_text("anything"));
    EXPECT_EQ(check(volume).damaged,
              Names{"d/" + hidden[1] + ": a folder without a name has entries"});
  }
}

// What a process may have open at once, lowered for as long as this lives.
class FewOpenFiles {
 public:
  explicit FewOpenFiles(rlim_t most) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const struct rlimit limit = {std::min(most, before_.rlim_cur), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~FewOpenFiles() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  FewOpenFiles(const FewOpenFiles&) = delete;
  FewOpenFiles& operator=(const FewOpenFiles&) = delete;

 private:
  struct rlimit before_ = {};
};

// What is looked at again at the end does not keep its folder open until then.
TEST(VolumeFsck, FilesOfLongNamesInManyFolders) {
  MadeVolume made;
  constexpr unsigned folders = 150;
  const std::string planted = "gocryptfs.longname." + std::string(43, 'A') + ".name";
  made.folder("d");
  for (unsigned i = 0; i < folders; ++i) {
    const std::string path = "d/" + std::to_string(i);
    made.folder(path);
    MadeVolume::write(made.stored(path) / planted, to_text("anything"));
  }
  const Volume volume = made.open();
  const FewOpenFiles limit(100);
  for (const unsigned threads : {1U, 3U}) {
    const Checked all = check(volume, {}, threads);
    EXPECT_EQ(all.unread, Names{});
    EXPECT_EQ(all.damaged, Names{});
    ASSERT_EQ(all.leftovers.size(), folders);
    EXPECT_EQ(all.leftovers[0], "d/0/" + planted + ": what has this long name is missing");
    EXPECT_EQ(all.counts.folders, folders + 2);
  }
}

// Each damage is found beside every other one.
TEST(VolumeFsck, GoesOnAfterDamage) {
  MadeVolume made;
  for (const std::string name : {"a", "b", "c"}) {
    made.folder(name);
    made.file(name + "/f", varied_bytes(5000, 1));
  }
  std::filesystem::remove(made.stored("a") / "gocryptfs.diriv");
  flip(made.stored("b/f"), 0);
  const std::filesystem::path foreign = made.stored("c") / "foreign";
  MadeVolume::write(foreign, {});
  const Checked all = check(made.open(), {}, 3);
  EXPECT_EQ(all.damaged, (Names{"a: gocryptfs.diriv is missing", "b/f: the header is damaged",
                                "c/foreign: the name is damaged"}));
  EXPECT_EQ(all.counts.folders, 3U);
}

// Deeper than a path of the system may be long.
TEST(VolumeFsck, DeepFolders) {
  vault::Features features;
  features.has_directory_ivs = false;
  MadeVolume made(features);
  Descriptor at(open(made.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string stored = made.names().encode("deep", {});
  constexpr unsigned depth = 300;  // 22 bytes each
  for (unsigned i = 0; i < depth; ++i) {
    ASSERT_EQ(mkdirat(at.number(), stored.c_str(), 0700), 0);
    at = Descriptor(openat(at.number(), stored.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.is_open());
  }
  const Checked all = check(made.open(), {}, 2);
  EXPECT_EQ(all.damaged, Names{});
  EXPECT_EQ(all.unread, Names{});
  EXPECT_EQ(all.counts.folders, depth + 1);
}

// Each folder is found and checked once where few may be open, and damage has its path.
TEST(VolumeFsck, FewOpenFolders) {
  MadeVolume made;
  std::string path;
  constexpr unsigned depth = 60;
  for (unsigned i = 0; i < depth; ++i) {
    path += i == 0 ? "d" : "/d";
    made.folder(path);
    made.file(path + "/f", varied_bytes(5000, i));
    made.folder(path + "/e");
    made.file(path + "/e/f", varied_bytes(50, i));
  }
  flip(made.stored(path + "/e/f"), 30);
  const Volume volume = made.open();
  const FewOpenFiles limit(64);
  for (const unsigned threads : {1U, 3U}) {
    for (const std::size_t most_folders : {0U, 1U, 5U, 16U}) {
      const Checked all = check(volume, {}, threads, most_folders);
      EXPECT_EQ(all.damaged, Names{path + "/e/f: block 0 is not authentic"});
      EXPECT_EQ(all.unread, Names{});
      EXPECT_EQ(all.counts.folders, 2 * depth + 1);
      EXPECT_EQ(all.counts.files, 2 * depth);
    }
  }
}

TEST(VolumeFsck, StopsWhenAsked) {
  MadeVolume made;
  for (int i = 0; i < 300; ++i) {
    made.file("f" + std::to_string(i), varied_bytes(10, 1));
  }
  const Volume volume = made.open();
  std::atomic<int> asked{0};
  std::atomic<std::uint64_t> done{0};
  FsckWatch watch;
  watch.stops = [&] { return ++asked > 20; };
  watch.done_bytes = &done;
  const FsckCounts counts = fsck(volume, {}, *make_thread_pool(2), watch);
  EXPECT_LT(counts.files, 100U);
  EXPECT_EQ(counts.text_bytes, done.load());
}

TEST(VolumeFsck, AFailingWatchEndsTheCheck) {
  MadeVolume made;
  MadeVolume::write(made.root() / "foreign", {});
  const Volume volume = made.open();
  FsckWatch watch;
  watch.damaged = [](const Finding&) { throw Error(ErrorCode::failure, "watch: has failed"); };
  EXPECT_EQ(test::refusal(ErrorCode::failure,
                          [&] { (void)fsck(volume, {}, *make_thread_pool(4), watch); }),
            "watch: has failed");
}

// Reads something else the first time, as if the file had just been written to.
class ChangingBacking : public Backing {
 public:
  ChangingBacking(unsigned wrong_reads, std::filesystem::path touched)
      : left_(wrong_reads), touched_(std::move(touched)) {}

  Result<std::size_t> read(FileRef file, std::uint64_t offset, MutableBytes into) const override {
    Result<std::size_t> bytes = Backing::read(file, offset, into);
    if (bytes && *bytes > 1000 && left_ > 0) {
      --left_;
      into[900] ^= 1;
      std::filesystem::last_write_time(touched_, std::filesystem::file_time_type::clock::now());
    }
    return bytes;
  }

 private:
  mutable unsigned left_;
  std::filesystem::path touched_;
};

TEST(VolumeFsck, AFileThatChangesIsCheckedAgainOnce) {
  MadeVolume made;
  for (const std::size_t size : {std::size_t{4000}, 200 * vault::block_bytes}) {
    made.file("f", varied_bytes(size, 1));
    const auto volume = [&](unsigned wrong_reads) {
      return made.open({}, std::make_unique<ChangingBacking>(wrong_reads, made.stored("f")));
    };
    EXPECT_EQ(check(volume(1)).damaged, Names{});
    EXPECT_EQ(check(volume(100)).damaged.size(), size == 4000 ? 1U : 4U);
  }
}

// Refuses what another user's files refuse.
class RefusingBacking : public Backing {
 public:
  explicit RefusingBacking(int flags) : refused_(flags) {}

  Result<Descriptor> open(FolderRef folder, const char* name, int flags) const override {
    const int refused = flags & refused_;
    const std::string_view stored(name);
    if (refused != 0 && stored != "." && !stored.starts_with("gocryptfs.")) {
      return Errno(refused == O_NOATIME ? EPERM : EACCES);
    }
    return Backing::open(folder, name, flags);
  }

 private:
  int refused_;
};

TEST(VolumeFsck, WhatMayNotBeReadIsNoDamage) {
  MadeVolume made;
  made.folder("d");
  made.file("d/f", varied_bytes(10, 1));
  EXPECT_EQ(check(made.open({}, std::make_unique<RefusingBacking>(O_NOATIME))).unread, Names{})
      << "not the owner: a file is read all the same";
  const Checked all = check(made.open({}, std::make_unique<RefusingBacking>(O_DIRECTORY)));
  EXPECT_EQ(all.damaged, Names{});
  EXPECT_EQ(all.unread, Names{"d: cannot be opened: Permission denied"});
  const Checked files = check(made.open({}, std::make_unique<RefusingBacking>(O_NOCTTY)));
  EXPECT_EQ(files.damaged, Names{});
  EXPECT_EQ(files.unread, Names{"d/f: cannot be opened: Permission denied"});
}

}  // namespace
}  // namespace paes::volume
