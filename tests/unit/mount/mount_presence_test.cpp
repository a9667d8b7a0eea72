// SPDX-License-Identifier: Apache-2.0
// The socket by which a mount is waited for, without a mount.
#include "cli/mount_presence.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace paes::cli {
namespace {

using End = MountProcess::End;

// A device that no mount has, and another one in each process and test.
MountedPlace new_place() {
  static unsigned number = 0;
  MountedPlace place;
  place.device = "test:" + std::to_string(getpid()) + ":" + std::to_string(number++);
  place.user = geteuid();
  return place;
}

// A mount of this process, announced and found.
struct FoundPresence {
  FoundPresence() {
    presence.announce(place.device);
    process = MountProcess::find(place);
  }

  MountedPlace place = new_place();
  MountPresence presence;
  std::optional<MountProcess> process;
};

auto in_seconds(int seconds) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}

constexpr int long_s = 120;

TEST(MountPresence, NobodyIsThere) { EXPECT_FALSE(MountProcess::find(new_place())); }

TEST(MountPresence, IsFoundUntilItWithdraws) {
  FoundPresence found;
  ASSERT_TRUE(found.process);
  EXPECT_EQ(found.process->number(), getpid());
  found.presence.withdraw();
  EXPECT_FALSE(MountProcess::find(found.place));
}

// How a program of its own ends that was found before.
End end_of_program(bool reports) {
  const MountedPlace place = new_place();
  int ready[2];
  int go[2];
  EXPECT_EQ(pipe(ready), 0);
  EXPECT_EQ(pipe(go), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    {
      MountPresence presence;
      presence.announce(place.device);
      const bool is_told = write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1;
      presence.withdraw();
      if (reports && is_told) {
        presence.report_written();
      }
    }
    _exit(0);
  }
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  auto process = MountProcess::find(place);
  EXPECT_EQ(write(go[1], &byte, 1), 1);
  const Cancel cancel;
  const End end = process ? process->wait_for_end(cancel, in_seconds(long_s)) : End::still_runs;
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), child) << "it is gone by then";
  for (const int descriptor : {ready[0], ready[1], go[0], go[1]}) {
    close(descriptor);
  }
  return end;
}

TEST(MountPresence, TellsThatAllIsWritten) { EXPECT_EQ(end_of_program(true), End::written); }

TEST(MountPresence, SilenceIsALoss) { EXPECT_EQ(end_of_program(false), End::lost); }

// As what completes a killed mount's writes does, a child holds the socket of a program that ended.
TEST(MountPresence, AHeldSocketOfAProgramThatIsGoneIsNotIts) {
  const MountedPlace place = new_place();
  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const pid_t program = fork();
  if (program == 0) {
    MountPresence presence;
    presence.announce(place.device);
    if (MountProcess::find(place) && fork() != 0) {
      _exit(0);
    }
    close(held[1]);
    char byte = 0;
    _exit(read(held[0], &byte, 1) == 0 ? 0 : 1);  // until the test is over
  }
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(program), &ended, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(ended.si_status, 0) << "it has announced itself";
  EXPECT_FALSE(MountProcess::find(place)) << "it is not waited for yet";
  EXPECT_EQ(waitpid(program, nullptr, 0), program);
  EXPECT_FALSE(MountProcess::find(place));
  MountPresence next;
  next.announce(place.device);
  EXPECT_TRUE(MountProcess::find(place)) << "its socket has a name of its own";
  close(held[0]);
  close(held[1]);
}

TEST(MountPresence, StillRunsWhenTheTimeIsOver) {
  FoundPresence found;
  ASSERT_TRUE(found.process);
  const Cancel cancel;
  EXPECT_EQ(found.process->wait_for_end(cancel, in_seconds(0)), End::still_runs);
  found.presence.withdraw();
  found.presence.report_written();
  // Everything is written, but this process has not ended.
  EXPECT_EQ(found.process->wait_for_end(cancel, in_seconds(0)), End::still_runs);
}

TEST(MountPresence, StopsWaitingWhenAsked) {
  FoundPresence found;
  ASSERT_TRUE(found.process);
  Cancel cancel;
  cancel.request();
  EXPECT_THROW((void)found.process->wait_for_end(cancel, in_seconds(long_s)), Error);
}

TEST(MountPresence, AnotherUsersMountIsNotIts) {
  MountedPlace place = new_place();
  if (geteuid() == 0) {
    GTEST_SKIP() << "root's programs may serve everybody's mounts";
  }
  MountPresence presence;
  presence.announce(place.device);
  place.user = geteuid() + 1;
  EXPECT_FALSE(MountProcess::find(place));
}

// Clients that have given up take no room.
TEST(MountPresence, AnswersAfterManyClients) {
  const MountedPlace place = new_place();
  MountPresence presence;
  presence.announce(place.device);
  for (int turn = 0; turn < 5000; ++turn) {
    while (!MountProcess::find(place)) {
      std::this_thread::yield();  // as many wait to be accepted as the system lets
    }
  }
  auto last = MountProcess::find(place);
  while (!last) {
    std::this_thread::yield();
    last = MountProcess::find(place);
  }
  presence.withdraw();
  presence.report_written();
  const Cancel cancel;
  EXPECT_EQ(last->wait_for_end(cancel, in_seconds(0)), End::still_runs);
}

// The next mount may have the device of the last one.
TEST(MountPresence, WaitsForItsPredecessor) {
  const MountedPlace place = new_place();
  auto first = std::make_unique<MountPresence>();
  first->announce(place.device);
  MountPresence second;
  std::thread thread([&] { second.announce(place.device); });
  first->withdraw();
  thread.join();
  EXPECT_TRUE(MountProcess::find(place));
}

}  // namespace
}  // namespace paes::cli
