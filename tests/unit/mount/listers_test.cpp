// SPDX-License-Identifier: Apache-2.0
// Who gets attributes with names.
#include "paes-mount/listers.hpp"

#include <gtest/gtest.h>

namespace paes::mount {
namespace {

TEST(Listers, GetAttributesWithTheFirstFolderAlone) {
  Listers listers;
  EXPECT_TRUE(listers.wants_attributes(7));
  EXPECT_FALSE(listers.wants_attributes(7));
  EXPECT_FALSE(listers.wants_attributes(7));
}

TEST(Listers, GetAttributesOnceTheyAskForThem) {
  Listers listers;
  (void)listers.wants_attributes(7);
  (void)listers.wants_attributes(7);
  listers.has_asked(7);
  EXPECT_TRUE(listers.wants_attributes(7));
  EXPECT_TRUE(listers.wants_attributes(7));
}

// With the first folder there is no need to ask; who asks all the same asks for something else.
TEST(Listers, SayNothingByQuestionsBefore) {
  Listers listers;
  listers.has_asked(7);
  EXPECT_TRUE(listers.wants_attributes(7));
  listers.has_asked(7);
  EXPECT_FALSE(listers.wants_attributes(7));
}

TEST(Listers, AreToldApart) {
  Listers listers;
  for (const pid_t process : {7, 8}) {
    (void)listers.wants_attributes(process);
    (void)listers.wants_attributes(process);
  }
  listers.has_asked(8);
  EXPECT_FALSE(listers.wants_attributes(7));
  EXPECT_TRUE(listers.wants_attributes(8));
}

TEST(Listers, AreForgottenForOthers) {
  Listers listers;
  (void)listers.wants_attributes(7);
  for (pid_t process = 8; process < 10'000; ++process) {
    EXPECT_TRUE(listers.wants_attributes(process)) << process;
  }
  EXPECT_TRUE(listers.wants_attributes(7));
}

TEST(Listers, ThatCannotBeSeenGetAttributes) {
  Listers listers;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(listers.wants_attributes(0));
    EXPECT_TRUE(listers.wants_attributes(-1));
  }
}

}  // namespace
}  // namespace paes::mount
