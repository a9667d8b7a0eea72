// Each call on the backing tree fails once, at each place where it is made. The error comes out,
// nothing else is read instead, and no descriptor stays open.
#include <gtest/gtest.h>

#include <atomic>

#include "volume/fsck.hpp"
#include "whole_volume.hpp"

namespace paes::volume {
namespace {

// Fails the call of a number.
class FailingBacking : public Backing {
 public:
  FailingBacking(unsigned fails_at, int error, unsigned* calls)
      : fails_at_(fails_at), error_(error), calls_(calls) {}

  Result<Descriptor> open(int folder, const char* name, int flags) const override {
    return fails() ? Result<Descriptor>(Failure{error_}) : Backing::open(folder, name, flags);
  }
  Result<struct stat> status(int folder, const char* name) const override {
    return fails() ? Result<struct stat>(Failure{error_}) : Backing::status(folder, name);
  }
  Result<std::size_t> read(int file, std::uint64_t offset, MutableBytes into) const override {
    return fails() ? Result<std::size_t>(Failure{error_}) : Backing::read(file, offset, into);
  }
  Result<std::string> link_target(int folder, const char* name) const override {
    return fails() ? Result<std::string>(Failure{error_}) : Backing::link_target(folder, name);
  }
  Result<std::size_t> entries(int folder, MutableBytes into) const override {
    return fails() ? Result<std::size_t>(Failure{error_}) : Backing::entries(folder, into);
  }
  int rewind(int folder) const override { return fails() ? error_ : Backing::rewind(folder); }
  Result<std::string> attribute(int file, const char* name) const override {
    return fails() ? Result<std::string>(Failure{error_}) : Backing::attribute(file, name);
  }
  Result<std::string> attribute_names(int file) const override {
    return fails() ? Result<std::string>(Failure{error_}) : Backing::attribute_names(file);
  }

 private:
  bool fails() const { return (*calls_)++ == fails_at_; }

  unsigned fails_at_;
  int error_;
  unsigned* calls_;
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
  }

  // Runs `work` with a volume of which the first, second, ... call fails, until none does.
  void each_call(const std::function<void(const Volume&, Findings&, bool)>& work) {
    for (unsigned fails_at = 0;; ++fails_at) {
      const std::size_t before = open_descriptors();
      unsigned calls = 0;
      Findings findings;
      {
        const Volume volume = made_.open(
            findings.report(), std::make_unique<FailingBacking>(fails_at, GetParam(), &calls));
        SCOPED_TRACE(testing::Message() << "call " << fails_at);
        work(volume, findings, false);
      }
      EXPECT_EQ(open_descriptors(), before);
      if (calls <= fails_at) {
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
  each_call([&](const Volume& volume, Findings& findings, bool) {
    Reader reader(volume);
    const Seen now = reader.read();
    for (const auto& [path, content] : now) {
      const auto before = whole.find(path);
      ASSERT_TRUE(before != whole.end() && before->second == content) << path;
    }
    const std::vector<std::string> found = findings.take();
    if (now.size() < whole.size()) {
      EXPECT_FALSE(reader.errors.empty() && found.empty());
    }
    for (const int error : reader.errors) {
      EXPECT_EQ(error, GetParam());
    }
    if (GetParam() == EIO) {
      EXPECT_EQ(now.size() < whole.size(), !found.empty());
    }
  });
}

TEST_P(EachCallFails, OfACheck) {
  std::uint64_t clean = 0;
  each_call([&](const Volume& volume, Findings&, bool) {
    Findings found;
    FsckWatch watch;
    watch.damaged = found.report();
    watch.unread = found.report();
    const FsckCounts counts = fsck(volume, {}, serial_executor(), watch);
    const std::vector<std::string> all = found.take();
    // The orphan is found, or the call that would have told of it has failed.
    EXPECT_GE(all.size(), 1U);
    EXPECT_EQ(counts.damaged + counts.unread, all.size());
    clean += all.size() == 1 && counts.unread == 0 ? 1U : 0U;
  });
  // The last run, in which nothing fails; one that asks about the orphan; and the status of files
  // that are whole is not needed.
  EXPECT_LE(clean, 4U);
}

}  // namespace
}  // namespace paes::volume
