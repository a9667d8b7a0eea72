// SPDX-License-Identifier: Apache-2.0
// A descriptor is closed once, by its owner, and by nobody who only borrows it.
#include "core/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "paes/error.hpp"

namespace paes {
namespace {

int opened() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_valid(int number) { return fcntl(number, F_GETFD) != -1; }

TEST(Descriptor, IsClosedByItsOwner) {
  const int number = opened();
  {
    const Descriptor owner(number);
    EXPECT_TRUE(owner.is_open());
    EXPECT_EQ(owner.number(), number);
    const Descriptor borrower(number, false);
    EXPECT_TRUE(borrower.is_open());
  }
  EXPECT_FALSE(is_valid(number));
  EXPECT_FALSE(Descriptor().is_open());
}

TEST(Descriptor, IsBorrowedUntilItsOwnerClosesIt) {
  const Descriptor owner(opened());
  { const Descriptor borrower(owner.number(), false); }
  EXPECT_TRUE(is_valid(owner.number()));
}

TEST(Descriptor, MovesWithItsOwnership) {
  const int first = opened();
  const int second = opened();
  Descriptor owner(first);
  {
    Descriptor moved(std::move(owner));
    EXPECT_EQ(moved.number(), first);
    Descriptor borrower(second, false);
    borrower = std::move(moved);  // which has now what was borrowed, and leaves it open
    EXPECT_EQ(borrower.number(), first);
  }
  EXPECT_FALSE(is_valid(first));
  EXPECT_TRUE(is_valid(second));
  (void)close(second);
}

TEST(Errno, IsSaidInTheSystemsWords) {
  try {
    errno = ENOSPC;
    throw_errno("file");
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::failure);
    EXPECT_STREQ(error.what(), "file: No space left on device");
  }
}

TEST(TemporaryNames, NoTwoAreAlike) { EXPECT_NE(new_temporary_name(), new_temporary_name()); }

}  // namespace
}  // namespace paes
