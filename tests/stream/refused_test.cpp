// What the system can refuse when the work is done: setting permissions on file systems that have
// none, and syncing. A seccomp filter on a thread of its own makes the system call fail.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/loop.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "paes/error.hpp"
#include "stream/output.hpp"
#include "stream/sample.hpp"

namespace paes::stream {
namespace {

// Runs `fn` where the system call `number` fails with `error`; gives back what it threw, or "".
std::string run_without(long number, int error, const std::function<void()>& fn) {
  std::string thrown;
  std::thread thread([&] {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<__u32>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {std::size(steps), steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      thrown = "no seccomp filter: " + std::string(std::strerror(errno));
      return;
    }
    try {
      fn();
    } catch (const Error& refusal) {
      thrown = refusal.what();
    }
  });
  thread.join();
  return thrown;
}

class Refused : public testing::Test {
 protected:
  // Commits a file that should get `permissions` and that had `mode` until then.
  std::string commit(int error, mode_t permissions, mode_t mode, std::string& warning) {
    (void)unlink((folder_ / "out").c_str());
    OutputOptions options;
    options.permissions = permissions;
    options.avoid_unnamed = true;
    Output output = Output::create(folder_ / "out", options);
    output.write(text_);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      EXPECT_EQ(chmod(entry.path().c_str(), mode), 0);
    }
    const std::string thrown = run_without(SYS_fchmod, error, [&] { output.commit(text_.size()); });
    warning = output.warning();
    return thrown;
  }

  Folder folder_;
  Contents text_ = random_buffer(1000);
};

// A forked child that ends must not take the file away, which has a name here.
TEST_F(Refused, AChildLeavesItsParentsFileAlone) {
  OutputOptions options;
  options.avoid_unnamed = true;
  Output output = Output::create(folder_ / "out", options);
  output.write(text_);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    output.discard();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  output.commit(text_.size());
  EXPECT_TRUE(read_file(folder_ / "out") == text_);
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
    Output output = Output::create(device.path(), options);
    output.write(text_);
    EXPECT_EQ(run_without(SYS_fsync, EIO, [&] { output.commit(text_.size()); }),
              device.path() + ": Input/output error");
  }
  Output output = Output::create(device.path(), options);
  output.write(text_);
  EXPECT_NO_THROW(output.commit(text_.size()));
  Contents stored = read_file(folder_ / "disk");
  stored.resize(text_.size());
  EXPECT_TRUE(stored == text_);
}

}  // namespace
}  // namespace paes::stream
