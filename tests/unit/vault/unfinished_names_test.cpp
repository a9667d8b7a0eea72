// SPDX-License-Identifier: Apache-2.0
// Names of what is not complete yet: only such a name is taken for one, since a volume hides it.
#include "vault/unfinished_names.hpp"

#include <gtest/gtest.h>

#include <string>

#include "vault/names.hpp"

namespace paes::vault {
namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef";

// Everything but the digits is fixed: a later version of paes must know what this one left behind.
TEST(UnfinishedNames, AreFixedButForTheirDigits) {
  for (const bool has_plain_names : {false, true}) {
    const std::string before = has_plain_names ? ".paes-put-" : "gocryptfs.longname.paes-";
    const std::string after = has_plain_names ? "" : ".name";
    const std::string name = new_unfinished_name(has_plain_names);
    ASSERT_EQ(name.size(), before.size() + 16 + after.size());
    EXPECT_TRUE(name.starts_with(before));
    EXPECT_TRUE(name.ends_with(after));
    const std::string digits = name.substr(before.size(), 16);
    EXPECT_EQ(digits.find_first_not_of(hexadecimal), std::string::npos) << name;
    EXPECT_NE(new_unfinished_name(has_plain_names), name);
    EXPECT_TRUE(is_unfinished_name(name, has_plain_names));
    EXPECT_FALSE(is_unfinished_name(name, !has_plain_names));
    for (const std::string& other :
         {before + digits.substr(1) + after, before + "0" + digits + after, "x" + name.substr(1),
          name.substr(1), name + "x"}) {
      EXPECT_FALSE(is_unfinished_name(other, has_plain_names)) << other;
    }
  }
}

TEST(UnfinishedNames, AreNotThoseOfUsersFiles) {
  for (const char* name :
       {".paes-put-0123456789abcdeg", ".paes-put-x123456789abcdef", ".paes-put-0123456789ABCDEF",
        ".paes-get-0123456789abcdef", "notes-about-a-long-journey", ""}) {
    EXPECT_FALSE(is_unfinished_name(name, true)) << name;
  }
  // Each of these differs in one part alone.
  for (const char* name : {"gocryptfs.longname.0123456789abcdef01234.name",
                           "gocryptfs-longname.paes-0123456789abcdef.name",
                           "gocryptfs.longname.paes-0123456789abcdef.names", "",
                           "gocryptfs.longname.paes-0123456789abcdef.nam_"}) {
    EXPECT_FALSE(is_unfinished_name(name, false)) << name;
  }
  EXPECT_TRUE(is_unfinished_name("gocryptfs.longname.paes-0123456789abcdef.name", false));
  // A long name's own file has a hash in that place, which is longer.
  EXPECT_FALSE(is_unfinished_name(
      "gocryptfs.longname.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU.name", false));
}

}  // namespace
}  // namespace paes::vault
