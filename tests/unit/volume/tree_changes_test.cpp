// SPDX-License-Identifier: Apache-2.0
// Names of a volume that are made, moved and removed, long ones among them, and attributes.
#include "volume/change/tree_changes.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "comparable_results.hpp"
#include "volume/change/attribute_changes.hpp"
#include "volume/change/own_files.hpp"
#include "volume/read/attributes.hpp"
#include "volume/read/link.hpp"
#include "written_volume.hpp"

namespace paes::volume {
namespace {

using test::ScratchFolder;
using test::Text;
using test::text_of;
using test::WrittenVolume;

constexpr NewEntry open_to_all{.mode = 0755, .owner = {}};

std::string long_name(char letter) { return std::string(200, letter); }

// What the folder shows.
std::set<std::string> names_in(const Folder& folder) {
  std::set<std::string> names;
  EXPECT_EQ(folder.list("", [&](const FolderEntry& entry) { names.insert(entry.name); }), 0);
  return names;
}

// How many names the backing folder has, the volume's own included.
std::size_t stored_in(const Folder& folder) {
  std::size_t count = 0;
  const std::string path = path_of_descriptor(folder.descriptor().number());
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    (void)entry;
    ++count;
  }
  return count;
}

class Changes : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] std::string name(char letter) const {
    return GetParam() ? long_name(letter) : std::string(1, letter);
  }
  // Names in the backing folder for each of the volume.
  [[nodiscard]] std::size_t each() const { return GetParam() ? 2 : 1; }

  void make_file(char letter, const Folder& folder, std::uint8_t content) {
    Result<WritableFile> file = volume_.create(folder, name(letter));
    ASSERT_TRUE(file) << file.error();
    ASSERT_EQ(*file->write(0, Text(10, content), "f"), 10U);
  }
  [[nodiscard]] int content(const Folder& folder, char letter) {
    const Result<WritableFile> file = volume_.open(folder, name(letter));
    return file ? text_of(*file)[0] : -file.error().number();
  }
  void TearDown() override {
    EXPECT_EQ(test::fsck_findings(volume_.volume()), std::vector<std::string>{});
  }

  ScratchFolder scratch_;
  WrittenVolume volume_{scratch_.path()};
  Folder root_ = volume_.root();
};

TEST_P(Changes, FilesAreMadeAndRemoved) {
  make_file('a', root_, 1);
  EXPECT_EQ(volume_.create(root_, name('a')), EEXIST);
  EXPECT_EQ(content(root_, 'a'), 1);
  EXPECT_EQ(stored_in(root_), 1 + each());
  EXPECT_EQ(remove_folder(volume_.writable(), root_, name('a')), ENOTDIR);
  EXPECT_EQ(remove_file(volume_.writable(), root_, name('a')), 0);
  EXPECT_EQ(remove_file(volume_.writable(), root_, name('a')), ENOENT);
  EXPECT_EQ(stored_in(root_), 1U);
}

TEST_P(Changes, FoldersAreMadeWithTheirIvAndRemoved) {
  ASSERT_EQ(make_folder(volume_.writable(), root_, name('d'), open_to_all), 0);
  EXPECT_EQ(make_folder(volume_.writable(), root_, name('d'), open_to_all), EEXIST);
  EXPECT_EQ(stored_in(root_), 1 + each());
  Result<Folder> folder = volume_.folder(root_, name('d'));
  ASSERT_TRUE(folder);
  make_file('a', *folder, 1);
  EXPECT_EQ(remove_folder(volume_.writable(), root_, name('d')), ENOTEMPTY);
  EXPECT_EQ(content(*folder, 'a'), 1);
  EXPECT_EQ(remove_file(volume_.writable(), *folder, name('a')), 0);
  EXPECT_EQ(remove_file(volume_.writable(), root_, name('d')), EISDIR);
  EXPECT_EQ(remove_folder(volume_.writable(), root_, name('d')), 0);
  EXPECT_EQ(stored_in(root_), 1U);
}

TEST_P(Changes, FoldersHaveNoIvInCommon) {
  std::set<Text> ivs;
  for (const char letter : {'d', 'e'}) {
    ASSERT_EQ(make_folder(volume_.writable(), root_, name(letter), open_to_all), 0);
    const Result<StoredName> stored = root_.stored_name(name(letter));
    ASSERT_TRUE(stored);
    std::ifstream file(
        scratch_.path() + "/" + stored->name + "/" + std::string(vault::folder_iv_name),
        std::ios::binary);
    ivs.insert(Text(std::istreambuf_iterator<char>(file), {}));
  }
  EXPECT_EQ(ivs.size(), 2U);
}

TEST_P(Changes, AFoldersModeStays) {
  for (const mode_t mode : {0700U, 0755U, 0500U, 0000U}) {
    ASSERT_EQ(make_folder(volume_.writable(), root_, name('d'), {.mode = mode, .owner = {}}), 0);
    const Result<StoredName> stored = root_.stored_name(name('d'));
    const Result<struct stat> status =
        volume_.volume().backing().status({root_.descriptor(), stored->name.c_str()});
    ASSERT_TRUE(status);
    EXPECT_EQ(status->st_mode & 07777, mode);
    EXPECT_EQ(remove_folder(volume_.writable(), root_, name('d')), 0);
  }
}

TEST_P(Changes, WhatACrashLeftOverIsRemovedWithItsFolder) {
  ASSERT_EQ(make_folder(volume_.writable(), root_, name('d'), open_to_all), 0);
  const Result<Folder> folder = volume_.folder(root_, name('d'));
  ASSERT_TRUE(folder);
  const std::string path = path_of_descriptor(folder->descriptor().number()) + "/";
  const std::string hidden = new_hidden_name();
  ASSERT_TRUE(is_hidden_name(hidden));
  std::filesystem::create_directory(path + hidden);
  ASSERT_EQ(write_folder_iv(volume_.writable(),
                            FolderRef(Descriptor(open((path + hidden).c_str(), O_PATH)).number()),
                            vault::FolderIv{1}),
            0);
  const Result<StoredName> orphan = folder->stored_name(long_name('o'));
  ASSERT_EQ(LongNameFile(volume_.writable(), folder->descriptor(), *orphan).make(), 0);
  EXPECT_EQ(names_in(*folder), std::set<std::string>{});
  EXPECT_EQ(remove_folder(volume_.writable(), root_, name('d')), 0);
  EXPECT_EQ(stored_in(root_), 1U);
}

// As overlayfs renames in its upper folder.
TEST_P(Changes, RenamesLeaveWhiteouts) {
  WritableVolume& volume = volume_.writable();
  make_file('a', root_, 1);
  make_file('b', root_, 2);
  EXPECT_EQ(rename(volume, root_, name('a'), root_, name('b'), RENAME_WHITEOUT | RENAME_NOREPLACE),
            EEXIST);
  const Result<void> done = rename(volume, root_, name('a'), root_, name('b'), RENAME_WHITEOUT);
  if (done.failed_with(EINVAL)) {
    GTEST_SKIP() << "the file system of the tests leaves no whiteouts";
  }
  ASSERT_EQ(done, 0);
  EXPECT_EQ(content(root_, 'b'), 1);
  EXPECT_EQ(names_in(root_), (std::set<std::string>{name('a'), name('b')}));
  const Result<StoredName> stored = root_.stored_name(name('a'));
  const Result<struct stat> left =
      volume_.volume().backing().status({root_.descriptor(), stored->name.c_str()});
  ASSERT_TRUE(left);
  EXPECT_TRUE(S_ISCHR(left->st_mode));
  EXPECT_EQ(left->st_rdev, 0U);
  EXPECT_EQ(test::fsck_findings(volume_.volume()), std::vector<std::string>{});
  EXPECT_EQ(remove_file(volume, root_, name('a')), 0);
  EXPECT_EQ(names_in(root_), std::set<std::string>{name('b')});
}

TEST_P(Changes, RenamesMoveReplaceAndExchange) {
  ASSERT_EQ(make_folder(volume_.writable(), root_, name('d'), open_to_all), 0);
  const Result<Folder> folder = volume_.folder(root_, name('d'));
  ASSERT_TRUE(folder);
  WritableVolume& volume = volume_.writable();
  make_file('a', root_, 1);
  make_file('b', *folder, 2);
  EXPECT_EQ(rename(volume, root_, name('x'), root_, name('y'), 0), ENOENT);
  EXPECT_EQ(rename(volume, root_, name('a'), *folder, name('b'), RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(rename(volume, root_, name('a'), *folder, name('b'), RENAME_WHITEOUT | RENAME_EXCHANGE),
            EINVAL);
  EXPECT_EQ(rename(volume, root_, name('a'), *folder, name('c'), RENAME_EXCHANGE), ENOENT);
  EXPECT_EQ(stored_in(*folder), 1 + each());
  EXPECT_EQ(rename(volume, root_, name('a'), *folder, name('b'), RENAME_EXCHANGE), 0);
  EXPECT_EQ(content(root_, 'a'), 2);
  EXPECT_EQ(content(*folder, 'b'), 1);
  // Over a target with the same kind of name: its long name's file has to stay.
  EXPECT_EQ(rename(volume, root_, name('a'), *folder, name('b'), 0), 0);
  EXPECT_EQ(content(*folder, 'b'), 2);
  EXPECT_EQ(stored_in(*folder), 1 + each());
  EXPECT_EQ(stored_in(root_), 1 + each());
  EXPECT_EQ(rename(volume, *folder, name('b'), *folder, name('b'), 0), 0);
  EXPECT_EQ(rename(volume, *folder, name('b'), root_, "short", RENAME_NOREPLACE), 0);
  EXPECT_EQ(stored_in(*folder), 1U);
  EXPECT_EQ(rename(volume, root_, "short", root_, name('n'), 0), 0);
  EXPECT_EQ(content(root_, 'n'), 2);
  EXPECT_EQ(rename(volume, root_, name('n'), root_, name('d'), 0), EISDIR);
  EXPECT_EQ(rename(volume, root_, name('d'), root_, name('n'), 0), ENOTDIR);
  EXPECT_EQ(names_in(root_), (std::set<std::string>{name('d'), name('n')}));
}

TEST_P(Changes, AFolderReplacesOnlyAnEmptyOne) {
  WritableVolume& volume = volume_.writable();
  for (const char letter : {'d', 'e'}) {
    ASSERT_EQ(make_folder(volume, root_, name(letter), open_to_all), 0);
  }
  const Result<Folder> from = volume_.folder(root_, name('d'));
  const Result<Folder> to = volume_.folder(root_, name('e'));
  ASSERT_TRUE(from && to);
  make_file('a', *from, 1);
  make_file('b', *to, 2);
  EXPECT_EQ(rename(volume, root_, name('d'), root_, name('e'), 0), ENOTEMPTY);
  EXPECT_EQ(names_in(root_), (std::set<std::string>{name('d'), name('e')}));
  EXPECT_EQ(remove_file(volume, *to, name('b')), 0);
  EXPECT_EQ(rename(volume, root_, name('d'), root_, name('e'), 0), 0);
  EXPECT_EQ(names_in(root_), std::set<std::string>{name('e')});
  EXPECT_EQ(stored_in(root_), 1 + each());
  const Result<Folder> moved = volume_.folder(root_, name('e'));
  ASSERT_TRUE(moved);
  EXPECT_EQ(content(*moved, 'a'), 1);
}

TEST_P(Changes, TwoNamesOfAFileStayWhenOneIsRenamedToTheOther) {
  WritableVolume& volume = volume_.writable();
  make_file('a', root_, 1);
  const Result<StoredName> stored = root_.stored_name(name('a'));
  ASSERT_EQ(add_name(volume, {root_.descriptor(), stored->name.c_str()}, root_, name('b')), 0);
  EXPECT_EQ(add_name(volume, {root_.descriptor(), stored->name.c_str()}, root_, name('b')), EEXIST);
  EXPECT_EQ(rename(volume, root_, name('a'), root_, name('b'), 0), 0);
  EXPECT_EQ(names_in(root_), (std::set<std::string>{name('a'), name('b')}));
  const Result<WritableFile> file = volume_.open(root_, name('a'));
  ASSERT_TRUE(file);
  EXPECT_EQ(add_name(volume, file->descriptor(), root_, name('c')), 0);
  EXPECT_EQ(content(root_, 'c'), 1);
  EXPECT_EQ(*file->length(), 10U);
}

TEST_P(Changes, LinksAndNodesAreMade) {
  WritableVolume& volume = volume_.writable();
  const std::string target = "../some where/else";
  ASSERT_EQ(make_link(volume, root_, name('l'), target, {}), 0);
  EXPECT_EQ(make_link(volume, root_, name('l'), target, {}), EEXIST);
  EXPECT_EQ(make_link(volume, root_, name('m'), "", {}), ENOENT);
  EXPECT_EQ(make_link(volume, root_, name('m'), std::string(4096, 'x'), {}), ENAMETOOLONG);
  const Result<StoredName> stored = root_.stored_name(name('l'));
  const Backing& backing = volume_.volume().backing();
  EXPECT_EQ(*read_link(volume_.volume(), {root_.descriptor(), stored->name.c_str()}, "l"), target);
  const Result<struct stat> status = backing.status({root_.descriptor(), stored->name.c_str()});
  EXPECT_EQ(length_of(volume_.volume(), *status, {root_.descriptor(), stored->name.c_str()}),
            target.size());
  ASSERT_EQ(make_node(volume, root_, name('p'), {.mode = S_IFIFO | 0600, .owner = {}}, 0), 0);
  EXPECT_EQ(names_in(root_), (std::set<std::string>{name('l'), name('p')}));
  EXPECT_EQ(stored_in(root_), 1 + 2 * each());
  EXPECT_EQ(remove_file(volume, root_, name('p')), 0);
  EXPECT_EQ(remove_file(volume, root_, name('l')), 0);
}

TEST_P(Changes, TheOwnerIsGiven) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  WritableVolume& volume = volume_.writable();
  const Owner owner{.user = 12, .group = 34};
  ASSERT_EQ(make_folder(volume, root_, name('d'), {.mode = 0755, .owner = owner}), 0);
  const Result<Folder> folder = volume_.folder(root_, name('d'));
  ASSERT_TRUE(folder);
  ASSERT_EQ(fchmod(folder->descriptor().number(), 02755), 0);
  ASSERT_TRUE(create_file(volume, *folder, name('f'),
                          {.mode = 0644, .owner = Owner{.user = 56, .group = 78}}));
  const Result<StoredName> stored = folder->stored_name(name('f'));
  const Backing& backing = volume_.volume().backing();
  const Result<struct stat> file = backing.status({folder->descriptor(), stored->name.c_str()});
  const Result<struct stat> parent = backing.status(folder->descriptor());
  ASSERT_TRUE(file && parent);
  // A change of owner takes these bits away, so they have to come after it.
  ASSERT_TRUE(create_file(volume, root_, name('s'), {.mode = 06755, .owner = owner}));
  ASSERT_EQ(make_node(volume, root_, name('n'), {.mode = S_IFREG | 04755, .owner = owner}, 0), 0);
  const auto mode_of = [&](char letter) {
    return backing.status({root_.descriptor(), root_.stored_name(name(letter))->name.c_str()})
               ->st_mode &
           07777;
  };
  EXPECT_EQ(mode_of('s'), 06755U);
  EXPECT_EQ(mode_of('n'), 04755U);
  EXPECT_EQ(parent->st_uid, 12U);
  EXPECT_EQ(parent->st_gid, 34U);
  EXPECT_EQ(file->st_uid, 56U);
  EXPECT_EQ(file->st_gid, 34U);
}

INSTANTIATE_TEST_SUITE_P(Names, Changes, ::testing::Bool(), [](const auto& tested) {
  return tested.param ? "long_names" : "short_names";
});

// A volume on a backing tree of its own kind. It has a folder "empty", a folder "full" with a file
// "precious", and a folder "source" with a file "s".
template <typename TestedBacking>
class ThreeFolders : public ::testing::Test {
 protected:
  ThreeFolders() {
    for (const char* const name : {"empty", "full", "source"}) {
      EXPECT_EQ(make_folder(volume_.writable(), root_, name, open_to_all), 0);
    }
    EXPECT_TRUE(volume_.create(*volume_.folder(root_, "full"), "precious"));
    EXPECT_TRUE(volume_.create(*volume_.folder(root_, "source"), "s"));
  }

  ScratchFolder scratch_;
  TestedBacking* backing_ = new TestedBacking;
  WrittenVolume volume_{scratch_.path(), {}, std::unique_ptr<Backing>(backing_)};
  Folder root_ = volume_.root();
};

// Does something once, after a folder was opened as a mere place and before its caller goes on.
class InterruptingBacking final : public Backing {
 public:
  mutable std::function<void()> next;

  [[nodiscard]] Result<Descriptor> open(FolderRef folder, const char* name,
                                        int flags) const override {
    Result<Descriptor> opened = Backing::open(folder, name, flags);
    if (((flags & O_PATH) != 0 || (flags & O_DIRECTORY) != 0) && next) {
      std::exchange(next, nullptr)();
    }
    return opened;
  }
};

class Interrupted : public ThreeFolders<InterruptingBacking> {
 protected:
  Interrupted() {
    backing_->next = [this] {
      EXPECT_EQ(rename(volume_.writable(), root_, "empty", root_, "x", 0), 0);
      EXPECT_EQ(rename(volume_.writable(), root_, "full", root_, "empty", 0), 0);
    };
  }
  void expect_intact() {
    EXPECT_FALSE(backing_->next);
    EXPECT_EQ(names_in(root_), (std::set<std::string>{"empty", "source", "x"}));
    const Result<Folder> full = volume_.folder(root_, "empty");
    ASSERT_TRUE(full);
    EXPECT_EQ(names_in(*full), std::set<std::string>{"precious"});
    EXPECT_TRUE(volume_.folder(root_, "x"));
    EXPECT_EQ(test::fsck_findings(volume_.volume()), std::vector<std::string>{});
  }
};

TEST_F(Interrupted, AFolderThatTookTheNameIsNotRemoved) {
  EXPECT_EQ(remove_folder(volume_.writable(), root_, "empty"), ENOTEMPTY);
  expect_intact();
}

TEST_F(Interrupted, AFolderThatTookTheNameIsNotReplaced) {
  EXPECT_EQ(rename(volume_.writable(), root_, "source", root_, "empty", 0), ENOTEMPTY);
  expect_intact();
}

// Where nothing had the name, an empty folder may have it by the time everything is locked.
TEST_F(Interrupted, AnEmptyFolderThatTookTheNameIsReplaced) {
  backing_->next = [this] {
    EXPECT_EQ(make_folder(volume_.writable(), root_, "new", open_to_all), 0);
  };
  EXPECT_EQ(rename(volume_.writable(), root_, "source", root_, "new", 0), 0);
  EXPECT_FALSE(backing_->next);
  EXPECT_EQ(names_in(root_), (std::set<std::string>{"empty", "full", "new"}));
  EXPECT_EQ(names_in(*volume_.folder(root_, "new")), std::set<std::string>{"s"});
  EXPECT_EQ(test::fsck_findings(volume_.volume()), std::vector<std::string>{});
}

TEST_F(Interrupted, AFolderThatIsRemovedWhileItIsOpenedIsNotThere) {
  backing_->next = [this] { EXPECT_EQ(remove_folder(volume_.writable(), root_, "empty"), 0); };
  EXPECT_EQ(volume_.folder(root_, "empty"), ENOENT);
  EXPECT_FALSE(backing_->next);
  EXPECT_EQ(volume_.findings(), std::vector<std::string>{});
}

// A file system that knows none of renameat2's flags, and whose IVs of folders cannot be removed
// for a while.
class FlaglessBacking final : public Backing {
 public:
  mutable int iv_error = 0;
  int flags_error = EINVAL;

  [[nodiscard]] Result<void> rename(FolderRef folder, const char* name, FolderRef to_folder,
                                    const char* to_name, unsigned flags) const override {
    return flags != 0 ? Errno(flags_error) : Backing::rename(folder, name, to_folder, to_name, 0);
  }
  [[nodiscard]] Result<void> remove(FolderRef folder, const char* name,
                                    bool is_folder) const override {
    return iv_error != 0 && name == vault::folder_iv_name
               ? Errno(iv_error)
               : Backing::remove(folder, name, is_folder);
  }
};

class WithoutFlags : public ThreeFolders<FlaglessBacking> {
 protected:
  // Each name has a folder with these entries.
  void expect(const std::map<std::string, std::set<std::string>>& folders) {
    std::set<std::string> names;
    for (const auto& [name, entries] : folders) {
      names.insert(name);
      const Result<Folder> folder = volume_.folder(root_, name);
      ASSERT_TRUE(folder) << name;
      EXPECT_EQ(names_in(*folder), entries) << name;
    }
    EXPECT_EQ(names_in(root_), names);
    EXPECT_EQ(stored_in(root_), 1 + folders.size());
    EXPECT_EQ(test::fsck_findings(volume_.volume()), std::vector<std::string>{});
  }
};

TEST_F(WithoutFlags, WhateverTheFileSystemSaysOfFlags) {
  for (const int error : {EPERM, EINVAL, ENOSYS, EOPNOTSUPP}) {
    backing_->flags_error = error;
    EXPECT_EQ(rename(volume_.writable(), root_, "source", root_, "full", RENAME_NOREPLACE), EEXIST);
    EXPECT_EQ(rename(volume_.writable(), root_, "source", root_, "moved", RENAME_NOREPLACE), 0);
    EXPECT_EQ(rename(volume_.writable(), root_, "moved", root_, "source", RENAME_NOREPLACE), 0);
    EXPECT_EQ(make_folder(volume_.writable(), root_, "new", open_to_all), 0) << error;
    EXPECT_EQ(remove_folder(volume_.writable(), root_, "new"), 0);
  }
}

TEST_F(WithoutFlags, NamesAreMovedAndNotExchanged) {
  WritableVolume& volume = volume_.writable();
  EXPECT_EQ(make_folder(volume, root_, "full", open_to_all), EEXIST);
  EXPECT_EQ(rename(volume, root_, "source", root_, "full", RENAME_NOREPLACE), EEXIST);
  EXPECT_EQ(rename(volume, root_, "source", root_, "full", RENAME_EXCHANGE), EINVAL);
  EXPECT_EQ(rename(volume, root_, "source", *volume_.folder(root_, "source"), "in", 0), EINVAL);
  EXPECT_EQ(rename(volume, root_, "source", root_, "full", 0), ENOTEMPTY);
  expect({{"source", {"s"}}, {"empty", {}}, {"full", {"precious"}}});
  EXPECT_EQ(rename(volume, root_, "source", root_, "moved", RENAME_NOREPLACE), 0);
  expect({{"moved", {"s"}}, {"empty", {}}, {"full", {"precious"}}});
}

TEST_F(WithoutFlags, AFolderReplacesAnEmptyOne) {
  EXPECT_EQ(rename(volume_.writable(), root_, "source", root_, "empty", 0), 0);
  expect({{"empty", {"s"}}, {"full", {"precious"}}});
}

TEST_F(WithoutFlags, AFolderThatCannotBeRemovedIsPutBack) {
  backing_->iv_error = EIO;
  EXPECT_EQ(remove_folder(volume_.writable(), root_, "empty"), EIO);
  expect({{"source", {"s"}}, {"empty", {}}, {"full", {"precious"}}});
  EXPECT_EQ(rename(volume_.writable(), root_, "source", root_, "empty", 0), EIO);
  expect({{"source", {"s"}}, {"empty", {}}, {"full", {"precious"}}});
  backing_->iv_error = 0;
  EXPECT_EQ(remove_folder(volume_.writable(), root_, "empty"), 0);
  expect({{"source", {"s"}}, {"full", {"precious"}}});
}

// Does not say what a descriptor is.
class SilentBacking final : public Backing {
 public:
  mutable int silent_about = -1;

  [[nodiscard]] Result<struct stat> status(EntryRef entry) const override {
    return entry.is_open() && entry.base() == silent_about ? Errno(EIO) : Backing::status(entry);
  }
};

TEST(FolderLocks, AFolderOfWhichNothingIsKnownMayBeAny) {
  const ScratchFolder scratch;
  auto own = std::make_unique<SilentBacking>();
  const SilentBacking& backing = *own;
  WrittenVolume volume(scratch.path(), {}, std::move(own));
  const Folder root = volume.root();
  ASSERT_EQ(make_folder(volume.writable(), root, "d", open_to_all), 0);
  const Result<Folder> folder = volume.folder(root, "d");
  ASSERT_TRUE(folder);
  const std::mutex* const lock_of_root =
      volume.writable().lock_folders({root.descriptor()}).at(0).mutex();
  backing.silent_about = folder->descriptor().number();
  const auto locks = volume.writable().lock_folders({folder->descriptor()});
  EXPECT_TRUE(std::any_of(locks.begin(), locks.end(),
                          [&](const auto& lock) { return lock.mutex() == lock_of_root; }));
}

TEST(HiddenFolder, WithEntriesIsNoLeftover) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  ASSERT_EQ(make_folder(volume.writable(), root, "d", open_to_all), 0);
  const Result<Folder> folder = volume.folder(root, "d");
  ASSERT_TRUE(folder);
  ASSERT_EQ(make_folder(volume.writable(), *folder, "e", open_to_all), 0);
  ASSERT_TRUE(volume.create(*volume.folder(*folder, "e"), "f"));
  const std::string path = path_of_descriptor(folder->descriptor().number()) + "/";
  const std::string hidden = path + new_hidden_name();
  std::filesystem::rename(path + folder->stored_name("e")->name, hidden);
  EXPECT_EQ(remove_folder(volume.writable(), root, "d"), ENOTEMPTY);
  EXPECT_TRUE(std::filesystem::exists(hidden + "/gocryptfs.diriv"));
}

TEST(LongNameFile, AnOrphanIsReplaced) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  const Result<StoredName> stored = root.stored_name(long_name('a'));
  const std::string path = scratch.path() + "/" + stored->name + ".name";
  for (const std::string& left : {std::string(), std::string("wrong"), stored->encoded + "x"}) {
    { (void)std::ofstream(path).write(left.data(), static_cast<std::streamsize>(left.size())); }
    ASSERT_TRUE(volume.create(root, long_name('a')));
    EXPECT_EQ(names_in(root), std::set<std::string>{long_name('a')});
    EXPECT_EQ(stored_in(root), 3U);
    ASSERT_EQ(remove_file(volume.writable(), root, long_name('a')), 0);
  }
}

TEST(PlainNames, HaveNoFilesOfTheVolumesOwn) {
  const ScratchFolder scratch;
  WrittenVolume volume(scratch.path(), {.has_plaintext_names = true,
                                        .has_directory_ivs = false,
                                        .has_long_names = false,
                                        .has_raw_base64 = false});
  const Folder root = volume.root();
  ASSERT_EQ(make_folder(volume.writable(), root, "d", open_to_all), 0);
  const Result<Folder> folder = volume.folder(root, "d");
  ASSERT_TRUE(folder);
  ASSERT_TRUE(volume.create(*folder, "gocryptfs.diriv"));
  EXPECT_EQ(remove_folder(volume.writable(), root, "d"), ENOTEMPTY);
  EXPECT_EQ(rename(volume.writable(), *folder, "gocryptfs.diriv", root, "x", 0), 0);
  for (const std::string& name : {new_hidden_name(), std::string("gocryptfs.longname.a.name")}) {
    ASSERT_TRUE(volume.create(*folder, name));
    EXPECT_EQ(remove_folder(volume.writable(), root, "d"), ENOTEMPTY) << name;
    ASSERT_EQ(make_folder(volume.writable(), root, "e", open_to_all), 0);
    EXPECT_EQ(rename(volume.writable(), root, "e", root, "d", 0), ENOTEMPTY) << name;
    EXPECT_EQ(remove_folder(volume.writable(), root, "e"), 0);
    EXPECT_EQ(remove_file(volume.writable(), *folder, name), 0);
  }
  EXPECT_EQ(remove_folder(volume.writable(), root, "d"), 0);
  EXPECT_TRUE(std::filesystem::exists(scratch.path() + "/x"));
}

TEST(Attributes, AreSetAndRemoved) {
  const ScratchFolder scratch("/var/tmp");
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  const Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  const FileRef number = file->descriptor();
  const Text value = test::random_text(50);
  const Result<void> done = set_attribute(volume.volume(), number, "user.some", value, 0);
  if (done.failed_with(EOPNOTSUPP)) {
    GTEST_SKIP() << "/var/tmp has no extended attributes";
  }
  ASSERT_EQ(done, 0);
  EXPECT_EQ(*read_attribute(volume.volume(), number, "user.some", "f"), value);
  EXPECT_EQ(set_attribute(volume.volume(), number, "user.some", value, XATTR_CREATE), EEXIST);
  EXPECT_EQ(set_attribute(volume.volume(), number, "user.none", value, XATTR_REPLACE), ENODATA);
  EXPECT_EQ(set_attribute(volume.volume(), number, "user.some", {}, 0), 0);
  EXPECT_EQ(*read_attribute(volume.volume(), number, "user.some", "f"), Text{});
  EXPECT_EQ(*list_attributes(volume.volume(), number, "f"), std::vector<std::string>{"user.some"});
  EXPECT_EQ(remove_attribute(volume.volume(), number, "user.some"), 0);
  EXPECT_EQ(remove_attribute(volume.volume(), number, "user.some"), ENODATA);
  EXPECT_EQ(set_attribute(volume.volume(), number, "", value, 0), EOPNOTSUPP);
}

TEST(Attributes, PrivilegesAreTakenAway) {
  const ScratchFolder scratch("/var/tmp");
  WrittenVolume volume(scratch.path());
  const Folder root = volume.root();
  const Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  const auto mode_after = [&](mode_t mode) {
    EXPECT_EQ(fchmod(file->descriptor().number(), mode), 0);
    EXPECT_EQ(remove_privileges(volume.volume(), file->descriptor()), 0);
    struct stat status = {};
    EXPECT_EQ(fstat(file->descriptor().number(), &status), 0);
    return status.st_mode & 07777;
  };
  EXPECT_EQ(mode_after(06755), 0755U);
  EXPECT_EQ(mode_after(02745), 02745U);  // a mandatory lock, once
  EXPECT_EQ(mode_after(0644), 0644U);
  if (!set_attribute(volume.volume(), file->descriptor(), "security.capability", Text(20, 1), 0)) {
    GTEST_SKIP() << "/var/tmp has no extended attributes, so only modes were looked at";
  }
  EXPECT_EQ(mode_after(0755), 0755U);
  EXPECT_EQ(read_attribute(volume.volume(), file->descriptor(), "security.capability", "f"),
            ENODATA);
}

// As a file system where the caller may not change attributes.
class ForbiddingBacking final : public Backing {
 public:
  [[nodiscard]] Result<void> remove_attribute(FileRef, const char*) const override {
    return Errno(EACCES);
  }
};

TEST(Attributes, PrivilegesThatCannotBeAreNoError) {
  const ScratchFolder scratch("/var/tmp");
  WrittenVolume volume(scratch.path(), {}, std::make_unique<ForbiddingBacking>());
  const Folder root = volume.root();
  ASSERT_EQ(make_link(volume.writable(), root, "l", "target", {}), 0);
  ASSERT_EQ(make_node(volume.writable(), root, "p", {.mode = S_IFIFO | 0600, .owner = {}}, 0), 0);
  const Result<WritableFile> file = volume.create(root, "f");
  ASSERT_TRUE(file);
  for (const char* const name : {"l", "p", "f"}) {
    const Result<Descriptor> place = volume.volume().backing().open(
        root.descriptor(), root.stored_name(name)->name.c_str(), O_PATH);
    ASSERT_TRUE(place);
    EXPECT_EQ(remove_privileges(volume.volume(), *place), 0) << name;
  }
  if (!set_attribute(volume.volume(), file->descriptor(), "security.capability", Text(20, 1), 0)) {
    GTEST_SKIP() << "/var/tmp has no extended attributes, so there was none to keep";
  }
  EXPECT_EQ(remove_privileges(volume.volume(), file->descriptor()), EACCES);
}

// Counts what is synced, and fails it when asked to.
class CountingBacking : public Backing {
 public:
  mutable int files = 0;
  mutable int file_systems = 0;
  mutable int writes = 0;
  int error = 0;

  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    ++writes;
    return Backing::write(file, offset, from);
  }

  [[nodiscard]] Result<void> sync(FileRef file, bool data_only) const override {
    ++files;
    return error != 0 ? Errno(error) : Backing::sync(file, data_only);
  }
  [[nodiscard]] Result<void> sync_file_system(FileRef) const override {
    ++file_systems;
    return result_of(error);
  }
};

TEST(UnsyncedFiles, OwnFilesAreSyncedBeforeAnythingElse) {
  const ScratchFolder scratch;
  auto own = std::make_unique<CountingBacking>();
  CountingBacking& backing = *own;
  WrittenVolume volume(scratch.path(), {}, std::move(own));
  const Folder root = volume.root();
  ASSERT_EQ(make_folder(volume.writable(), root, "d", open_to_all), 0);
  Result<WritableFile> file = volume.create(root, long_name('a'));
  ASSERT_TRUE(file);
  // The system reports once that it could not write, and takes the bytes for written from then on.
  // So they have to be written anew.
  backing.error = EIO;
  EXPECT_EQ(file->sync(true), EIO);
  EXPECT_EQ(backing.files, 1);
  backing.error = 0;
  backing.writes = 0;
  EXPECT_EQ(file->sync(true), 0);
  EXPECT_EQ(backing.files, 4);  // the IV, the long name, the file
  EXPECT_EQ(backing.writes, 1);
  EXPECT_EQ(volume.writable().sync_folder(root), 0);
  EXPECT_EQ(backing.files, 5);
  EXPECT_EQ(backing.writes, 1);
  // Descriptors are few: with many files the whole file system is synced.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(make_folder(volume.writable(), root, "d" + std::to_string(i), open_to_all), 0);
  }
  EXPECT_EQ(volume.writable().sync_folder(root), 0);
  EXPECT_EQ(backing.file_systems, 1);
  EXPECT_EQ(backing.files, 6);
}

TEST(UnsyncedFiles, WhatTheFileSystemHasLostIsNeverCalledSynced) {
  const ScratchFolder scratch;
  auto own = std::make_unique<CountingBacking>();
  CountingBacking& backing = *own;
  WrittenVolume volume(scratch.path(), {}, std::move(own));
  const Folder root = volume.root();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(make_folder(volume.writable(), root, "d" + std::to_string(i), open_to_all), 0);
  }
  backing.error = EIO;
  EXPECT_EQ(volume.writable().sync_folder(root), EIO);
  backing.error = 0;
  EXPECT_EQ(volume.writable().sync_folder(root), EIO);
  EXPECT_EQ(volume.writable().sync_folder(root), EIO);
}

// A removal or a rename fails, and the files that it was about stay.
class KeepingBacking : public CountingBacking {
 public:
  [[nodiscard]] Result<void> remove(FolderRef folder, const char* name,
                                    bool is_folder) const override {
    return keeps ? Errno(EIO) : CountingBacking::remove(folder, name, is_folder);
  }
  [[nodiscard]] Result<void> rename(FolderRef folder, const char* name, FolderRef to_folder,
                                    const char* to_name, unsigned flags) const override {
    return keeps ? Errno(EIO) : CountingBacking::rename(folder, name, to_folder, to_name, flags);
  }
  [[nodiscard]] bool removes_open_files(FileRef) const override { return removes_open; }

  bool keeps = false;
  bool removes_open = true;
};

TEST(UnsyncedFiles, AFileThatCannotBeRemovedIsStillSyncedAndCanBeWrittenAnew) {
  for (const bool removes_open : {true, false}) {
    SCOPED_TRACE(removes_open);
    const ScratchFolder scratch;
    auto own = std::make_unique<KeepingBacking>();
    KeepingBacking& backing = *own;
    backing.removes_open = removes_open;
    WrittenVolume volume(scratch.path(), {}, std::move(own));
    UnsyncedFiles& unsynced = volume.writable().unsynced();
    const Folder root = volume.root();
    const std::array<std::uint8_t, 4> content{1, 2, 3, 4};
    for (const char* const name : {"one", "two", "new"}) {
      ASSERT_EQ(write_own_file(volume.writable(), root.descriptor(), name, content), 0);
    }
    backing.keeps = true;
    EXPECT_EQ(unsynced.remove(root.descriptor(), "one"), EIO);
    EXPECT_EQ(unsynced.replace(root.descriptor(), "new", "two"), EIO);
    backing.keeps = false;
    backing.error = EIO;
    for (int tries = 0; tries < 3; ++tries) {
      EXPECT_EQ(unsynced.sync(), EIO);
    }
    backing.error = 0;
    backing.files = 0;
    EXPECT_EQ(unsynced.sync(), 0);
    EXPECT_EQ(backing.files, 3);
    EXPECT_EQ(unsynced.sync(), 0);
    EXPECT_EQ(backing.files, 3);
  }
}

// Its own files can only be read once they are there, as those of an ordinary user.
class UnwritableBacking : public KeepingBacking {
 public:
  [[nodiscard]] Result<Descriptor> open(FolderRef folder, const char* name,
                                        int flags) const override {
    if ((flags & O_ACCMODE) == O_WRONLY) {
      return Errno(EACCES);
    }
    return KeepingBacking::open(folder, name, flags);
  }
};

// Whoever opens it after its error was told hears nothing of that.
TEST(UnsyncedFiles, AFileThatHasFailedAndCannotBeWrittenAnewIsNeverCalledSynced) {
  const ScratchFolder scratch;
  auto own = std::make_unique<UnwritableBacking>();
  UnwritableBacking& backing = *own;
  backing.removes_open = false;
  WrittenVolume volume(scratch.path(), {}, std::move(own));
  UnsyncedFiles& unsynced = volume.writable().unsynced();
  const Folder root = volume.root();
  const std::array<std::uint8_t, 4> content{1, 2, 3, 4};
  ASSERT_EQ(write_own_file(volume.writable(), root.descriptor(), "one", content), 0);
  backing.error = EIO;
  EXPECT_EQ(unsynced.sync(), EIO);
  backing.error = 0;
  backing.keeps = true;
  EXPECT_EQ(unsynced.remove(root.descriptor(), "one"), EIO);
  EXPECT_EQ(unsynced.sync(), EIO);
  EXPECT_EQ(unsynced.sync(), EIO);
}

// A file that is made as soon as another one is removed gets its inode.
class ReusingBacking : public CountingBacking {
 public:
  [[nodiscard]] Result<struct stat> status(EntryRef entry) const override {
    Result<struct stat> found = CountingBacking::status(entry);
    if (found && S_ISREG(found->st_mode)) {
      found->st_ino = 1;
    }
    return found;
  }
  [[nodiscard]] Result<void> remove(FolderRef folder, const char* name,
                                    bool is_folder) const override {
    const Result<void> removed = CountingBacking::remove(folder, name, is_folder);
    if (after_removal) {
      after_removal();
    }
    return removed;
  }

  std::function<void()> after_removal;
};

TEST(UnsyncedFiles, AFileThatHasTheInodeOfARemovedOneIsSynced) {
  const ScratchFolder scratch;
  auto own = std::make_unique<ReusingBacking>();
  ReusingBacking& backing = *own;
  WrittenVolume volume(scratch.path(), {}, std::move(own));
  UnsyncedFiles& unsynced = volume.writable().unsynced();
  const Folder root = volume.root();
  const std::array<std::uint8_t, 4> content{1, 2, 3, 4};
  ASSERT_EQ(write_own_file(volume.writable(), root.descriptor(), "one", content), 0);
  ASSERT_EQ(unsynced.sync(), 0);
  backing.files = 0;
  backing.after_removal = [&] {
    EXPECT_EQ(write_own_file(volume.writable(), root.descriptor(), "two", content), 0);
  };
  EXPECT_EQ(unsynced.remove(root.descriptor(), "one"), 0);
  EXPECT_EQ(unsynced.sync(), 0);
  EXPECT_EQ(backing.files, 1);
  // One that is still in the list when it is removed need not be synced.
  backing.after_removal = nullptr;
  ASSERT_EQ(write_own_file(volume.writable(), root.descriptor(), "three", content), 0);
  EXPECT_EQ(unsynced.remove(root.descriptor(), "three"), 0);
  EXPECT_EQ(unsynced.sync(), 0);
  EXPECT_EQ(backing.files, 1);
}

}  // namespace
}  // namespace paes::volume
