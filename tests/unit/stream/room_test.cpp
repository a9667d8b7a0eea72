// SPDX-License-Identifier: Apache-2.0
// Room that is too little, and temporary files of runs that are gone: what is found out about a
// folder before the work.
#include "stream/file/room.hpp"

#include <sys/statvfs.h>

#include <cerrno>

#include "core/folder.hpp"
#include "refused_calls.hpp"
#include "stream/file/temporary.hpp"
#include "stream/file_sample.hpp"

namespace paes::stream {
namespace {

class Room : public testing::Test {
 protected:
  Room() {
    write_file(folder_ / "out", Contents(100'000));
    file_ = Descriptor(open((folder_ / "out").c_str(), O_RDWR | O_CLOEXEC));
  }
  [[nodiscard]] std::uint64_t free_bytes() const {
    struct statvfs status = {};
    EXPECT_EQ(statvfs(folder_.path().c_str(), &status), 0);
    return status.f_bfree * status.f_frsize;
  }
  Folder folder_;
  Descriptor file_;
};

// Others write beside the tests, so that figures are compared from afar.
constexpr std::uint64_t much = std::uint64_t{1} << 40;

TEST_F(Room, WhatIsThereAlreadyNeedsNoMore) {
  const Need need{free_bytes() + much};
  EXPECT_EQ(check_room("out", file_.number(), need, 2 * much), "");
  const Error error = error_of([&] { (void)check_room("out", file_.number(), need, much / 2); });
  EXPECT_EQ(error.code, ErrorCode::failure);
  EXPECT_NE(std::string(error.what())
                .find("needs " + std::to_string(need.bytes) + " bytes, has " +
                      std::to_string(much / 2) + " of them"),
            std::string::npos)
      << error.what();
}

TEST_F(Room, OnlyWhatIsCertainIsRefused) {
  const std::string warning =
      check_room("out", file_.number(), {free_bytes() + much, Filling::sparse}, 0);
  EXPECT_EQ(warning.rfind("out: may not fit: needs up to ", 0), 0U) << warning;
  EXPECT_EQ(check_room("out", file_.number(), {1, Filling::whole}, 0), "");
  const Descriptor zero(open("/proc/version", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(check_room("out", zero.number(), {much, Filling::whole}, 0), "");  // says nothing
}

TEST_F(Room, AnErrorSaysHowMuchThereWas) {
  errno = ENOSPC;
  EXPECT_EQ(std::string(write_error("out", file_.number(), Need{500'000}).what()),
            "out: No space left on device: needs 500000 bytes, and found room for 102400");
  errno = EDQUOT;
  EXPECT_EQ(std::string(write_error("out", file_.number(), {}).what()),
            "out: Disk quota exceeded: found room for 102400 bytes");
  errno = EIO;
  EXPECT_EQ(std::string(write_error("out", file_.number(), {}).what()), "out: Input/output error");
}

TEST(AbandonedFiles, NamesAreExactlyOfOneShape) {
  EXPECT_TRUE(is_temporary_name(new_temporary_name()));
  EXPECT_NE(new_temporary_name(), new_temporary_name());
  for (const char* name : {"", ".paes-", ".paes-0123456789abcde", ".paes-0123456789abcdef0",
                           ".paes-0123456789abcdeg", "xpaes-0123456789abcdef"}) {
    EXPECT_FALSE(is_temporary_name(name)) << name;
  }
}

TEST(AbandonedFiles, FilesBesideOthersAreKnownByTheirSuffixes) {
  for (const char* name :
       {".rekey", "a.rekey", "A.PAES.REKEY", "a~0123456789abcdef.partial", "a.Journal"}) {
    EXPECT_TRUE(is_name_beside(name)) << name;
  }
  for (const char* name : {"", "rekey", "a.rekey2", "a.partia", "ajournal", "a.paes"}) {
    EXPECT_FALSE(is_name_beside(name)) << name;
  }
  const Folder folder;
  const Descriptor opened = open_folder(folder.path());
  EXPECT_FALSE(find_abandoned(-1).has_none_beside) << "nobody has looked";
  EXPECT_TRUE(find_abandoned(opened.number()).has_none_beside);
  for (int i = 0; i < 100; ++i) {
    write_file(folder / ("a" + std::to_string(i)), Contents(1));
  }
  EXPECT_TRUE(find_abandoned(opened.number()).has_none_beside);
  write_file(folder / "b.REKEY", Contents(1));
  EXPECT_FALSE(find_abandoned(opened.number()).has_none_beside);
}

TEST(AbandonedFiles, WhatIsBeingWrittenIsNot) {
  const Folder folder;
  const Descriptor opened = open_folder(folder.path());
  for (const FileRole role : {FileRole::alone, FileRole::shared}) {
    {
      const auto output =
          create_output(folder / "out", {.file = {.role = role, .calls = &test::no_unnamed}});
      EXPECT_EQ(folder.entries(), 1U);
      EXPECT_TRUE(find_abandoned(opened.number()).files.empty());
    }
    EXPECT_EQ(folder.entries(), 0U);
  }
  write_file(folder / ".paes-0123456789abcdef", Contents(1));
  const AbandonedFiles found = find_abandoned(opened.number());
  EXPECT_EQ(found.files, std::vector<std::string>{".paes-0123456789abcdef"});
  EXPECT_FALSE(found.may_be_in_use);
  EXPECT_TRUE(find_abandoned(-1).files.empty());
}

}  // namespace
}  // namespace paes::stream
