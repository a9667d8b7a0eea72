// SPDX-License-Identifier: Apache-2.0
// Groups of outputs: nothing has its name before the group is committed, a failure is that file's
// alone, and limits commit a group by themselves, also when several threads fill it.
#include "stream/file/group_commit.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "refused_calls.hpp"
#include "stream/file_sample.hpp"

namespace paes::stream {
namespace {

class Groups : public testing::Test {
 protected:
  // A complete output of three bytes.
  [[nodiscard]] std::unique_ptr<Output> complete(const std::string& name,
                                                 OutputOptions options = {}) const {
    options.file.role = FileRole::grouped;
    auto output = create_output(folder_ / name, options);
    output->write(Contents{1, 2, 3});
    output->commit(3);
    return output;
  }

  // Counts what became of an output.
  GroupCommit::Done counting() {
    return [this](const Output& output, const std::optional<Error>& error) {
      if (error) {
        errors_.push_back(error->what());
      } else {
        ++done_;
        EXPECT_TRUE(output.has_its_name());
      }
    };
  }

  Folder folder_;
  std::atomic<std::size_t> done_{0};
  std::vector<std::string> errors_;
};

TEST_F(Groups, ACompleteOutputWaitsForItsName) {
  auto output = complete("a");
  EXPECT_NE(output->unnamed(), nullptr);
  EXPECT_FALSE(output->has_its_name());
  EXPECT_FALSE(exists(folder_ / "a"));
  GroupCommit group;
  group.add(std::move(output), 3, counting());
  EXPECT_FALSE(exists(folder_ / "a"));
  group.commit_all();
  EXPECT_EQ(done_, 1U);
  EXPECT_EQ(read_file(folder_ / "a"), (Contents{1, 2, 3}));
}

TEST_F(Groups, WhatIsNotCommittedIsDiscarded) {
  {
    GroupCommit group;
    group.add(complete("a"), 3, counting());
    group.add(complete("b", {.file = {.calls = &test::no_unnamed}}), 3, counting());
  }
  EXPECT_EQ(done_, 0U);
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST_F(Groups, AFailureIsThatFilesAlone) {
  GroupCommit group;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    group.add(complete(name), 3, counting());
  }
  group.add(complete("f", {.file = {.calls = &test::no_unnamed}}), 3, counting());
  write_file(folder_ / "b", Contents{9});
  write_file(folder_ / "f", Contents{9});
  group.commit_all();
  EXPECT_EQ(done_, 4U);
  EXPECT_EQ(errors_, (std::vector<std::string>{(folder_ / "b") + ": already exists",
                                               (folder_ / "f") + ": already exists"}));
  EXPECT_EQ(read_file(folder_ / "b"), Contents{9});
  EXPECT_EQ(read_file(folder_ / "e"), (Contents{1, 2, 3}));
  EXPECT_EQ(folder_.entries(), 6U);
}

TEST_F(Groups, LimitsCommitAGroup) {
  GroupCommit by_files({.files = 3, .bytes = 1000});
  for (const char* name : {"a", "b"}) {
    by_files.add(complete(name), 3, counting());
  }
  EXPECT_EQ(done_, 0U);
  by_files.add(complete("c"), 3, counting());
  EXPECT_EQ(done_, 3U);
  GroupCommit by_bytes({.files = 100, .bytes = 6});
  by_bytes.add(complete("d"), 3, counting());
  EXPECT_EQ(done_, 3U);
  by_bytes.add(complete("e"), 3, counting());
  EXPECT_EQ(done_, 5U);
}

TEST_F(Groups, ManyThreadsFillThem) {
  constexpr int threads = 4;
  constexpr int files_of_each = 50;
  GroupCommit group({.files = 7, .bytes = 1000});
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&, i] {
        for (int file = 0; file < files_of_each; ++file) {
          group.add(complete(std::to_string(i) + "-" + std::to_string(file)), 3, counting());
        }
      });
    }
  }
  group.commit_all();
  EXPECT_EQ(done_, std::size_t{threads * files_of_each});
  EXPECT_EQ(folder_.entries(), std::size_t{threads * files_of_each});
}

TEST_F(Groups, TheTimeOfTheSourceIsKept) {
  for (const FileRole role : {FileRole::alone, FileRole::grouped}) {
    const bool is_grouped = role == FileRole::grouped;
    const std::string path = folder_ / (is_grouped ? "grouped" : "alone");
    auto output =
        create_output(path, {.file = {.role = role, .modified = timespec{1234567890, 123456789}}});
    output->write(Contents{1});
    output->commit(1);
    if (is_grouped) {
      GroupCommit group;
      group.add(std::move(output), 1, counting());
      group.commit_all();
    }
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mtim.tv_sec, 1234567890);
    EXPECT_EQ(status.st_mtim.tv_nsec, 123456789);
  }
}

TEST_F(Groups, WhatExistsAlreadyIsNotGrouped) {
  const auto output =
      create_output(std::string("/dev/null"), {.file = {.role = FileRole::grouped}});
  output->write(Contents{1});
  output->commit(1);
  EXPECT_EQ(output->unnamed(), nullptr);
}

}  // namespace
}  // namespace paes::stream
