// SPDX-License-Identifier: Apache-2.0
// The lengths of links, which are those of their targets, whether the name or the link itself is at
// hand; and when a link is read for that.
#include "volume/read/link.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "comparable_results.hpp"
#include "made_volume.hpp"

namespace paes::volume {
namespace {

// Counts how often a link is read, and may refuse it.
class WatchedLinks : public Backing {
 public:
  explicit WatchedLinks(unsigned* reads, std::optional<Errno> error = {})
      : reads_(reads), error_(error) {}

  Result<std::string> link_target(EntryRef entry) const override {
    ++*reads_;
    return error_ ? *error_ : Backing::link_target(entry);
  }

 private:
  unsigned* reads_;
  std::optional<Errno> error_;
};

class LinkOfEachVolume : public testing::TestWithParam<NamedFeatures> {
 protected:
  void make_link(std::size_t bytes) {
    made_.link("l", std::string(bytes, 't'));
    stored_ = made_.stored("l").filename();
  }
  void remove_link() { std::filesystem::remove(made_.stored("l")); }
  [[nodiscard]] std::uint64_t length_by_name(const Volume& volume) const {
    const Result<struct stat> status = volume.backing().status({volume.root(), stored_.c_str()});
    return length_of(volume, *status, {volume.root(), stored_.c_str()});
  }
  [[nodiscard]] std::uint64_t length_by_descriptor(const Volume& volume) const {
    const Result<Descriptor> link = volume.backing().open(volume.root(), stored_.c_str(), O_PATH);
    const Result<struct stat> status = volume.backing().status(*link);
    return length_of(volume, *status, *link);
  }
  // Where the length of the stored link does not tell that of the target.
  [[nodiscard]] static bool is_padded() {
    const vault::Features& features = GetParam().features;
    return !features.has_raw_base64 && !features.has_plaintext_names;
  }

  MadeVolume made_{GetParam().features};
  std::string stored_;
};
INSTANTIATE_TEST_SUITE_P(, LinkOfEachVolume, testing::ValuesIn(all_features()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(LinkOfEachVolume, TheLengthIsThatOfTheTarget) {
  unsigned reads = 0;
  const Volume volume = made_.open({}, std::make_unique<WatchedLinks>(&reads));
  unsigned asked = 0;
  for (const std::size_t bytes : {1U, 2U, 3U, 4U, 100U, 1000U, 2900U}) {
    make_link(bytes);
    EXPECT_EQ(length_by_name(volume), bytes);
    EXPECT_EQ(length_by_descriptor(volume), bytes);
    asked += 2;
    remove_link();
  }
  EXPECT_EQ(reads, is_padded() ? asked : 0);
}

// The link is there all the same, and whoever looks at it may want to remove it.
TEST_P(LinkOfEachVolume, OneThatCannotBeReadHasALength) {
  unsigned reads = 0;
  const Volume volume = made_.open({}, std::make_unique<WatchedLinks>(&reads, Errno(EIO)));
  for (const std::size_t bytes : {1U, 2U, 3U}) {
    make_link(bytes);
    EXPECT_GE(length_by_name(volume), bytes);
    EXPECT_LE(length_by_name(volume), bytes + (is_padded() ? 2 : 0));
    remove_link();
  }
}

}  // namespace
}  // namespace paes::volume
