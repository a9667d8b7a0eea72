// SPDX-License-Identifier: Apache-2.0
// Lines of /proc/self/mountinfo.
#include "cli/mount_table.hpp"

#include <gtest/gtest.h>

namespace paes::cli {
namespace {

TEST(MountTable, ReadsALineOfFuse) {
  const auto place = parse_mounted_place(
      "123 28 0:57 / /mnt/text rw,nosuid shared:7 master:3 - fuse.paes-mount /srv/vault "
      "rw,user_id=1000,group_id=1000,allow_other");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->id, 123U);
  EXPECT_EQ(place->device, "0:57");
  EXPECT_EQ(place->path, "/mnt/text");
  EXPECT_EQ(place->type, type_of_vaults);
  EXPECT_EQ(place->source, "/srv/vault");
  EXPECT_EQ(place->user, 1000U);
  EXPECT_EQ(place->root, "/");
}

TEST(MountTable, ReadsALineWithoutTagsOrUser) {
  const auto place = parse_mounted_place("24 1 8:1 / / rw - ext4 /dev/sda1 rw,grpuser_id=5");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->path, "/");
  EXPECT_FALSE(place->user);
}

TEST(MountTable, ReadsCharactersThatStandAsDigits) {
  const auto place =
      parse_mounted_place("1 2 0:3 /c\\040d /a\\040b\\011c\\012d\\134040e rw - t s\\040t rw");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->path, "/a b\tc\nd\\040e");
  EXPECT_EQ(place->root, "/c d");
  EXPECT_EQ(place->source, "s t");
  const auto cut = parse_mounted_place("1 2 0:3 / /a\\04 rw - t s rw");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->path, "/a\\04");
}

TEST(MountTable, RefusesWhatIsNoLine) {
  for (const char* line : {"", " ", "x", "1", "1 2 0:3 / /a rw", "1 2 0:3 / /a rw -",
                           "1 2 0:3 / /a rw t s rw", "x 2 0:3 / /a rw - t s rw"}) {
    EXPECT_FALSE(parse_mounted_place(line)) << line;
  }
}

TEST(MountTable, FindsTheOneThatIsSeen) {
  std::vector<MountedPlace> table(3);
  table[0] = {1, "0:1", "/a", "tmpfs", "", {}, "/"};
  table[1] = {2, "0:2", "/a", "fuse.paes-mount", "", {}, "/"};
  table[2] = {3, "0:3", "/b", "tmpfs", "", {}, "/"};
  ASSERT_NE(find_mounted(table, "/a"), nullptr);
  EXPECT_EQ(find_mounted(table, "/a")->id, 2U);
  EXPECT_EQ(find_mounted(table, "/c"), nullptr);
}

TEST(MountTable, KnowsWhatLiesInAFolder) {
  EXPECT_TRUE(lies_within("/a", "/a"));
  EXPECT_TRUE(lies_within("/a/b", "/a"));
  EXPECT_TRUE(lies_within("/a", "/"));
  EXPECT_FALSE(lies_within("/ab", "/a"));
  EXPECT_FALSE(lies_within("/", "/a"));
}

TEST(MountTable, ReadsThatOfThisProcess) {
  EXPECT_NE(find_mounted(read_mount_table(), "/proc"), nullptr);
}

}  // namespace
}  // namespace paes::cli
