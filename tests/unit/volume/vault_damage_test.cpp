// SPDX-License-Identifier: Apache-2.0
// Whatever byte of a volume is changed, and wherever a file is cut: a reader gets an error or what
// was stored, never anything else, and the check names the damage. Where the format itself cannot
// tell, the test says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "comparable_results.hpp"
#include "volume/check/fsck.hpp"
#include "whole_volume.hpp"

namespace paes::volume {
namespace {

constexpr std::string_view long_name_letter = "l";

class DamageOfEachVolume : public testing::TestWithParam<NamedFeatures> {
 protected:
  DamageOfEachVolume() : made_(GetParam().features), volume_(made_.open(findings_.report())) {
    made_.folder("d");
    made_.file("d/short", test::varied_bytes(50, 1));
    made_.file("d/long", test::varied_bytes(vault::block_bytes + 50, 2));
    made_.link("d/link", "target/of the link");
    made_.file("d/" + long_name(), test::varied_bytes(3, 3));
    has_attributes_ = made_.attribute("d/short", "user.a", to_text("value"));
    whole_ = read_all();
    EXPECT_EQ(whole_.size(), has_attributes_ ? 7U : 6U);
    EXPECT_TRUE(errors_.empty() && reported_.empty());
    EXPECT_TRUE(check().empty());
  }

  // Hashed, unless names are plain text.
  [[nodiscard]] static std::string long_name() { return std::string(240, long_name_letter[0]); }

  Seen read_all() {
    Reader reader(volume_);
    Seen seen = reader.read();
    errors_ = reader.errors;
    reported_ = findings_.take();
    return seen;
  }

  // What the check finds.
  std::vector<std::string> check(const std::vector<std::string>& paths = {}) {
    Findings found;
    FsckWatch watch;
    watch.damaged = found.report();
    watch.unread = [](const Finding& finding) { ADD_FAILURE() << "unread: " << finding.what; };
    (void)fsck(volume_, paths, serial_executor(), watch);
    return found.take();
  }

  // Reads all. What can be read must be what was stored; the rest must have been reported. The
  // answer is whether anything was missed.
  bool reads_no_wrong_bytes() {
    const Seen now = read_all();
    for (const auto& [path, content] : now) {
      const auto before = whole_.find(path);
      if (before == whole_.end() || before->second != content) {
        ADD_FAILURE() << path << " reads as something that was never stored";
      }
    }
    const bool is_missing = now.size() != whole_.size();
    EXPECT_EQ(is_missing, !reported_.empty());
    for (const Errno error : errors_) {
      EXPECT_EQ(error.number(), EIO);
    }
    return is_missing;
  }

  void each_byte(const std::filesystem::path& path, std::initializer_list<int> flips,
                 const std::function<void(std::size_t)>& then) {
    const Text right = MadeVolume::read(path);
    for (std::size_t at = 0; at < right.size(); ++at) {
      for (const int flip : flips) {
        Text wrong = right;
        wrong[at] = static_cast<std::uint8_t>(wrong[at] ^ flip);
        MadeVolume::write(path, wrong);
        SCOPED_TRACE(testing::Message() << "byte " << at << " ^ " << flip);
        then(at);
        if (HasFailure()) {
          return;
        }
      }
    }
    MadeVolume::write(path, right);
  }

  MadeVolume made_;
  Findings findings_;
  Volume volume_;  // open all the time: nothing of what tests change is remembered
  bool has_attributes_ = false;
  Seen whole_;
  std::vector<Errno> errors_;
  std::vector<std::string> reported_;
};
INSTANTIATE_TEST_SUITE_P(, DamageOfEachVolume, testing::ValuesIn(all_features()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DamageOfEachVolume, EachByteOfAShortFile) {
  each_byte(made_.stored("d/short"), {1, 2, 4, 8, 16, 32, 64, 128, 255}, [&](std::size_t at) {
    EXPECT_TRUE(reads_no_wrong_bytes());
    const std::string what = at < 2 ? "the header is damaged" : "block 0 is not authentic";
    EXPECT_EQ(check({"d/short"}), std::vector<std::string>{"d/short: " + what});
  });
}

TEST_P(DamageOfEachVolume, EachByteOfAFileOfTwoBlocks) {
  const std::size_t second = static_cast<std::size_t>(made_.content().layout().offset_of(1));
  each_byte(made_.stored("d/long"), {16}, [&](std::size_t at) {
    const std::string what = at < 2                     ? "the header is damaged"
                             : at < vault::header_bytes ? "blocks 0 to 1 are not authentic"
                             : at < second              ? "block 0 is not authentic"
                                                        : "block 1 is not authentic";
    EXPECT_EQ(check({"d/long"}), std::vector<std::string>{"d/long: " + what});
    if (at % 7 == 0) {
      EXPECT_TRUE(reads_no_wrong_bytes());
    }
  });
}

// A file that is cut at the end of a block, or to nothing but its header, is a shorter file: the
// format has no length.
TEST_P(DamageOfEachVolume, EachLengthOfAFile) {
  const std::filesystem::path path = made_.stored("d/long");
  const Text right = MadeVolume::read(path);
  const vault::BlockLayout layout = made_.content().layout();
  const std::string text = whole_.at("d/long");
  for (std::size_t length = right.size() - 1; length != static_cast<std::size_t>(-1); --length) {
    std::filesystem::resize_file(path, length);
    const std::vector<std::string> found = check({"d/long"});
    if (length == 0 || length == vault::header_bytes || length == layout.offset_of(1)) {
      EXPECT_TRUE(found.empty()) << length;
      const Seen now = read_all();
      ASSERT_EQ(now.size(), whole_.size());
      EXPECT_TRUE(text.starts_with(now.at("d/long")));
      continue;
    }
    ASSERT_EQ(found.size(), 1U) << length;
    EXPECT_TRUE(found[0].starts_with("d/long: ")) << found[0];
    if (length % 11 == 0) {
      // The first block of a file that ends within its second can still be read.
      EXPECT_TRUE(reads_no_wrong_bytes()) << length;
    }
  }
}

TEST_P(DamageOfEachVolume, EachByteAndLengthOfALinkTarget) {
  const std::filesystem::path path = made_.stored("d/link");
  const std::string right = std::filesystem::read_symlink(path).string();
  if (GetParam().features.has_plaintext_names) {
    return;  // targets are plain text there, so that any target is one
  }
  const auto put = [&](const std::string& wrong) {
    std::filesystem::remove(path);
    std::filesystem::create_symlink(wrong, path);
    EXPECT_TRUE(reads_no_wrong_bytes()) << wrong;
    EXPECT_EQ(check({"d/link"}),
              std::vector<std::string>{"d/link: the link's target is not authentic"});
  };
  for (std::size_t at = 0; at < right.size(); ++at) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string wrong = right;
      wrong[at] = static_cast<char>(wrong[at] ^ flip);
      if (wrong[at] != '\0') {
        put(wrong);
      }
    }
  }
  for (std::size_t length = 1; length < right.size(); ++length) {
    put(right.substr(0, length));
  }
  put(right + "A");
  put(right + "\n");
}

TEST_P(DamageOfEachVolume, EachByteAndLengthOfAnAttribute) {
  if (!has_attributes_) {
    GTEST_SKIP() << "no folder for tests has extended attributes";
  }
  const std::filesystem::path path = made_.stored("d/short");
  const std::string name = made_.names().encode_attribute("user.a");
  Text right(1000);
  const ssize_t bytes = getxattr(path.c_str(), name.c_str(), right.data(), right.size());
  ASSERT_GT(bytes, 0);
  right.resize(static_cast<std::size_t>(bytes));
  const auto put = [&](const Text& wrong) {
    ASSERT_EQ(setxattr(path.c_str(), name.c_str(), wrong.data(), wrong.size(), 0), 0);
    EXPECT_TRUE(reads_no_wrong_bytes());
    EXPECT_EQ(check({"d/short"}),
              std::vector<std::string>{"d/short: attribute " + name + " is not authentic"});
  };
  for (std::size_t at = 0; at < right.size(); ++at) {
    for (const int flip : {1, 16, 128, 255}) {
      Text wrong = right;
      wrong[at] = static_cast<std::uint8_t>(wrong[at] ^ flip);
      put(wrong);
    }
  }
  // An empty value is one that is empty.
  for (std::size_t length = 1; length < right.size(); ++length) {
    put(Text(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  ASSERT_EQ(setxattr(path.c_str(), name.c_str(), right.data(), right.size(), 0), 0);
  // Each byte of the name after the prefix. Names are not authenticated: see below.
  std::size_t undetected = 0;
  std::size_t tried = 0;
  ASSERT_EQ(removexattr(path.c_str(), name.c_str()), 0);
  for (std::size_t at = std::string_view("user.gocryptfs.").size(); at < name.size(); ++at) {
    for (const int flip : {1, 2, 4, 8, 16, 32}) {
      std::string wrong = name;
      wrong[at] = static_cast<char>(wrong[at] ^ flip);
      ASSERT_EQ(setxattr(path.c_str(), wrong.c_str(), right.data(), right.size(), 0), 0);
      ++tried;
      undetected += check({"d/short"}).empty() ? 1U : 0U;
      ASSERT_EQ(removexattr(path.c_str(), wrong.c_str()), 0);
    }
  }
  EXPECT_LT(undetected, tried / 30);
}

// Names are encrypted, not authenticated. A changed one decodes to some other name with a chance of
// 1 in 255, that of a padding; content then shows under a name that nobody gave it. All other
// changes are found. Long names have a hash beside, so that all changes of them are found.
TEST_P(DamageOfEachVolume, EachByteOfAStoredName) {
  if (GetParam().features.has_plaintext_names) {
    return;  // any name is one
  }
  const auto rename_each = [&](const std::string& path, const std::string& keep) {
    const std::filesystem::path right = made_.stored(path);
    const std::string stored = right.filename().string();
    std::size_t undetected = 0;
    std::size_t tried = 0;
    for (std::size_t at = 0; at < stored.size(); ++at) {
      for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
        std::string wrong = stored;
        wrong[at] = static_cast<char>(wrong[at] ^ flip);
        if (wrong[at] == '/' || wrong[at] == '\0' || exists(right.parent_path() / wrong)) {
          continue;
        }
        std::filesystem::rename(right, right.parent_path() / wrong);
        ++tried;
        const std::vector<std::string> found = check();
        undetected += found.empty() ? 1U : 0U;
        const Seen now = read_all();
        EXPECT_FALSE(now.contains(keep)) << wrong;
        if (!found.empty()) {
          EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const std::string& finding) {
            return finding.find(wrong) != std::string::npos;
          })) << found[0];
        }
        std::filesystem::rename(right.parent_path() / wrong, right);
      }
    }
    EXPECT_GT(tried, 100U);
    return std::pair{undetected, tried};
  };
  const auto [of_short, tried] = rename_each("d/short", "d/short");
  EXPECT_LT(of_short, tried / 30);
  const auto [of_long, more_tried] = rename_each("d/" + long_name(), "d/" + long_name());
  if (GetParam().features.hashes_long_names()) {
    EXPECT_EQ(of_long, 0U);
  } else {
    EXPECT_LT(of_long, more_tried / 30);
  }
}

TEST_P(DamageOfEachVolume, EachByteAndLengthOfALongNameFile) {
  if (!GetParam().features.hashes_long_names()) {
    return;
  }
  const std::filesystem::path content = made_.stored("d/" + long_name());
  const std::filesystem::path path = content.string() + ".name";
  const std::string begins = "d/" + content.filename().string() + ": the file of its long name ";
  const auto finds = [&] {
    EXPECT_TRUE(reads_no_wrong_bytes());
    const std::vector<std::string> found = check({"d"});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with(begins)) << found[0];
  };
  each_byte(path, {1, 32, 128}, [&](std::size_t) { finds(); });
  const std::uintmax_t length = std::filesystem::file_size(path);
  for (std::uintmax_t cut = length; cut-- > 0;) {
    std::filesystem::resize_file(path, cut);
    finds();
  }
}

// The IV of a folder goes into each name in it. As with names, one of them may become another with
// a chance of 1 in 255.
TEST_P(DamageOfEachVolume, EachByteOfAFolderIv) {
  if (!made_.has_ivs()) {
    return;
  }
  each_byte(made_.stored("d") / "gocryptfs.diriv", {1, 16, 128, 255}, [&](std::size_t) {
    const std::vector<std::string> found = check();
    EXPECT_GE(found.size(), 3U);
    const Seen now = read_all();
    EXPECT_FALSE(reported_.empty());
    for (const auto& [path, content] : now) {
      EXPECT_TRUE(path.empty() || path == "d" || !whole_.contains(path)) << path;
    }
  });
}

}  // namespace
}  // namespace paes::volume
