// SPDX-License-Identifier: Apache-2.0
// What takes a name only once it is complete, and what is left of it otherwise.
#include "volume/change/unfinished.hpp"

#include <cerrno>
#include <fstream>

#include "comparable_results.hpp"
#include "volume/read/link.hpp"
#include "written_volume.hpp"

namespace paes::volume {
namespace {

using test::random_text;
using test::ScratchFolder;
using test::Text;
using test::WrittenVolume;

class UnfinishedIn : public ::testing::TestWithParam<bool> {
 protected:
  UnfinishedIn() : volume_(scratch_.path(), features()), root_(shared_root()) {}

  static vault::Features features() {
    vault::Features features;
    if (GetParam()) {
      features.has_plaintext_names = true;
      features.has_directory_ivs = features.has_long_names = features.has_raw_base64 = false;
    }
    return features;
  }
  [[nodiscard]] std::shared_ptr<const Folder> shared_root() {
    return std::make_shared<const Folder>(volume_.root());
  }
  void make(const std::string& name, const Text& text) {
    Unfinished made(volume_.writable(), root_);
    Result<WritableFile> file = made.make_file();
    ASSERT_TRUE(file);
    ASSERT_EQ(*file->write(0, text, name), text.size());
    ASSERT_EQ(made.take_name(name, true), 0);
  }
  [[nodiscard]] Text text(const std::string& name) {
    return test::text_of(*volume_.open(*root_, name));
  }
  [[nodiscard]] std::size_t stored() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) {
      count += entry.path().filename() == vault::folder_iv_name ? 0U : 1U;
    }
    return count;
  }

  ScratchFolder scratch_;
  WrittenVolume volume_;
  std::shared_ptr<const Folder> root_;
};

TEST_P(UnfinishedIn, NamesHaveTheOldUntilTheyHaveTheNew) {
  const std::string name(GetParam() ? 255 : 200, 'n');
  make(name, random_text(5000, 1));
  const std::size_t before = stored();
  {
    Unfinished made(volume_.writable(), root_);
    Result<WritableFile> file = made.make_file();
    ASSERT_TRUE(file);
    ASSERT_EQ(*file->write(0, random_text(9000, 2), name), 9000U);
    EXPECT_EQ(stored(), before + 1);
    EXPECT_EQ(text(name), random_text(5000, 1));
    EXPECT_EQ(made.take_name(name, false), EEXIST);
    EXPECT_EQ(text(name), random_text(5000, 1));
    EXPECT_EQ(made.take_name(name, true), 0);
  }
  EXPECT_EQ(stored(), before);
  EXPECT_EQ(text(name), random_text(9000, 2));
  EXPECT_TRUE(test::fsck_findings(volume_.volume()).empty());
}

TEST_P(UnfinishedIn, WhatGetsNoNameGoes) {
  {
    Unfinished file(volume_.writable(), root_);
    ASSERT_TRUE(file.make_file());
    Unfinished link(volume_.writable(), root_);
    ASSERT_EQ(link.make_link("target"), 0);
    Unfinished moved(std::move(link));
    EXPECT_EQ(stored(), 2U);
  }
  EXPECT_EQ(stored(), 0U);
}

TEST_P(UnfinishedIn, NeverTakesThePlaceOfAFolder) {
  ASSERT_EQ(make_folder(volume_.writable(), *root_, "folder", {.mode = 0755, .owner = {}}), 0);
  Unfinished made(volume_.writable(), root_);
  ASSERT_TRUE(made.make_file());
  EXPECT_EQ(made.take_name("folder", true), EISDIR);
  EXPECT_EQ(made.take_name("folder", false), EEXIST);
}

TEST_P(UnfinishedIn, LinksReplaceFiles) {
  make("name", random_text(100, 1));
  Unfinished made(volume_.writable(), root_);
  ASSERT_EQ(made.make_link("target"), 0);
  ASSERT_EQ(made.take_name("name", true), 0);
  const Result<StoredName> stored_name = root_->stored_name("name");
  ASSERT_TRUE(stored_name);
  const Result<std::string> target =
      read_link(volume_.volume(), {root_->descriptor(), stored_name->name.c_str()}, "name");
  ASSERT_TRUE(target);
  EXPECT_EQ(*target, "target");
}

// A killed process destroys nothing.
TEST_P(UnfinishedIn, TheNextWriterRemovesWhatIsLeft) {
  make("kept", random_text(100, 1));
  const std::size_t before = stored();
  auto* const left = new Unfinished(volume_.writable(), root_);  // NOLINT: not destroyed in time
  ASSERT_TRUE(left->make_file());
  EXPECT_EQ(stored(), before + 1);
  for (const char* name :
       {".paes-put-0123", ".paes-0123456789abcdef", "x.paes-put-0123456789abcdef"}) {
    if (GetParam()) {
      make(name, random_text(10, 1));
    }
  }
  remove_unfinished(volume_.writable(), *root_);
  EXPECT_EQ(stored(), before + (GetParam() ? 3 : 0));
  delete left;  // NOLINT
  EXPECT_EQ(text("kept"), random_text(100, 1));
}

INSTANTIATE_TEST_SUITE_P(EncryptedAndPlainNames, UnfinishedIn, ::testing::Bool());

}  // namespace
}  // namespace paes::volume
