// SPDX-License-Identifier: Apache-2.0
// Giving a file a name that nothing has, in each of the ways that file systems have for it.
#include "core/new_name.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "append_only.hpp"
#include "refused_calls.hpp"

namespace paes {
namespace {

class NewName : public testing::TestWithParam<test::RefusedCalls> {
 protected:
  NewName() {
    std::string pattern = testing::TempDir() + "paes-test-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~NewName() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  [[nodiscard]] RenameOutcome rename_to_new(const std::string& from, const std::string& to) const {
    return rename_to_new_name(AT_FDCWD, path(from), path(to), test::calls_without(GetParam()));
  }
  [[nodiscard]] int rename(const std::string& from, const std::string& to) const {
    return rename_to_new(from, to).error;
  }

  std::string folder_;
};

TEST_P(NewName, AFreeNameIsTaken) {
  write("from", "text");
  EXPECT_EQ(rename("from", "to"), 0);
  EXPECT_EQ(text_of("to"), "text");
  EXPECT_EQ(entries(), 1);
}

TEST_P(NewName, WhatHasTheNameStays) {
  write("from", "text");
  write("to", "precious");
  EXPECT_EQ(rename("from", "to"), EEXIST);
  EXPECT_EQ(text_of("to"), "precious");
  ASSERT_EQ(symlink("nowhere", path("link").c_str()), 0);
  EXPECT_EQ(rename("from", "link"), EEXIST);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  ASSERT_EQ(mkdir(path("folder").c_str(), 0700), 0);
  EXPECT_EQ(rename("from", "folder"), EEXIST);
  EXPECT_EQ(text_of("from"), "text");
  EXPECT_EQ(entries(), 4);
}

TEST_P(NewName, AFailureLeavesNothing) {
  EXPECT_EQ(rename("from", "to"), ENOENT);
  EXPECT_EQ(entries(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, NewName,
                         testing::Values(test::RefusedCalls{}, test::RefusedCalls{.rename = true},
                                         test::RefusedCalls{.rename = true, .link = true}),
                         [](const auto& way) {
                           return std::string(way.param.link     ? "Holder"
                                              : way.param.rename ? "Link"
                                                                 : "Renameat2");
                         });

class AppendOnly : public NewName {
 protected:
  ~AppendOnly() override { (void)test::set_append_only(folder_, false); }
};

TEST_P(AppendOnly, NothingOfOursStaysUnsaid) {
  write("from", "text");
  if (!test::set_append_only(folder_, true)) {
    GTEST_SKIP() << "no append-only folders here: " << std::strerror(errno);
  }
  const RenameOutcome renamed = rename_to_new("from", "to");
  if (GetParam().link) {
    EXPECT_EQ(renamed.error, EPERM);
    EXPECT_FALSE(std::filesystem::exists(path("to")));
    EXPECT_EQ(entries(), 1);
  } else {
    EXPECT_EQ(renamed.error, 0);
    EXPECT_EQ(renamed.kept_old, EPERM);
    EXPECT_EQ(text_of("to"), "text");
    EXPECT_EQ(entries(), 2);
  }
  EXPECT_EQ(text_of("from"), "text");
}

INSTANTIATE_TEST_SUITE_P(Ways, AppendOnly,
                         testing::Values(test::RefusedCalls{}, test::RefusedCalls{.link = true},
                                         test::RefusedCalls{.rename = true, .link = true}));

TEST(NewNames, RefusalsAreThoseOfFileSystemsAndPolicies) {
  for (const int error : {EPERM, EACCES, EINVAL, ENOSYS, EOPNOTSUPP, EXDEV, EMLINK}) {
    EXPECT_TRUE(is_refusal(error)) << error;
  }
  for (const int error : {0, EEXIST, ENOENT, EIO, ENOSPC, EROFS, EDQUOT}) {
    EXPECT_FALSE(is_refusal(error)) << error;
  }
}

}  // namespace
}  // namespace paes
