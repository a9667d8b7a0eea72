// SPDX-License-Identifier: Apache-2.0
// The folders of a tree: none is too deep, few are kept open, and no link is followed, whatever is
// exchanged meanwhile.
#include "stream/file/file_place.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "stream/file/file_identity.hpp"
#include "stream/file_sample.hpp"

namespace paes::stream {
namespace {

namespace fs = std::filesystem;

FileIdentity identity_of_folder(const OpenFolder& folder) {
  struct stat status = {};
  EXPECT_TRUE(folder != nullptr && fstat(folder->number(), &status) == 0);
  return identity_of(status);
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

class Trees : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Tree> opened(const std::string& name = "") const {
    auto tree = std::make_unique<Tree>((top_ / name).string());
    tree->open();
    return tree;
  }
  void make(const std::string& below) const { fs::create_directories(top_ / below); }
  [[nodiscard]] FileIdentity there(const std::string& below) const {
    struct stat status = {};
    EXPECT_EQ(lstat((top_ / below).c_str(), &status), 0);
    return identity_of(status);
  }

  Folder folder_;
  const fs::path top_ = folder_.path();
};

TEST_F(Trees, EachFolderIsTheOneWithThatPath) {
  for (const char* const below : {"a/b/c", "a/bb", "ab", "a/b/cc/d", "abc/d/e/f"}) {
    make(below);
  }
  const auto tree = opened();
  const std::vector<std::string> paths = {
      "", "a", "a/b", "a/b/c", "a/bb", "ab", "a/b/cc", "abc/d", "abc/d/e", "a/b/cc/d", "abc/d/e/f"};
  for (const std::string& first : paths) {
    for (const std::string& second : paths) {
      for (const std::string& below : {first, second}) {
        EXPECT_TRUE(identity_of_folder(tree->folder(below)) == there(below))
            << first << " " << below;
      }
      errno = 0;
      EXPECT_EQ(tree->folder(second.empty() ? "none" : second + "/none"), nullptr);
      EXPECT_EQ(errno, ENOENT);
    }
  }
}

// Down and back up again, in a tree that is deeper than the system's paths are long.
TEST_F(Trees, DeepWays) {
  constexpr unsigned depth = 1200;
  const std::string name = "folder";
  std::vector<FileIdentity> made;
  std::string below;
  const auto tree = opened();
  const std::size_t before = open_descriptors();
  for (unsigned i = 0; i < depth; ++i) {
    const OpenFolder around = tree->folder(below);
    ASSERT_NE(around, nullptr);
    ASSERT_EQ(mkdirat(around->number(), name.c_str(), 0700), 0);
    below += below.empty() ? name : "/" + name;
    made.push_back(identity_of_folder(tree->folder(below)));
  }
  EXPECT_LE(open_descriptors(), before + 512 + 2);
  for (unsigned i = depth; i > 0; --i) {
    ASSERT_TRUE(identity_of_folder(tree->folder(below)) == made[i - 1]) << i;
    below.resize(below.size() - std::min(below.size(), name.size() + 1));
  }
  EXPECT_LE(open_descriptors(), before + 512 + 2);
  tree->let_go();
  EXPECT_EQ(open_descriptors(), before);
  // The library's removal is no match for the depth.
  EXPECT_EQ(std::system(("rm -rf '" + (top_ / name).string() + "'").c_str()), 0);
}

// The user may name any number of folders.
TEST_F(Trees, TwoKeepFoldersOpen) {
  std::vector<std::unique_ptr<Tree>> trees;
  for (unsigned i = 0; i < 20; ++i) {
    make(std::to_string(i) + "/a/b/c");
    trees.push_back(opened(std::to_string(i)));
  }
  const std::size_t before = open_descriptors();
  for (const auto& tree : trees) {
    for (const char* const below : {"a", "a/b", "a/b/c"}) {
      EXPECT_NE(tree->folder(below), nullptr);
    }
    EXPECT_LE(open_descriptors(), before + 6);
  }
  EXPECT_EQ(open_descriptors(), before + 6);
  Tree::let_all_go();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Trees, NoLinkIsFollowed) {
  make("tree/a/b/c");
  make("other/b/c");
  const auto tree = opened("tree");
  EXPECT_NE(tree->folder("a/b/c"), nullptr);
  fs::rename(top_ / "tree/a", top_ / "away");
  fs::create_symlink(top_ / "other", top_ / "tree/a");
  // What is kept is what was there. What is not kept is looked up as it is.
  EXPECT_TRUE(identity_of_folder(tree->folder("a/b/c")) == there("away/b/c"));
  EXPECT_TRUE(identity_of_folder(tree->folder("a/b")) == there("away/b"));
  tree->let_go();
  for (const char* const below : {"a", "a/b", "a/b/c"}) {
    EXPECT_EQ(tree->folder(below), nullptr) << below;
    EXPECT_EQ(errno, ELOOP) << below;
  }
  make("tree/d");
  fs::create_symlink(top_ / "other", top_ / "tree/d/l");
  EXPECT_NE(tree->folder("d"), nullptr);
  EXPECT_EQ(tree->folder("d/l/b"), nullptr);
  EXPECT_EQ(errno, ELOOP);
}

}  // namespace
}  // namespace paes::stream
