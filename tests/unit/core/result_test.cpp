// SPDX-License-Identifier: Apache-2.0
#include "core/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/file_ref.hpp"

namespace paes {
namespace {

template <typename From, typename To>
constexpr bool becomes = std::is_convertible_v<From, To>;

static_assert(!becomes<int, Errno> && !becomes<Errno, int> && !becomes<Errno, bool>);
static_assert(!becomes<int, Result<void>> && !becomes<Result<void>, int>);
static_assert(!becomes<Result<void>, bool> && !becomes<Result<int>, int>);
static_assert(!becomes<Errno, FileRef> && !becomes<FileRef, Errno>);
static_assert(!becomes<int, FileRef> && !becomes<FileRef, int> && !becomes<int, FolderRef>);
static_assert(becomes<FolderRef, FileRef> && !becomes<FileRef, FolderRef>);
static_assert(becomes<const Descriptor&, FileRef> && !becomes<const Descriptor&, FolderRef>);
static_assert(!becomes<Descriptor, FileRef>);  // it would be closed
static_assert(!std::is_constructible_v<FolderRef, Descriptor>);

TEST(Result, HasAValueOrAnErrno) {
  const Result<std::size_t> none = Errno(ENOENT);
  EXPECT_FALSE(none);
  EXPECT_EQ(none.error().number(), ENOENT);
  EXPECT_TRUE(none.failed_with(EIO, ENOENT));
  EXPECT_FALSE(none.failed_with(EIO));
  EXPECT_EQ(none.error().message(), std::strerror(ENOENT));
  const Result<std::size_t> zero = std::size_t{0};
  EXPECT_TRUE(zero);
  EXPECT_EQ(*zero, 0U);
  EXPECT_FALSE(zero.failed_with(0, EIO));
}

TEST(Result, GivesAwayWhatItHas) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  ASSERT_TRUE(made);
  const std::unique_ptr<int> taken = std::move(*made);
  EXPECT_EQ(*taken, 7);
  EXPECT_TRUE(Result<void>(made));
  made = Errno(EIO);
  EXPECT_TRUE(Result<void>(made).failed_with(EIO));
}

TEST(Result, TheNextIsDoneAfterASuccessAlone) {
  const auto next = [] { return Result<int>(3); };
  EXPECT_EQ(*Result<void>().and_then(next), 3);
  EXPECT_FALSE(Result<void>().failed_with(0));
  EXPECT_TRUE(Result<void>(Errno(EPERM)).and_then(next).failed_with(EPERM));
}

}  // namespace
}  // namespace paes
