// SPDX-License-Identifier: Apache-2.0
// What the system can refuse when the work is done: setting permissions on file systems that have
// none, giving files names, and syncing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "append_only.hpp"
#include "paes/error.hpp"
#include "refused_calls.hpp"
#include "sanitized.hpp"
#include "stream/file/create_output.hpp"
#include "stream/file_sample.hpp"
#include "without_call.hpp"

namespace paes::stream {
namespace {

class Refused : public testing::Test {
 protected:
  // Commits a file that should get `permissions` and that had `mode` until then.
  std::string commit(int error, mode_t permissions, mode_t mode, std::string& warning) {
    (void)unlink((folder_ / "out").c_str());
    OutputOptions options;
    options.file.permissions = permissions;
    options.file.calls = &test::no_unnamed;
    const auto output = create_output(folder_ / "out", options);
    output->write(text_);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      EXPECT_EQ(chmod(entry.path().c_str(), mode), 0);
    }
    const std::string thrown =
        run_without({SYS_fchmod}, error, [&] { output->commit(text_.size()); });
    warning = output->warning();
    return thrown;
  }

  // Leaves nothing.
  void check_without_links(int error, const OutputOptions& options, const Contents& text) {
    if (options.overwrite) {
      write_file(folder_ / "out", text_);
    }
    const auto output = create_output(folder_ / "out", options);
    output->write(text);
    EXPECT_EQ(run_without({SYS_linkat}, error, [&] { output->commit(text.size()); }), "") << error;
    EXPECT_TRUE(read_file(folder_ / "out") == text);
    struct stat status = {};
    EXPECT_EQ(stat((folder_ / "out").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0640U);
    EXPECT_EQ(status.st_mtim.tv_sec, options.file.modified->tv_sec);
    if (!options.overwrite) {
      // What exists meanwhile stays, and the new file goes.
      const auto other = create_output(folder_ / "other", options);
      other->write(text);
      write_file(folder_ / "other", text_);
      EXPECT_EQ(run_without({SYS_linkat}, error, [&] { other->commit(text.size()); }),
                (folder_ / "other") + ": already exists");
      other->discard();
      EXPECT_TRUE(read_file(folder_ / "other") == text_);
      EXPECT_EQ(unlink((folder_ / "other").c_str()), 0);
    }
    EXPECT_EQ(folder_.entries(), 1U);
    EXPECT_EQ(unlink((folder_ / "out").c_str()), 0);
  }

  Folder folder_;
  Contents text_ = random_buffer(1000);
};

// A forked child that ends must not take the file away, which has a name here.
TEST_F(Refused, AChildLeavesItsParentsFileAlone) {
  OutputOptions options;
  options.file.calls = &test::no_unnamed;
  const auto output = create_output(folder_ / "out", options);
  output->write(text_);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    output->discard();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  output->commit(text_.size());
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
}

// An unfinished file may hold plain text, so that one that stays is told of.
TEST_F(Refused, AFileThatCannotBeRemovedIsWarnedOf) {
  std::string warnings;
  OutputOptions options;
  options.file.calls = &test::no_unnamed;
  options.warn = [&](const std::string& what_why) { warnings += what_why + "\n"; };
  std::unique_ptr<Output> given_up = create_output(folder_ / "given up", options);
  const auto complete = create_output(folder_ / "complete", options);
  const std::string rests[] = {given_up->temporary_path(), complete->temporary_path()};
  if (!test::set_append_only(folder_.path(), true)) {
    GTEST_SKIP() << "no append-only folders here: " << std::strerror(errno);
  }
  given_up.reset();
  complete->write(text_);
  complete->commit(text_.size());
  EXPECT_TRUE(test::set_append_only(folder_.path(), false));
  EXPECT_EQ(warnings, rests[0] + ": could not be removed: Operation not permitted\n" + rests[1] +
                          ": could not be removed: Operation not permitted\n");
  EXPECT_TRUE(read_file(folder_ / "complete") == text_);
  EXPECT_EQ(folder_.entries(), 3U);
}

TEST_F(Refused, PermissionsThatCannotBeSetDoNotLoseTheWork) {
  std::string warning;
  for (const int error : {EPERM, EOPNOTSUPP, ENOTSUP, ENOSYS}) {
    for (const mode_t mode : {0600U, 0644U, 0755U}) {
      EXPECT_EQ(commit(error, 0644, mode, warning), "");
      EXPECT_EQ(warning, "") << error;
      EXPECT_TRUE(read_file(folder_ / "out") == text_);
    }
  }
  // The owner's own bits and the right to run it tell nobody anything.
  EXPECT_EQ(commit(EPERM, 0400, 0711, warning), "");
  EXPECT_EQ(warning, "");
}

TEST_F(Refused, AFileThatOthersCanReadIsWarnedOf) {
  std::string warning;
  for (const mode_t mode : {0644U, 0620U, 0602U}) {
    EXPECT_EQ(commit(EPERM, 0600, mode, warning), "");
    EXPECT_EQ(warning, (folder_ / "out") +
                           ": other users have more access than they should, for its permissions "
                           "could not be set: Operation not permitted");
    EXPECT_TRUE(read_file(folder_ / "out") == text_);
  }
}

// As ntfs-3g and exfat-fuse do: the call succeeds, and nothing has changed.
TEST_F(Refused, PermissionsThatOnlySeemToBeSetAreWarnedOf) {
  std::string warning;
  for (const mode_t mode : {0777U, 0644U, 0602U}) {
    EXPECT_EQ(commit(0, 0600, mode, warning), "");
    EXPECT_EQ(warning, (folder_ / "out") +
                           ": other users have more access than they should, for its permissions "
                           "could not be set: the file system keeps none");
    EXPECT_TRUE(read_file(folder_ / "out") == text_);
  }
  EXPECT_EQ(commit(0, 0644, 0644, warning), "");
  EXPECT_EQ(warning, "");
}

TEST_F(Refused, ASecretKeyThatOthersCouldReadIsNotSaved) {
  for (const int error : {0, EPERM}) {
    const std::string thrown = run_without({SYS_fchmod}, error, [&] {
      OutputOptions options;
      options.file.must_be_private = true;
      const auto output = create_output(folder_ / "key", options);
      output->write(text_);
      ASSERT_EQ(chmod(path_of_descriptor(output->descriptor()).c_str(), 0644), 0);
      output->commit(text_.size());
    });
    EXPECT_NE(thrown.find("other users have more access"), std::string::npos) << thrown;
    EXPECT_EQ(folder_.entries(), 0U);
  }
}

constexpr const char* child_starts_threads =
    "a child starts threads, and ThreadSanitizer ends such a child";

// In a process of its own, because a process remembers where links were refused. Its failures count
// as this one's.
void in_child(const std::function<void()>& check) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    check();
    (void)std::fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A file without a name that gets none there: its content moves to one that has a name.
TEST_F(Refused, AFileSystemWithoutLinks) {
  if (test::is_sanitized) {
    GTEST_SKIP() << child_starts_threads;
  }
  Contents sparse = random_buffer(600'000);
  std::fill(sparse.begin() + 1000, sparse.end() - 1000, std::uint8_t{0});
  for (const int error : {EPERM, EACCES, ENOSYS, EOPNOTSUPP, EXDEV, EMLINK}) {
    for (const bool overwrite : {false, true}) {
      for (const bool has_noreplace : {false, true}) {
        const NewFileCalls calls = test::calls_without({.rename = !has_noreplace});
        OutputOptions options;
        options.overwrite = overwrite;
        options.file.calls = &calls;
        options.file.permissions = 0640;
        options.file.modified = timespec{1'000'000'000, 0};
        in_child([&] { check_without_links(error, options, sparse); });
        EXPECT_EQ(folder_.entries(), 0U);
      }
    }
  }
}

// What was learnt from the first file is used for the second.
TEST_F(Refused, ManyFilesWithoutLinks) {
  if (test::is_sanitized) {
    GTEST_SKIP() << child_starts_threads;
  }
  in_child([&] {
    EXPECT_EQ(run_without({SYS_linkat}, EPERM,
                          [&] {
                            for (const char* const name : {"one", "two"}) {
                              const auto output = create_output(folder_ / name, {});
                              EXPECT_EQ(output->temporary_path().empty(), *name == 'o');
                              output->write(text_);
                              output->commit(text_.size());
                              EXPECT_TRUE(read_file(folder_ / name) == text_);
                            }
                          }),
              "");
  });
  EXPECT_EQ(folder_.entries(), 2U);
}

TEST_F(Refused, AnErrorOfALinkIsAnError) {
  if (test::is_sanitized) {
    GTEST_SKIP() << child_starts_threads;
  }
  in_child([&] {
    const auto output = create_output(folder_ / "out", {});
    ASSERT_EQ(output->temporary_path(), "");
    output->write(text_);
    EXPECT_EQ(run_without({SYS_linkat}, EIO, [&] { output->commit(text_.size()); }),
              (folder_ / "out") + ": Input/output error");
  });
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST_F(Refused, OtherErrorsAreErrors) {
  std::string warning;
  EXPECT_EQ(commit(EIO, 0644, 0600, warning), (folder_ / "out") + ": Input/output error");
  EXPECT_FALSE(exists(folder_ / "out"));
}

// A file as a block device; number() is -1 where that is not possible.
class LoopDevice {
 public:
  explicit LoopDevice(const std::string& file) {
    const Descriptor control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int free = control.is_open() ? ioctl(control.number(), LOOP_CTL_GET_FREE) : -1;
    if (free < 0) {
      return;
    }
    path_ = "/dev/loop" + std::to_string(free);
    device_ = Descriptor(open(path_.c_str(), O_RDWR | O_CLOEXEC));
    const Descriptor backing(open(file.c_str(), O_RDWR | O_CLOEXEC));
    attached_ = device_.is_open() && ioctl(device_.number(), LOOP_SET_FD, backing.number()) == 0;
  }
  ~LoopDevice() {
    if (attached_) {
      (void)ioctl(device_.number(), LOOP_CLR_FD);
    }
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  [[nodiscard]] bool is_attached() const { return attached_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor device_;
  bool attached_ = false;
};

TEST_F(Refused, ABlockDeviceIsSynced) {
  write_file(folder_ / "disk", Contents(1 << 20));
  const LoopDevice device(folder_ / "disk");
  if (!device.is_attached()) {
    GTEST_SKIP() << "no loop device to be had: " << std::strerror(errno);
  }
  OutputOptions options;
  options.overwrite = true;
  {
    const auto output = create_output(device.path(), options);
    output->write(text_);
    EXPECT_EQ(run_without({SYS_fsync}, EIO, [&] { output->commit(text_.size()); }),
              device.path() + ": Input/output error");
  }
  const auto output = create_output(device.path(), options);
  output->write(text_);
  EXPECT_NO_THROW(output->commit(text_.size()));
  Contents stored = read_file(folder_ / "disk");
  stored.resize(text_.size());
  EXPECT_TRUE(stored == text_);
}

}  // namespace
}  // namespace paes::stream
