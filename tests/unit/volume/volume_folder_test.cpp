// SPDX-License-Identifier: Apache-2.0
// Names of a volume: which there are, under which names they are stored, and which are damaged.
#include "volume/read/volume_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "comparable_results.hpp"
#include "whole_volume.hpp"

namespace paes::volume {
namespace {

class FolderOfEachVolume : public testing::TestWithParam<NamedFeatures> {};
INSTANTIATE_TEST_SUITE_P(, FolderOfEachVolume, testing::ValuesIn(all_features()),
                         [](const auto& tested) { return tested.param.name; });

std::vector<std::string> names_in(const Folder& folder, const std::string& path = "") {
  std::vector<std::string> names;
  EXPECT_EQ(folder.list(path, [&](const FolderEntry& entry) { names.push_back(entry.name); }), 0);
  std::sort(names.begin(), names.end());
  return names;
}

TEST_P(FolderOfEachVolume, NamesOfEveryLengthAreListedAndFound) {
  MadeVolume made(GetParam().features);
  std::vector<std::string> wanted;
  for (std::size_t length = 1; length <= vault::max_name_bytes; ++length) {
    std::string name(length, 'n');
    name[length / 2] = static_cast<char>(length == '/' ? 1 : length);  // UTF-8 or not
    made.file(name, {});
    wanted.push_back(name);
  }
  std::sort(wanted.begin(), wanted.end());
  const Volume volume = made.open([](const Finding& finding) { ADD_FAILURE() << finding.what; });
  const Result<Folder> root = Folder::open(volume, volume.root(), "", "");
  ASSERT_TRUE(root);
  EXPECT_EQ(names_in(*root), wanted);
  EXPECT_EQ(names_in(*root), wanted) << "a folder can be listed again";
  for (const std::string& name : wanted) {
    const Result<StoredName> stored = root->stored_name(name);
    ASSERT_TRUE(stored);
    EXPECT_EQ(made.root() / stored->name, made.stored(name));
    EXPECT_TRUE(std::filesystem::exists(made.stored(name)));
    const Result<std::string> back = root->name_of(stored->name, "");
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, name);
    EXPECT_EQ(stored->encoded.empty(), !stored->name.starts_with("gocryptfs.longname."))
        << name.size();
  }
}

TEST_P(FolderOfEachVolume, NamesThatNothingCanHave) {
  MadeVolume made(GetParam().features);
  const Volume volume = made.open();
  const Result<Folder> root = Folder::open(volume, volume.root(), "", "");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->stored_name(std::string(256, 'a')), ENAMETOOLONG);
  for (const std::string name : {"", ".", "..", "a/b", "/"}) {
    EXPECT_EQ(root->stored_name(name), ENOENT) << name;
  }
  EXPECT_EQ(root->stored_name(std::string("a\0b", 3)), ENOENT);
}

// In the root the configuration is hidden, below it a file of that name is one like any other.
TEST(VolumeFolder, PlaintextNamesHideTheConfigurationInTheRootAlone) {
  const vault::Features features = all_features().back().features;
  ASSERT_TRUE(features.has_plaintext_names);
  MadeVolume made(features);
  made.folder("d");
  for (const std::string name : {"gocryptfs.diriv", "gocryptfs.longname.x", "d/gocryptfs.conf",
                                 "d/gocryptfs.longname.x.name", "d/gocryptfs.diriv"}) {
    made.file(name, {});
  }
  const Volume volume = made.open([](const Finding& finding) { ADD_FAILURE() << finding.what; });
  const Result<Folder> root = Folder::open(volume, volume.root(), "", "");
  ASSERT_TRUE(root);
  const std::vector<std::string> in_root = {"d", "gocryptfs.diriv", "gocryptfs.longname.x"};
  EXPECT_EQ(names_in(*root), in_root);
  EXPECT_EQ(root->stored_name("gocryptfs.conf"), ENOENT);
  const Result<Folder> inner = Folder::open(volume, root->descriptor(), "d", "d");
  ASSERT_TRUE(inner);
  const std::vector<std::string> below = {"gocryptfs.conf", "gocryptfs.diriv",
                                          "gocryptfs.longname.x.name"};
  EXPECT_EQ(names_in(*inner), below);
  EXPECT_TRUE(inner->stored_name("gocryptfs.conf"));
}

// What is in a folder and belongs to nobody is named and left out.
TEST(VolumeFolder, ForeignNamesAreReported) {
  MadeVolume made;
  made.folder("d");
  made.file("d/kept", {});
  const std::string stored = made.stored("d/kept").filename();
  const std::filesystem::path folder = made.stored("d");
  const std::string foreign[] = {"plain",          "gocryptfs.conf",      stored + "=",
                                 stored.substr(1), "gocryptfs.diriv.old", "gocryptfs.longname.x"};
  for (const std::string& name : foreign) {
    MadeVolume::write(folder / name, {});
  }
  Findings findings;
  const Volume volume = made.open(findings.report());
  const Result<Folder> inner =
      Folder::open(volume, volume.root(), made.stored("d").filename().c_str(), "d");
  ASSERT_TRUE(inner);
  EXPECT_EQ(names_in(*inner, "d"), std::vector<std::string>{"kept"});
  const std::vector<std::string> found = findings.take();
  for (const std::string& name : foreign) {
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const std::string& finding) {
      return finding.starts_with("d/" + name + ": ");
    })) << name;
  }
  EXPECT_EQ(found.size(), std::size(foreign));
}

TEST(VolumeFolder, LongNamesNeedTheirFile) {
  MadeVolume made;
  const std::string name(200, 'l');
  made.file(name, {});
  const std::filesystem::path content = made.stored(name);
  const std::filesystem::path beside = content.string() + ".name";
  const Text right = MadeVolume::read(beside);
  Findings findings;
  const Volume volume = made.open(findings.report());
  const Result<Folder> root = Folder::open(volume, volume.root(), "", "");
  ASSERT_TRUE(root);
  const auto finds = [&](const std::string& what) {
    EXPECT_TRUE(names_in(*root).empty()) << what;
    EXPECT_EQ(findings.take(), std::vector<std::string>{content.filename().string() + ": " + what});
  };
  const auto put = [&](const Text& bytes) { MadeVolume::write(beside, bytes); };

  std::filesystem::remove(beside);
  finds("the file of its long name is missing");
  put({});
  finds("the file of its long name is damaged");
  put(to_text(made.names().encode(std::string(201, 'l'), root->iv())));
  finds("the file of its long name holds another name");
  put(to_text(made.names().encode("short", root->iv())));
  finds("the file of its long name holds another name");
  put(to_text(to_string(right) + "\n"));
  finds("the file of its long name is damaged");
  put(Text(100'000, 'A'));
  finds("the file of its long name is too long");
  std::filesystem::remove(beside);
  ASSERT_EQ(mkfifo(beside.c_str(), 0600), 0);
  finds("the file of its long name is not a regular file");
  std::filesystem::remove(beside);
  std::filesystem::create_directory(beside);
  finds("the file of its long name is not a regular file");
  std::filesystem::remove(beside);
  MadeVolume::write(made.root() / "elsewhere", right);
  std::filesystem::create_symlink("elsewhere", beside);
  std::filesystem::remove(made.root() / "elsewhere");
  finds("the file of its long name cannot be read: Too many levels of symbolic links");
  std::filesystem::remove(beside);
  put(right);
  EXPECT_EQ(names_in(*root), std::vector<std::string>{name});
}

TEST(VolumeFolder, FolderIvsAreLookedAt) {
  MadeVolume made;
  made.folder("d");
  const std::string stored = made.stored("d").filename();
  const std::filesystem::path iv = made.stored("d") / "gocryptfs.diriv";
  const Text right = MadeVolume::read(iv);
  Findings findings;
  const Volume volume = made.open(findings.report());
  const auto finds = [&](const std::string& what) {
    EXPECT_EQ(Folder::open(volume, volume.root(), stored.c_str(), "d"), EIO);
    EXPECT_EQ(findings.take(), std::vector<std::string>{"d: gocryptfs.diriv " + what});
  };
  std::filesystem::remove(iv);
  finds("is missing");
  ASSERT_EQ(mkfifo(iv.c_str(), 0600), 0);
  finds("is not a regular file");
  std::filesystem::remove(iv);
  std::filesystem::create_directory(iv);
  finds("is not a regular file");
  std::filesystem::remove(iv);
  std::filesystem::create_symlink("../gocryptfs.diriv", iv);
  finds("is not a regular file");
  std::filesystem::remove(iv);
  for (std::size_t length = 0; length < right.size(); ++length) {
    MadeVolume::write(iv, Text(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length)));
    finds("is too short");
  }
  MadeVolume::write(iv, Text(17, 1));
  finds("is too long");
  MadeVolume::write(iv, Text(16, 0));
  finds("is all zero");
  MadeVolume::write(iv, right);
  EXPECT_TRUE(Folder::open(volume, volume.root(), stored.c_str(), "d"));
}

// A link to a folder is not a folder, and nothing that is not a folder becomes one.
TEST(VolumeFolder, LinksAreNotFollowed) {
  MadeVolume made;
  made.folder("d");
  made.file("f", {});
  std::filesystem::create_directory_symlink(made.stored("d"), made.root() / "to");
  const Volume volume = made.open();
  EXPECT_EQ(Folder::open(volume, volume.root(), "to", "to"), ENOTDIR);
  EXPECT_EQ(Folder::open(volume, volume.root(), made.stored("f").filename().c_str(), "f"), ENOTDIR);
  EXPECT_EQ(Folder::open(volume, volume.root(), "none", "none"), ENOENT);
}

// More names than one call of the system gives.
TEST(VolumeFolder, LargeFolders) {
  MadeVolume made;
  std::vector<std::string> wanted;
  for (int i = 0; i < 5000; ++i) {
    wanted.push_back("file " + std::to_string(i));
    made.file(wanted.back(), {});
  }
  std::sort(wanted.begin(), wanted.end());
  const Volume volume = made.open();
  const Result<Folder> root = Folder::open(volume, volume.root(), "", "");
  ASSERT_TRUE(root);
  EXPECT_EQ(names_in(*root), wanted);
}

TEST(VolumeAttributes, NamesAndValues) {
  for (const NamedFeatures& tested : all_features()) {
    MadeVolume made(tested.features);
    made.file("f", {});
    const Text value = test::varied_bytes(100, 1);
    if (!made.attribute("f", "user.short", value)) {
      GTEST_SKIP() << "no folder for tests has extended attributes";
    }
    const std::string long_name = "user." + std::string(150, 'x');
    ASSERT_TRUE(made.attribute("f", long_name, {}));
    ASSERT_EQ(setxattr(made.stored("f").c_str(), "user.foreign", "x", 1, 0), 0);
    Findings findings;
    const Volume volume = made.open(findings.report());
    for (const int flags : {O_RDONLY, O_PATH}) {
      const Descriptor file(open(made.stored("f").c_str(), flags | O_CLOEXEC));
      Result<std::vector<std::string>> names = list_attributes(volume, file, "f");
      ASSERT_TRUE(names) << names.error();
      std::sort(names->begin(), names->end());
      EXPECT_EQ(*names, (std::vector<std::string>{"user.short", long_name})) << tested.name;
      const auto is = [&](const std::string& name, const Text& wanted) {
        const auto read = read_attribute(volume, file, name, "f");
        ASSERT_TRUE(read) << read.error();
        EXPECT_EQ(*read, wanted);
      };
      is("user.short", value);
      is(long_name, {});
      EXPECT_EQ(read_attribute(volume, file, "user.none", "f"), ENODATA);
      EXPECT_EQ(read_attribute(volume, file, "user.foreign", "f"), ENODATA);
      EXPECT_EQ(read_attribute(volume, file, "system.posix_acl_access", "f"), ENODATA);
      EXPECT_EQ(read_attribute(volume, file, "", "f"), EOPNOTSUPP);
      EXPECT_EQ(read_attribute(volume, file, std::string(256, 'n'), "f"), EOPNOTSUPP);
    }
    EXPECT_EQ(findings.take(), std::vector<std::string>{});
  }
}

// As releases of gocryptfs before 2.0 stored them.
TEST(VolumeAttributes, ValuesInBase64) {
  MadeVolume made;
  made.file("f", {});
  const std::string as_link = vault::seal_link_target(made.content(), "value", made.features());
  const std::string stored = made.names().encode_attribute("user.old");
  if (setxattr(made.stored("f").c_str(), stored.c_str(), as_link.data(), as_link.size(), 0) != 0) {
    GTEST_SKIP() << "no folder for tests has extended attributes";
  }
  const Volume volume = made.open();
  const Descriptor file(open(made.stored("f").c_str(), O_RDONLY | O_CLOEXEC));
  const auto read = read_attribute(volume, file, "user.old", "f");
  ASSERT_TRUE(read);
  EXPECT_EQ(to_string(*read), "value");
}

}  // namespace
}  // namespace paes::volume
