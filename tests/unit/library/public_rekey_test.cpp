// SPDX-License-Identifier: Apache-2.0
// Other recipients for a file through the public header: who opens it then, and what is refused.
#include <gtest/gtest.h>

#include "library/public_sample.hpp"

namespace paes {
namespace {

class PublicRekey : public testing::Test {
 protected:
  void SetUp() override { write_file(file_, sealed(text_, for_me())); }

  [[nodiscard]] bool opens(const OpenWith& open_with) const {
    try {
      return all_of(Reader(file_, open_with)) == text_;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::wrong_key) << error.what();
      return false;
    }
  }
  void expect_refused(ErrorCode code, const std::function<void()>& call) const {
    const Contents before = read_file(file_);
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code, code) << error.what();
    }
    EXPECT_EQ(read_file(file_), before);
    EXPECT_EQ(folder_.entries(), 1U);
  }

  Folder folder_;
  std::string file_ = folder_ / "file.paes";
  Contents text_ = random_buffer(3 * chunk + 5, 1);
  Identity other_ = Identity::generate();
  OpenWith with_other_ = {.identities = {other_}};
};

TEST_F(PublicRekey, ReplacesThoseWhoCanOpenIt) {
  EXPECT_EQ(rekey_file(file_, with_mine(), {.recipients = {other_.recipient()}}), 1U);
  EXPECT_FALSE(opens(with_mine()));
  EXPECT_TRUE(opens(with_other_));
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(PublicRekey, AddsAndRemoves) {
  EXPECT_EQ(change_recipients(file_, with_mine(), {.add = {other_.recipient()}}), 2U);
  EXPECT_TRUE(opens(with_mine()));
  EXPECT_TRUE(opens(with_other_));
  EXPECT_EQ(change_recipients(file_, with_mine(), {.remove = {0}}), 1U);
  EXPECT_FALSE(opens(with_mine()));
  EXPECT_TRUE(opens(with_other_));
  // Its own key for another, in one step.
  EXPECT_EQ(
      change_recipients(file_, with_other_, {.add = {my_identity().recipient()}, .remove = {0, 0}}),
      1U);
  EXPECT_TRUE(opens(with_mine()));
  EXPECT_FALSE(opens(with_other_));
}

TEST_F(PublicRekey, RefusesWhatMakesNoSense) {
  const SealFor for_other = {.recipients = {other_.recipient()}};
  expect_refused(ErrorCode::wrong_key, [&] { (void)rekey_file(file_, with_other_, for_other); });
  expect_refused(ErrorCode::usage, [&] { (void)rekey_file(file_, with_mine(), {}); });
  expect_refused(ErrorCode::usage, [&] { (void)rekey_file(file_, {}, for_other); });
  expect_refused(ErrorCode::usage, [&] { (void)rekey_file(file_, with_mine(), for_own()); });
  expect_refused(ErrorCode::usage, [&] { (void)rekey_file(file_, with_own(), for_other); });
  expect_refused(ErrorCode::usage, [&] { (void)change_recipients(file_, with_mine(), {}); });
  expect_refused(ErrorCode::usage,
                 [&] { (void)change_recipients(file_, with_mine(), {.remove = {0}}); });
  expect_refused(ErrorCode::usage,
                 [&] { (void)change_recipients(file_, with_mine(), {.remove = {1}}); });
}

TEST_F(PublicRekey, StopsWhenItIsCancelled) {
  Cancel cancel;
  cancel.request();
  expect_refused(ErrorCode::failure, [&] {
    (void)rekey_file(file_, with_mine(), {.recipients = {other_.recipient()}}, {.cancel = &cancel});
  });
}

}  // namespace
}  // namespace paes
