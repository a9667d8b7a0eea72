// SPDX-License-Identifier: Apache-2.0
// Each call on the backing tree fails once, at each place where it is made. The error comes out,
// nothing else is read instead, and no descriptor stays open.
#include <gtest/gtest.h>

#include <chrono>

#include "comparable_results.hpp"
#include "volume/check/fsck.hpp"
#include "whole_volume.hpp"

namespace paes::volume {
namespace {

// Fails the call of a number, and says which that was.
struct Failed {
  unsigned calls = 0;
  std::string call;  // "read"; empty: none has failed
};
class FailingBacking : public Backing {
 public:
  FailingBacking(unsigned fails_at, Errno error, Failed* failed)
      : fails_at_(fails_at), error_(error), failed_(failed) {}

  Result<Descriptor> open(FolderRef folder, const char* name, int flags) const override {
    return fails("open") ? error_ : Backing::open(folder, name, flags);
  }
  Result<struct stat> status(EntryRef entry) const override {
    return fails("status") ? error_ : Backing::status(entry);
  }
  Result<std::size_t> read(FileRef file, std::uint64_t offset, MutableBytes into) const override {
    return fails("read") ? error_ : Backing::read(file, offset, into);
  }
  Result<std::string> link_target(EntryRef entry) const override {
    return fails("link_target") ? error_ : Backing::link_target(entry);
  }
  Result<std::size_t> entries(FolderRef folder, MutableBytes into) const override {
    return fails("entries") ? error_ : Backing::entries(folder, into);
  }
  Result<std::string> attribute(FileRef file, const char* name) const override {
    return fails("attribute") ? error_ : Backing::attribute(file, name);
  }
  Result<std::string> attribute_names(FileRef file) const override {
    return fails("attribute_names") ? error_ : Backing::attribute_names(file);
  }
  Result<std::uint64_t> next_data(FileRef file, std::uint64_t offset) const override {
    return fails("next_data") ? error_ : Backing::next_data(file, offset);
  }
  Result<void> rewind(FolderRef folder) const override {
    return fails("rewind") ? error_ : Backing::rewind(folder);
  }

 private:
  bool fails(const char* call) const {
    if (failed_->calls++ != fails_at_) {
      return false;
    }
    failed_->call = call;
    return true;
  }

  unsigned fails_at_;
  Errno error_;
  Failed* failed_;
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class EachCallFails : public testing::TestWithParam<int> {
 protected:
  EachCallFails() {
    made_.folder("d");
    made_.file("d/short", test::varied_bytes(50, 1));
    made_.file("d/long", test::varied_bytes(100 * vault::block_bytes, 2));
    made_.file("d/" + std::string(240, 'l'), test::varied_bytes(3, 3));
    made_.link("d/link", "target");
    (void)made_.attribute("d/short", "user.a", to_text("value"));
    made_.file(std::string(241, 'o'), {});
    std::filesystem::remove(made_.stored(std::string(241, 'o')));  // leaves an orphan
    // What has just been written would be checked twice, and the second time no call fails.
    const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(made_.root())) {
      if (entry.is_regular_file() && !entry.is_symlink()) {
        std::filesystem::last_write_time(entry.path(), long_ago);
      }
    }
  }

  // Runs `work` with a volume of which the first, second, ... call fails, until none does.
  void each_call(const std::function<void(const Volume&, Findings&, const Failed&)>& work) {
    for (unsigned fails_at = 0;; ++fails_at) {
      const std::size_t before = open_descriptors();
      Failed failed;
      Findings findings;
      {
        const Volume volume =
            made_.open(findings.report(),
                       std::make_unique<FailingBacking>(fails_at, Errno(GetParam()), &failed));
        SCOPED_TRACE(testing::Message() << "call " << fails_at);
        work(volume, findings, failed);
      }
      EXPECT_EQ(open_descriptors(), before);
      if (failed.call.empty()) {
        EXPECT_GT(fails_at, 20U);
        return;
      }
    }
  }

  MadeVolume made_;
};
INSTANTIATE_TEST_SUITE_P(, EachCallFails, testing::Values(EIO, ENOMEM, EACCES, EMFILE),
                         [](const auto& tested) {
                           return std::string(strerrorname_np(tested.param));
                         });

TEST_P(EachCallFails, OfAReader) {
  const Volume whole_volume = made_.open();
  const Seen whole = Reader(whole_volume).read();
  each_call([&](const Volume& volume, Findings& findings, const Failed&) {
    Reader reader(volume);
    const Seen now = reader.read();
    for (const auto& [path, content] : now) {
      const auto before = whole.find(path);
      ASSERT_TRUE(before != whole.end() && before->second == content) << path;
    }
    const std::vector<std::string> found = findings.take();
    // A long name whose file may not be read is left out of a listing without a word.
    const bool is_left_out = now.size() < whole.size();
    EXPECT_TRUE(!is_left_out || !reader.errors.empty() || !found.empty() || GetParam() == EACCES);
    for (const Errno error : reader.errors) {
      EXPECT_EQ(error.number(), GetParam());
    }
    if (GetParam() == EIO) {
      EXPECT_EQ(is_left_out || !reader.errors.empty(), !found.empty());
    } else {
      EXPECT_TRUE(found.empty());
    }
  });
}

TEST_P(EachCallFails, OfACheck) {
  each_call([&](const Volume& volume, Findings&, const Failed& failed) {
    Findings damaged;
    Findings unread;
    FsckWatch watch;
    watch.damaged = damaged.report();
    watch.unread = unread.report();
    const FsckCounts counts = fsck(volume, {}, serial_executor(), watch);
    const std::vector<std::string> all = damaged.take();
    const std::vector<std::string> not_read = unread.take();
    EXPECT_EQ(counts.damaged, all.size());
    EXPECT_EQ(counts.unread, not_read.size());
    SCOPED_TRACE(failed.call);
    // Blocks that could not be read are tried once more, each by itself, to tell which it was.
    const bool may_be_mended = failed.call == "read" && GetParam() == EIO;
    if (failed.call.empty()) {
      EXPECT_TRUE(all.empty() && not_read.empty());
      EXPECT_EQ(counts.leftovers, 1U);
    } else if (GetParam() == EIO) {
      EXPECT_TRUE(not_read.empty());
      EXPECT_TRUE(all.size() == 1 || may_be_mended) << all.size();
    } else {
      EXPECT_TRUE(all.empty()) << all[0];
      EXPECT_EQ(not_read.size(), 1U);
    }
  });
}

}  // namespace
}  // namespace paes::volume
