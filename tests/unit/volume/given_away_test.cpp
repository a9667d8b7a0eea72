// SPDX-License-Identifier: Apache-2.0
// Who gets what is made for another user, when another process changes the same folder meanwhile.
#include <cerrno>
#include <cstdio>
#include <functional>
#include <ostream>
#include <tuple>

#include "comparable_results.hpp"
#include "written_volume.hpp"

namespace paes::volume {
namespace {

using test::ScratchFolder;
using test::WrittenVolume;

// Another process gives what was just made another name, and its name to something else: the entry
// "other" of an open folder. And nobody gets anything, but a record is kept.
class SwappingBacking final : public Backing {
 public:
  mutable int others = -1;  // the folder; no process does anything without it
  mutable std::vector<ino_t> given;

  [[nodiscard]] Result<Descriptor> create(FolderRef folder, const char* name, int flags,
                                          mode_t mode) const override {
    Result<Descriptor> made = Backing::create(folder, name, flags, mode);
    (void)swapped(folder, name, Result<void>(made));
    return made;
  }
  [[nodiscard]] Result<void> make_folder(FolderRef folder, const char* name,
                                         mode_t mode) const override {
    return swapped(folder, name, Backing::make_folder(folder, name, mode));
  }
  [[nodiscard]] Result<void> make_node(FolderRef folder, const char* name, mode_t mode,
                                       dev_t device) const override {
    return swapped(folder, name, Backing::make_node(folder, name, mode, device));
  }
  [[nodiscard]] Result<void> make_link(FolderRef folder, const char* name,
                                       const char* target) const override {
    return swapped(folder, name, Backing::make_link(folder, name, target));
  }
  [[nodiscard]] Result<void> set_owner(EntryRef entry, uid_t, gid_t) const override {
    given.push_back(status(entry)->st_ino);
    return {};
  }

 private:
  Result<void> swapped(FolderRef folder, const char* name, Result<void> made) const {
    if (const int from = std::exchange(others, -1); from >= 0) {
      EXPECT_EQ(renameat2(from, "other", folder.number(), name, RENAME_EXCHANGE), 0);
    }
    return made;
  }
};

// What can be made, and something of the same type that is not new.
struct Made {
  const char* type;
  mode_t mode;
  std::function<Result<void>(WritableVolume&, const Folder&, const NewEntry&)> make;  // "made"
  std::function<int(int folder)> make_other;                                          // "other"
  bool is_open;  // once it is made, so that nothing can be taken for it
};

void PrintTo(const Made& made, std::ostream* out) { *out << made.type; }

int make_named_twice(int folder, mode_t mode) {
  return mknodat(folder, "other", mode, 0) | linkat(folder, "other", folder, "second name", 0);
}

std::vector<Made> all_made() {
  const auto node = [](WritableVolume& volume, const Folder& folder, const NewEntry& entry) {
    return make_node(volume, folder, "made", entry, 0);
  };
  const auto file = [](WritableVolume& volume, const Folder& folder, const NewEntry& entry) {
    return Result<void>(create_file(volume, folder, "made", entry));
  };
  const auto folder = [](WritableVolume& volume, const Folder& parent, const NewEntry& entry) {
    return make_folder(volume, parent, "made", entry);
  };
  const auto link = [](WritableVolume& volume, const Folder& parent, const NewEntry& entry) {
    return make_link(volume, parent, "made", "target", entry.owner);
  };
  const auto other = [](mode_t mode) {
    return [mode](int others) { return make_named_twice(others, mode); };
  };
  const auto other_folder = [](int others) {
    return mkdirat(others, "other", 0700) | mkdirat(others, "other/entry", 0700);
  };
  const auto other_link = [](int others) {
    return symlinkat("x", others, "other") | linkat(others, "other", others, "second name", 0);
  };
  return {{"file", S_IFREG, file, other(S_IFREG | 0600), true},
          {"node", S_IFREG, node, other(S_IFREG | 0600), true},
          {"pipe", S_IFIFO, node, other(S_IFIFO | 0600), false},
          {"socket", S_IFSOCK, node, other(S_IFSOCK | 0600), false},
          {"link", S_IFLNK, link, other_link, false},
          {"folder", S_IFDIR, folder, other_folder, false}};
}

// With IVs of folders and without.
class GivenAway : public ::testing::TestWithParam<std::tuple<Made, bool>> {
 protected:
  // The owner is this process's, as a user who is not root must have it.
  [[nodiscard]] Result<void> make() {
    const Made& made = std::get<Made>(GetParam());
    const NewEntry entry{made.mode | 0755, Owner{.user = geteuid(), .group = getegid()}};
    return made.make(volume_.writable(), root_, entry);
  }
  // What was made before the others took its name.
  void expect_only_new_given() {
    const Result<struct stat> made = backing_->status({FolderRef(others_), "other"});
    ASSERT_TRUE(made);
    const bool is_open = std::get<Made>(GetParam()).is_open;
    EXPECT_EQ(backing_->given, is_open ? std::vector<ino_t>{made->st_ino} : std::vector<ino_t>{});
  }

  ScratchFolder scratch_;
  ScratchFolder scratch_of_others_;
  Descriptor others_ = scratch_of_others_.open();
  SwappingBacking* backing_ = new SwappingBacking;
  WrittenVolume volume_{scratch_.path(),
                        {.has_directory_ivs = std::get<bool>(GetParam())},
                        std::unique_ptr<Backing>(backing_)};
  Folder root_ = volume_.root();
};

TEST_P(GivenAway, IsWhatWasMade) {
  ASSERT_EQ(make(), 0);
  const Result<struct stat> made =
      backing_->status({root_.descriptor(), root_.stored_name("made")->name.c_str()});
  ASSERT_TRUE(made);
  EXPECT_EQ(backing_->given, std::vector<ino_t>{made->st_ino});
}

TEST_P(GivenAway, IsNothingOfTheSameType) {
  ASSERT_EQ(std::get<Made>(GetParam()).make_other(others_.number()), 0);
  backing_->others = others_.number();
  EXPECT_EQ(make(), 0);
  expect_only_new_given();
}

TEST_P(GivenAway, IsNothingOfAnotherType) {
  const bool is_folder = std::get<Made>(GetParam()).mode == S_IFDIR;
  ASSERT_EQ(mknodat(others_.number(), "other", (is_folder ? S_IFREG : S_IFCHR) | 0600, 0), 0);
  backing_->others = others_.number();
  (void)make();
  expect_only_new_given();
}

TEST_P(GivenAway, IsNothingOfAnotherUsers) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can make something of another user's";
  }
  const Made& made = std::get<Made>(GetParam());
  ASSERT_EQ(made.make_other(others_.number()), 0);
  (void)unlinkat(others_.number(), "second name", 0);
  (void)unlinkat(others_.number(), "other/entry", AT_REMOVEDIR);
  ASSERT_EQ(fchownat(others_.number(), "other", 12, 34, AT_SYMLINK_NOFOLLOW), 0);
  backing_->others = others_.number();
  EXPECT_EQ(make(), 0);
  expect_only_new_given();
}

INSTANTIATE_TEST_SUITE_P(Types, GivenAway,
                         ::testing::Combine(::testing::ValuesIn(all_made()), ::testing::Bool()),
                         [](const auto& tested) {
                           return std::string(std::get<Made>(tested.param).type) +
                                  (std::get<bool>(tested.param) ? "_with_ivs" : "_without_ivs");
                         });

}  // namespace
}  // namespace paes::volume
