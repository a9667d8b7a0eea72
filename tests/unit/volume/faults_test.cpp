// SPDX-License-Identifier: Apache-2.0
// Errors of the backing file system: each script runs again and again, and another of its backing
// calls fails each time. The error comes out, or the step is complete without that call. The tree
// is as before the step or, where the step says so, as after it; the files that are open agree with
// it; and the same step succeeds once the trouble is over.
#include <cerrno>

#include "comparable_results.hpp"
#include "scripts.hpp"

namespace paes::volume::test {
namespace {

enum class Fault {
  error,            // EIO of any call
  no_room,          // ENOSPC of a call that may take room
  no_room_in_part,  // the same, and a write has written half
  full  // ENOSPC of all calls from that one on that take room: the file system stays full
};

// One call fails, the one after so many others; or all from there on.
class FaultyBacking final : public Backing {
 public:
  explicit FaultyBacking(Fault fault) : fault_(fault) {}

  void arm(long after) const {
    left_ = after;
    has_failed_ = false;
    failed_sync_ = false;
  }
  void disarm() const { left_ = -1; }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  [[nodiscard]] bool failed_sync() const noexcept { return failed_sync_; }
  [[nodiscard]] Errno error() const noexcept {
    return Errno(fault_ == Fault::error ? EIO : ENOSPC);
  }

  [[nodiscard]] Result<Descriptor> open(FolderRef folder, const char* name,
                                        int flags) const override {
    return reads() ? error() : Backing::open(folder, name, flags);
  }
  [[nodiscard]] Result<struct stat> status(EntryRef entry) const override {
    return reads() ? error() : Backing::status(entry);
  }
  [[nodiscard]] Result<std::size_t> read(FileRef file, std::uint64_t offset,
                                         MutableBytes into) const override {
    return reads() ? error() : Backing::read(file, offset, into);
  }
  [[nodiscard]] Result<std::size_t> entries(FolderRef folder, MutableBytes into) const override {
    return reads() ? error() : Backing::entries(folder, into);
  }
  [[nodiscard]] Result<Descriptor> create(FolderRef folder, const char* name, int flags,
                                          mode_t mode) const override {
    return takes_room() ? error() : Backing::create(folder, name, flags, mode);
  }
  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    if (fails_next_write_) {
      fails_next_write_ = false;
      return error();
    }
    const std::size_t without = bytes_without_room(file, offset, from.size());
    if ((fault_ == Fault::full && without == from.size()) || !takes_room()) {
      return Backing::write(file, offset, from);
    }
    if (fault_ == Fault::full && without > 0) {
      return Backing::write(file, offset, from.first(without));
    }
    if (fault_ == Fault::no_room_in_part && from.size() > 1) {
      fails_next_write_ = true;
      return Backing::write(file, offset, from.first(from.size() / 2));
    }
    return error();
  }
  [[nodiscard]] Result<void> set_length(FileRef file, std::uint64_t bytes) const override {
    return changes() ? error() : Backing::set_length(file, bytes);
  }
  [[nodiscard]] Result<void> allocate(FileRef file, int mode, std::uint64_t offset,
                                      std::uint64_t bytes) const override {
    const bool makes_hole = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
    return (makes_hole ? changes() : takes_room()) ? error()
                                                   : Backing::allocate(file, mode, offset, bytes);
  }
  [[nodiscard]] Result<void> sync(FileRef file, bool data_only) const override {
    if (changes()) {
      failed_sync_ = true;
      return error();
    }
    return Backing::sync(file, data_only);
  }
  [[nodiscard]] Result<void> make_folder(FolderRef folder, const char* name,
                                         mode_t mode) const override {
    return takes_room() ? error() : Backing::make_folder(folder, name, mode);
  }
  [[nodiscard]] Result<void> make_node(FolderRef folder, const char* name, mode_t mode,
                                       dev_t device) const override {
    return takes_room() ? error() : Backing::make_node(folder, name, mode, device);
  }
  [[nodiscard]] Result<void> make_link(FolderRef folder, const char* name,
                                       const char* target) const override {
    return takes_room() ? error() : Backing::make_link(folder, name, target);
  }
  [[nodiscard]] Result<void> add_name(EntryRef entry, FolderRef to_folder,
                                      const char* to_name) const override {
    return takes_room() ? error() : Backing::add_name(entry, to_folder, to_name);
  }
  [[nodiscard]] Result<void> rename(FolderRef folder, const char* name, FolderRef to_folder,
                                    const char* to_name, unsigned flags) const override {
    return changes() ? error() : Backing::rename(folder, name, to_folder, to_name, flags);
  }
  [[nodiscard]] Result<void> remove(FolderRef folder, const char* name,
                                    bool is_folder) const override {
    return changes() ? error() : Backing::remove(folder, name, is_folder);
  }
  [[nodiscard]] Result<void> sync_file_system(FileRef file) const override {
    if (changes()) {
      failed_sync_ = true;
      return error();
    }
    return Backing::sync_file_system(file);
  }
  [[nodiscard]] Result<std::uint64_t> next_hole(FileRef file, std::uint64_t offset) const override {
    return reads() ? error() : Backing::next_hole(file, offset);
  }
  [[nodiscard]] Result<void> rewind(FolderRef folder) const override {
    return reads() ? error() : Backing::rewind(folder);
  }
  [[nodiscard]] Result<void> set_mode(EntryRef entry, mode_t mode) const override {
    return changes() ? error() : Backing::set_mode(entry, mode);
  }
  [[nodiscard]] Result<void> set_owner(EntryRef entry, uid_t user, gid_t group) const override {
    return changes() ? error() : Backing::set_owner(entry, user, group);
  }
  [[nodiscard]] Result<void> set_attribute(FileRef file, const char* name, Bytes value,
                                           int flags) const override {
    return takes_room() ? error() : Backing::set_attribute(file, name, value, flags);
  }
  [[nodiscard]] Result<void> remove_attribute(FileRef file, const char* name) const override {
    return changes() ? error() : Backing::remove_attribute(file, name);
  }

 private:
  [[nodiscard]] bool fails() const {
    if (left_ < 0 || left_ > 0) {
      left_ -= left_ > 0 ? 1 : 0;
      return false;
    }
    left_ = fault_ == Fault::full ? 0 : -1;
    has_failed_ = true;
    return true;
  }
  [[nodiscard]] bool reads() const { return fault_ == Fault::error && fails(); }
  [[nodiscard]] bool takes_room() const { return fails(); }
  [[nodiscard]] bool changes() const { return fault_ != Fault::full && fails(); }

  Fault fault_;
  mutable long left_ = -1;
  mutable bool has_failed_ = false;
  mutable bool failed_sync_ = false;
  mutable bool fails_next_write_ = false;
};

using Tested = std::tuple<Script, Fault>;

class FaultTest : public ::testing::TestWithParam<Tested> {
 protected:
  // The trees after each step, when nothing fails.
  void run_without_faults() {
    const ScratchFolder scratch;
    WrittenVolume volume(scratch.path());
    Session session(volume);
    trees_.push_back({});
    for (const Step& step : steps()) {
      const Result<void> done = step(session);
      if (done.failed_with(EOPNOTSUPP)) {
        GTEST_SKIP() << scratch.path() << " has no extended attributes or no holes";
      }
      ASSERT_EQ(done, 0);
      trees_.push_back(read_tree(scratch.path()));
    }
  }

  // False if the script has no so many calls.
  bool run_with_fault(long which) {
    const ScratchFolder scratch;
    const Fault fault = std::get<Fault>(GetParam());
    auto own = std::make_unique<FaultyBacking>(fault);
    const FaultyBacking& backing = *own;
    // Only a file system that is really full leaves what is written over where it was.
    WrittenVolume volume(
        scratch.path(), {}, std::move(own),
        fault == Fault::full ? SavedBlocks::where_room_may_end : SavedBlocks::always);
    Session session(volume);
    backing.arm(which);
    for (std::size_t at = 0; at < steps().size(); ++at) {
      const int error = errno_of(steps()[at](session));
      if (!backing.has_failed()) {
        EXPECT_EQ(error, 0);
        continue;
      }
      backing.disarm();
      SCOPED_TRACE("call " + std::to_string(which) + ", in step " + std::to_string(at + 1));
      check(scratch, session, at, error);
      EXPECT_FALSE(backing.failed_sync() && error == 0) << "a failed sync is a success";
      // A step whose write was short ends with EIO.
      const bool is_short = fault == Fault::no_room_in_part && error == EIO;
      EXPECT_TRUE(error == 0 || error == backing.error().number() || is_short)
          << "another error: " << error;
      if (error != 0) {
        EXPECT_EQ(steps()[at](session), 0) << "the step does not succeed later";
        check(scratch, session, at, 0);
      }
      return true;
    }
    return false;
  }

 private:
  [[nodiscard]] static const std::vector<Step>& steps() {
    return std::get<Script>(GetParam()).steps;
  }

  void check(const ScratchFolder& scratch, const Session& session, std::size_t step, int error) {
    const Tree found = read_tree(scratch.path());
    EXPECT_FALSE(found.is_damaged());
    if (error == 0) {
      EXPECT_EQ(found.items == trees_[step + 1].items, true) << "the step is not complete";
    } else {
      expect_between(found, trees_[step], trees_[step + 1]);
    }
    for (const auto& [path, file] : session.files()) {
      const auto item = found.items.find(path);
      struct stat status = {};
      ASSERT_EQ(fstat(file.descriptor().number(), &status), 0);
      if (item == found.items.end() || status.st_nlink == 0) {
        continue;
      }
      Text text;
      for (const std::optional<Text>& block : item->second.blocks) {
        text.insert(text.end(), block->begin(), block->end());
      }
      EXPECT_EQ(text_of(file) == text, true) << path << " is open with other text";
    }
    const WrittenVolume volume(scratch.path());
    EXPECT_EQ(fsck_findings(volume.volume(), false), std::vector<std::string>{});
  }

  // Names are as before. Text too, but that of files whose text the step has changed in part: of
  // long writes, copies and ranges of zeros.
  static void expect_between(const Tree& found, const Tree& before, const Tree& after) {
    EXPECT_EQ(found.paths(), before.paths());
    for (const auto& [path, found_item] : found.items) {
      const Item& item = found_item;  // a lambda can take it, unlike a structured binding
      const auto old = before.items.find(path);
      const auto planned = after.items.find(path);
      if (old == before.items.end() || item == old->second) {
        continue;
      }
      ASSERT_NE(planned, after.items.end()) << path << " has changed";
      for (std::size_t block = 0; block < item.blocks.size(); ++block) {
        const auto is = [&](const Item& of) {
          return block < of.blocks.size() && of.blocks[block] == item.blocks[block];
        };
        const auto begins = [&](const Item& of) {
          return block < of.blocks.size() &&
                 item.blocks[block]->size() < of.blocks[block]->size() &&
                 std::equal(item.blocks[block]->begin(), item.blocks[block]->end(),
                            of.blocks[block]->begin());
        };
        EXPECT_TRUE(is(old->second) || is(planned->second) || begins(planned->second))
            << path << " block " << block << " has other text";
      }
    }
  }

  std::vector<Tree> trees_;
};

TEST_P(FaultTest, ComesOutAndLeavesTheVolumeConsistent) {
  run_without_faults();
  if (IsSkipped() || HasFatalFailure()) {
    return;
  }
  long which = 0;
  while (!HasFailure() && run_with_fault(which)) {
    ++which;
  }
  // Few calls take room.
  EXPECT_GT(which, std::get<Fault>(GetParam()) == Fault::full ? 1 : 5)
      << "hardly any call has failed";
}

constexpr const char* fault_names[] = {"error", "no_room", "no_room_in_part", "full"};

INSTANTIATE_TEST_SUITE_P(Scripts, FaultTest,
                         ::testing::Combine(::testing::ValuesIn(scripts()),
                                            ::testing::Values(Fault::error, Fault::no_room,
                                                              Fault::no_room_in_part, Fault::full)),
                         [](const auto& tested) {
                           return std::string(std::get<Script>(tested.param).name) + "_" +
                                  fault_names[static_cast<int>(std::get<Fault>(tested.param))];
                         });

}  // namespace

}  // namespace paes::volume::test
