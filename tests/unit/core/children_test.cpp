// SPDX-License-Identifier: Apache-2.0
#include "core/children.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace paes {
namespace {

using CloseFrom = void (*)(posix_spawn_file_actions_t&, int);

// Whether a new program has this descriptor of ours.
bool is_passed_on(int number, CloseFrom close) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (close != nullptr) {
    close(actions, STDERR_FILENO + 1);
  }
  std::string program = "/bin/sh";
  std::string option = "-c";
  std::string command = "test -e /proc/self/fd/" + std::to_string(number);
  char* const arguments[] = {program.data(), option.data(), command.data(), nullptr};
  pid_t child = -1;
  EXPECT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return wait_for_child(child) == 0;
}

TEST(Children, GetNoDescriptor) {
  const int inherited = fcntl(STDIN_FILENO, F_DUPFD, 200);  // without FD_CLOEXEC
  ASSERT_GE(inherited, 200);
  EXPECT_TRUE(is_passed_on(inherited, nullptr));
  EXPECT_FALSE(is_passed_on(inherited, close_from));
  EXPECT_FALSE(is_passed_on(inherited, close_what_is_open_from));
  EXPECT_TRUE(is_passed_on(STDIN_FILENO, close_what_is_open_from));
  ::close(inherited);
}

// PATH for the scope.
class Path {
 public:
  explicit Path(const std::string& value) : before_(std::getenv("PATH")) {
    setenv("PATH", value.c_str(), 1);
  }
  ~Path() { setenv("PATH", before_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::string before_;
};

TEST(Children, AreFoundInAbsoluteFolders) {
  EXPECT_EQ((Path("/bin"), find_program("sh")), "/bin/sh");
  EXPECT_EQ((Path("/missing::/bin:/"), find_program("sh")), "/bin/sh");
  EXPECT_EQ((Path("/etc"), find_program("passwd")), "");  // it cannot be executed
  EXPECT_EQ((Path("/"), find_program("bin")), "");
  EXPECT_EQ((Path(""), find_program("sh")), "");
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_EQ((Path("bin:.:"), find_program("sh")), "");
}

}  // namespace
}  // namespace paes
