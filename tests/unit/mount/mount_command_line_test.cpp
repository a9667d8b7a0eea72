// SPDX-License-Identifier: Apache-2.0
// The options of paes-mount that are not CLI11's: times, and the list after -o.
#include "paes-mount/mount_command_line.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "paes/error.hpp"

namespace paes::mount {
namespace {

using std::chrono::seconds;

TEST(Duration, TakesSecondsAndUnits) {
  EXPECT_EQ(parse_duration("90"), seconds(90));
  EXPECT_EQ(parse_duration("90s"), seconds(90));
  EXPECT_EQ(parse_duration("15m"), seconds(900));
  EXPECT_EQ(parse_duration("2h45m"), seconds(2 * 3600 + 45 * 60));
  EXPECT_EQ(parse_duration("1d1s"), seconds(86401));
}

TEST(Duration, RefusesTheRest) {
  for (const char* text : {"", "0", "0s", "-1", "1x", "m", "1.5h", " 1", "1 ", "h1", "99999999999",
                           "18446744073709551616", "4000d"}) {
    EXPECT_THROW((void)parse_duration(text), Error) << text;
  }
}

MountCommandLine parsed(std::vector<std::string> words) {
  CLI::App app;
  MountCommandLine command;
  command.declare(app);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  command.take_listed();
  return command;
}

TEST(MountCommandLine, TakesNoIoUring) {
  EXPECT_TRUE(parsed({"vault", "mnt"}).may_use_io_uring);
  EXPECT_TRUE(parsed({"vault", "mnt", "-o", "io_uring=auto"}).may_use_io_uring);
  EXPECT_FALSE(parsed({"vault", "mnt", "-o", "io_uring=off"}).may_use_io_uring);
  EXPECT_FALSE(parsed({"vault", "mnt", "--io-uring", "off"}).may_use_io_uring);
  EXPECT_THROW(parsed({"vault", "mnt", "-o", "io_uring=on"}), Error);
}

TEST(MountCommandLine, TakesWhatFstabHas) {
  const MountCommandLine command = parsed(
      {"vault", "mnt", "-o",
       "ro,noauto,nofail,_netdev,user,x-systemd.automount,allow_other,noexec,idle=10m,"
       "fsname=a\\,b,kernel=bitslice,threads=3,shared,acl,nonempty,masterkeyfile=k,config=c"});
  EXPECT_TRUE(command.allows_others && command.is_shared && command.has_acls &&
              command.may_have_files);
  EXPECT_EQ(command.idle, seconds(600));
  EXPECT_EQ(command.kernel, "bitslice");
  EXPECT_EQ(command.threads, 3U);
  EXPECT_EQ(command.vault.master_key_file, "k");
  EXPECT_EQ(command.vault.place.configuration_path(), "c");
  EXPECT_EQ(command.vault.place.folder(), "vault");
  EXPECT_EQ(command.mountpoint, "mnt");
  EXPECT_EQ(
      command.mount_options("/vault"),
      "ro,default_permissions,subtype=paes-mount,fsname=a\\,b,nosuid,nodev,noexec,allow_other");
}

TEST(MountCommandLine, NamesTheVaultAsTheSource) {
  EXPECT_EQ(parsed({"v", "m"}).mount_options("/a,b\\c"),
            "ro,default_permissions,subtype=paes-mount,fsname=/a\\,b\\\\c,nosuid,nodev,exec");
}

TEST(MountCommandLine, LastOfSuidAndNosuidCounts) {
  EXPECT_TRUE(parsed({"v", "m", "-o", "nosuid,suid"}).has_suid);
  EXPECT_FALSE(parsed({"v", "m", "-o", "suid", "-o", "nosuid"}).has_suid);
}

TEST(MountCommandLine, MakesAheadOnlyWhatIsWritten) {
  EXPECT_EQ(parsed({"v", "m", "-w"}).ahead, 0U);
  EXPECT_EQ(parsed({"v", "m", "-w", "--ahead", "64"}).ahead, 64U);
  EXPECT_EQ(parsed({"v", "m", "-o", "rw,ahead=4096"}).ahead, 4096U);
  EXPECT_EQ(parsed({"v", "m", "-o", "ahead=0"}).ahead, 0U);
  EXPECT_THROW((void)parsed({"v", "m", "--ahead", "64"}), Error);
  EXPECT_THROW((void)parsed({"v", "m", "-o", "rw,ahead=1,ro"}), Error);
}

TEST(MountCommandLine, RefusesWhatItDoesNotKnow) {
  for (const char* list :
       {"cache=none", "ro,bogus", "bogus=1", "threads=0", "threads=x", "idle=", "passfile",
        "threads=99999", "passfile=a,passfile=b", "rw,ahead=4097", "rw,ahead=x", "rw,ahead"}) {
    EXPECT_THROW((void)parsed({"v", "m", "-o", list}), Error) << list;
  }
}

}  // namespace
}  // namespace paes::mount
