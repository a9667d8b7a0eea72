// SPDX-License-Identifier: Apache-2.0
// Plugins of a program that ignores and blocks signals, as a library's host may do.
#include "age/plugin_process.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "paes/error.hpp"

namespace paes::age {
namespace {

constexpr unsigned long bit_of(int number) { return 1UL << (number - 1); }

class PluginOfAHost : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "paes-plugin-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = std::getenv("PATH");
    setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
    for (const int number : ignored) {
      before_[number] = std::signal(number, SIG_IGN);
    }
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigaddset(&blocked, SIGUSR2);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
  }
  void TearDown() override {
    (void)pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    for (const auto& [number, handler] : before_) {
      (void)std::signal(number, handler);
    }
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  void write_plugin(const std::string& script) const {
    const std::string path = folder_ + "/age-plugin-test";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  // A mask that the plugin has written, such as SigIgn.
  [[nodiscard]] unsigned long mask(const std::string& name) const {
    std::ifstream file(folder_ + "/masks");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(name + ":\t")) {
        return std::stoul(line.substr(name.size() + 2), nullptr, 16);
      }
    }
    ADD_FAILURE() << "the plugin has not written " << name;
    return 0;
  }

  static constexpr int ignored[] = {SIGCHLD, SIGPIPE, SIGUSR1, SIGALRM, SIGHUP};
  std::string folder_;
  WaitReady no_wait_;

 private:
  std::string path_;
  std::map<int, void (*)(int)> before_;
  sigset_t mask_before_{};
};

// But those that nohup and background jobs ignore for all that they start.
TEST_F(PluginOfAHost, HasNoSignalBlockedOrIgnored) {
  write_plugin("grep -E '^Sig(Blk|Ign)' /proc/self/status > '" + folder_ + "/masks'\n");
  {
    PluginProcess plugin("test", "recipient-v1", no_wait_);
    EXPECT_THROW((void)plugin.receive(), Error);
  }
  constexpr unsigned long own = bit_of(32) - 1;  // the C library keeps the two after these
  EXPECT_EQ(mask("SigBlk"), 0U);
  EXPECT_EQ(mask("SigIgn") & own, bit_of(SIGHUP));
}

// Nobody learns its exit code there. Only what it says counts.
TEST_F(PluginOfAHost, IsNoSuccessWhenItEndsWithoutAWord) {
  write_plugin("exit 0\n");
  PluginProcess plugin("test", "recipient-v1", no_wait_);
  EXPECT_THROW((void)plugin.receive(), Error);
}

// The system collects it by itself there.
TEST_F(PluginOfAHost, IsEndedWhenItDoesNotEnd) {
  write_plugin("echo $$ > '" + folder_ + "/number'; trap '' TERM; exec sleep 1000\n");
  pid_t number = 0;
  {
    const PluginProcess plugin("test", "recipient-v1", no_wait_);
    while (number == 0) {
      std::ifstream(folder_ + "/number") >> number;
    }
  }
  EXPECT_NE(kill(number, 0), 0) << "it still runs";
}

}  // namespace
}  // namespace paes::age
