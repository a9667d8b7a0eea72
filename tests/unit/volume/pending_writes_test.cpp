// SPDX-License-Identifier: Apache-2.0
// What is left of a file when the program is killed within any of its writes, at any edge of a
// page, and another process completes what was noted: each block as it was or as it should become.
#include <linux/falloc.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "comparable_results.hpp"
#include "written_volume.hpp"

namespace paes::volume::test {
namespace {

using vault::block_bytes;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t much_room = std::uint64_t{1} << 40;

// No file has room from this offset on.
class LimitedBacking : public Backing {
 public:
  explicit LimitedBacking(std::uint64_t room) : room_(room) {}

  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    if (offset >= room_) {
      return Errno(ENOSPC);
    }
    return Backing::write(
        file, offset,
        from.first(static_cast<std::size_t>(std::min<std::uint64_t>(from.size(), room_ - offset))));
  }

 private:
  std::uint64_t room_;
};

struct Killed {};

// When the program is killed: at this call of those that change content, after so many of the edges
// of pages that lie in the write. `at` counts down.
struct Kill {
  std::size_t at = ~std::size_t{0};
  std::size_t edges = 0;
  bool has_more_edges = false;
  const PendingWrites* pending = nullptr;
};

// At the kill it has all that was noted completed, as the other process would, and throws Killed.
class KilledBacking : public LimitedBacking {
 public:
  KilledBacking(std::uint64_t room, Kill& kill) : LimitedBacking(room), room_(room), kill_(kill) {}

  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    if (kill_.at-- == 0) {
      const std::uint64_t first_edge = (offset / page_bytes + 1) * page_bytes;
      const std::uint64_t end =
          std::min(kill_.edges == 0 ? offset : first_edge + (kill_.edges - 1) * page_bytes,
                   offset + from.size());
      kill_.has_more_edges = end < offset + from.size();
      if (end > offset) {
        (void)LimitedBacking::write(file, offset,
                                    from.first(static_cast<std::size_t>(end - offset)));
      }
      die();
    }
    return LimitedBacking::write(file, offset, from);
  }
  [[nodiscard]] Result<void> set_length(FileRef file, std::uint64_t bytes) const override {
    return may_die([&] { return Backing::set_length(file, bytes); });
  }
  [[nodiscard]] Result<void> allocate(FileRef file, int mode, std::uint64_t offset,
                                      std::uint64_t bytes) const override {
    return may_die([&] { return Backing::allocate(file, mode, offset, bytes); });
  }

 private:
  // Before the call, or with an edge after it.
  template <typename Call>
  Result<void> may_die(const Call& call) const {
    if (kill_.at-- != 0) {
      return call();
    }
    kill_.has_more_edges = kill_.edges == 0;
    if (kill_.edges != 0) {
      (void)call();
    }
    die();
  }
  [[noreturn]] void die() const {
    (void)kill_.pending->complete(LimitedBacking(room_));
    throw Killed();
  }

  std::uint64_t room_;
  Kill& kill_;
};

struct Change {
  const char* name;
  std::size_t length;  // of the text before it
  std::function<Result<void>(WritableFile&)> make;
  std::uint64_t room = much_room;
  bool is_in_place = false;  // lacks room only where blocks are saved
};

Result<void> write_at(WritableFile& file, std::uint64_t offset, std::size_t bytes) {
  return Result<void>(file.write(offset, random_text(bytes, 77), "f"));
}

std::vector<Change> changes() {
  constexpr std::size_t whole = 20 * block_bytes;
  constexpr std::size_t odd = 5 * block_bytes + 1000;
  const auto write = [](std::uint64_t offset, std::size_t bytes) {
    return [=](WritableFile& file) { return write_at(file, offset, bytes); };
  };
  const auto cut = [](std::uint64_t length) {
    return [=](WritableFile& file) { return file.set_length(length, "f"); };
  };
  const auto allocate = [](int mode, std::uint64_t offset, std::uint64_t bytes) {
    return [=](WritableFile& file) { return file.allocate(mode, offset, bytes, "f"); };
  };
  return {
      {"whole blocks", whole, write(3 * block_bytes, 9 * block_bytes)},
      {"to the end of the last block", odd, write(block_bytes, odd - block_bytes)},
      {"parts of blocks", whole, write(3 * block_bytes + 100, 3 * block_bytes)},
      {"within a block", whole, write(3 * block_bytes + 100, 200)},
      {"append", odd, write(odd, 3 * block_bytes)},
      {"append within the block", odd, write(odd, 10)},
      {"over the end", odd, write(2 * block_bytes + 5, 7 * block_bytes)},
      {"behind the end", odd, write(9 * block_bytes + 7, 2 * block_bytes)},
      {"the first text", 0, write(0, 3 * block_bytes + 9)},
      {"the first text, behind the beginning", 0, write(3 * block_bytes, 3 * block_bytes + 9)},
      {"shorter, within a block", odd, cut(2 * block_bytes + 77)},
      {"shorter, within the last block", odd, cut(odd - 1)},
      {"shorter, at a block", odd, cut(2 * block_bytes)},
      {"longer, within the block", odd, cut(odd + 9)},
      {"longer", odd, cut(9 * block_bytes)},
      {"longer, to within a block", odd, cut(9 * block_bytes + 1)},
      {"longer, without text", 0, cut(9 * block_bytes + 1)},
      {"a hole", whole,
       allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * block_bytes + 9, 5 * block_bytes)},
      {"a hole within a block", whole,
       allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * block_bytes + 9, 99)},
      {"allocated beyond the end", odd, allocate(0, odd, 5 * block_bytes)},
      // The room ends within a block, in its first page and in its second.
      {"append without room", odd, write(odd, 9 * block_bytes), 8 * page_bytes},
      {"append without room for a block", odd, write(odd, 9 * block_bytes), 6 * page_bytes},
      {"behind the end without room", odd, write(9 * block_bytes, block_bytes), 8 * page_bytes},
      {"the first text without room", 0, write(0, 9 * block_bytes), page_bytes},
      {"whole blocks without room", whole, write(3 * block_bytes, 9 * block_bytes), 8 * page_bytes,
       true},
  };
}

Text block_of(const Text& text, std::size_t number) {
  const std::size_t begin = std::min(text.size(), number * block_bytes);
  const std::size_t end = std::min(text.size(), begin + block_bytes);
  return {text.begin() + static_cast<std::ptrdiff_t>(begin),
          text.begin() + static_cast<std::ptrdiff_t>(end)};
}

bool begins_with(const Text& text, const Text& beginning) {
  return text.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), text.begin());
}

// Whether a block is as it was, or as it was with zeros behind it, or as it should become.
bool is_old_or_new(const Text& block, const Text& old, const Text& changed) {
  const bool has_grown = block.size() == block_bytes && begins_with(block, old) &&
                         std::all_of(block.begin() + static_cast<std::ptrdiff_t>(old.size()),
                                     block.end(), [](std::uint8_t byte) { return byte == 0; });
  return block == old || block == changed || has_grown;
}

struct Mode {
  const char* name;
  vault::ContentCipher content;
  SavedBlocks saved;
  OtherWriters others;
};

constexpr Mode modes[] = {
    {"aes_gcm", vault::ContentCipher::aes_256_gcm, SavedBlocks::where_room_may_end,
     OtherWriters::none},
    {"xchacha_saved", vault::ContentCipher::xchacha20_poly1305, SavedBlocks::always,
     OtherWriters::none},
    {"aes_gcm_shared", vault::ContentCipher::aes_256_gcm, SavedBlocks::where_room_may_end,
     OtherWriters::some},
};

class KilledWithin : public testing::TestWithParam<Mode> {
 protected:
  // The text that the change leads to if the program is killed then, or none if it was not.
  [[nodiscard]] std::optional<Text> text_after(const Change& change, Kill& kill) {
    const ScratchFolder folder;
    vault::Features features;
    features.content = GetParam().content;
    WrittenVolume made(folder.path(), features);
    auto file = made.create(made.root(), "f");
    EXPECT_TRUE(file);
    const Text before = random_text(change.length);
    EXPECT_EQ(file->write(0, before, "f"), 0);

    PendingWrites pending(2);
    kill.pending = &pending;
    WrittenVolume volume(folder.path(), features,
                         std::make_unique<KilledBacking>(change.room, kill), GetParam().saved,
                         GetParam().others, nullptr, &pending);
    bool is_killed = false;
    {
      auto opened = volume.open(volume.root(), "f");
      EXPECT_TRUE(opened);
      try {
        result_ = change.make(*opened);
      } catch (const Killed&) {
        is_killed = true;
      }
    }
    EXPECT_EQ(fsck_findings(made.volume()), std::vector<std::string>());
    text_ = text_of(*file);
    return is_killed ? std::optional(text_) : std::nullopt;
  }

  Text text_;
  Result<void> result_;
};

TEST_P(KilledWithin, AWriteThatIsCompletedLeavesEachBlockOldOrNew) {
  const bool is_saved =
      GetParam().saved == SavedBlocks::always || GetParam().others == OtherWriters::some;
  for (const Change& change : changes()) {
    if (change.is_in_place && !is_saved) {
      continue;
    }
    SCOPED_TRACE(change.name);
    Kill never;
    ASSERT_FALSE(text_after(change, never));
    const Text after = text_;
    const Text before = random_text(change.length);
    ASSERT_TRUE(result_ || change.room != much_room);
    const std::size_t most = std::max(before.size(), after.size());
    bool is_killed = true;
    for (std::size_t call = 0; is_killed; ++call) {
      Kill kill;
      kill.has_more_edges = true;
      for (std::size_t edge = 0; is_killed && kill.has_more_edges; ++edge) {
        SCOPED_TRACE("call " + std::to_string(call) + ", edge " + std::to_string(edge));
        kill = {call, edge, false, nullptr};
        const std::optional<Text> left = text_after(change, kill);
        is_killed = left.has_value();
        ASSERT_LE(text_.size(), (most + block_bytes - 1) / block_bytes * block_bytes);
        ASSERT_GE(text_.size(), std::min(before.size(), after.size()));
        for (std::size_t block = 0; block * block_bytes < text_.size(); ++block) {
          ASSERT_TRUE(is_old_or_new(block_of(text_, block), block_of(before, block),
                                    block_of(after, block)))
              << "block " << block;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, KilledWithin, testing::ValuesIn(modes),
                         [](const auto& mode) { return std::string(mode.param.name); });

TEST(PendingWrites, AreCompletedOnlyWhileTheyAreNoted) {
  const ScratchFolder folder;
  const Descriptor file(::open((folder.path() + "/f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const Text text = random_text(100);
  StoredChange change;
  change.file = file;
  change.bytes = text;
  change.length_after = 50;
  PendingWrites pending(2);
  {
    PendingWrites::Slot slot = pending.take();
    slot.note(change);
    change.length_after = 70;
    slot.note(change);
    EXPECT_EQ(pending.complete(Backing()), 1U);
    EXPECT_EQ(lseek(file.number(), 0, SEEK_END), 70);
  }
  EXPECT_EQ(ftruncate(file.number(), 0), 0);
  EXPECT_EQ(pending.complete(Backing()), 0U);
  EXPECT_EQ(lseek(file.number(), 0, SEEK_END), 0);
}

// Does nothing, so that to complete with it only counts what is noted.
class IdleBacking : public Backing {
 public:
  [[nodiscard]] Result<std::size_t> write(FileRef, std::uint64_t, Bytes from) const override {
    return from.size();
  }
  [[nodiscard]] Result<void> set_length(FileRef, std::uint64_t) const override { return {}; }
  [[nodiscard]] Result<void> allocate(FileRef, int, std::uint64_t, std::uint64_t) const override {
    return {};
  }
};

thread_local bool looks_at_notes = false;

// Its writes can fail, once another thread waits for the blocks. That one looks, at its first call
// once it has their lock, at what is noted.
class LookedAtBacking : public Backing {
 public:
  struct Seen {
    std::atomic<bool> fails{false};
    std::atomic<bool> waits{false};  // the other thread
    std::atomic<std::size_t> noted{0};
    const PendingWrites* pending = nullptr;
  };

  explicit LookedAtBacking(Seen& seen) : seen_(seen) {}

  [[nodiscard]] Result<std::size_t> write(FileRef file, std::uint64_t offset,
                                          Bytes from) const override {
    if (!seen_.fails.load()) {
      return Backing::write(file, offset, from);
    }
    seen_.waits.wait(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sched_param none = {};
    EXPECT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    return Errno(EIO);
  }
  [[nodiscard]] Result<void> set_length(FileRef file, std::uint64_t bytes) const override {
    return seen_.fails.load() ? Errno(EIO) : Backing::set_length(file, bytes);
  }
  [[nodiscard]] Result<std::size_t> read(FileRef file, std::uint64_t offset,
                                         MutableBytes into) const override {
    if (looks_at_notes) {
      seen_.noted += seen_.pending->complete(IdleBacking());
    }
    return Backing::read(file, offset, into);
  }

 private:
  Seen& seen_;
};

void stay_on_one_processor() {
  cpu_set_t all;
  cpu_set_t one;
  CPU_ZERO(&one);
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (std::size_t number = 0; CPU_COUNT(&one) == 0; ++number) {
    if (CPU_ISSET(number, &all)) {
      CPU_SET(number, &one);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

// Who waits runs at once when it is woken, because the one whose write has failed only runs from
// then on when nobody else does.
TEST(PendingWrites, AreNotNotedAnyMoreOnceTheBlocksAreGivenBack) {
  const ScratchFolder folder;
  PendingWrites pending(2);
  LookedAtBacking::Seen seen;
  seen.pending = &pending;
  WrittenVolume volume(folder.path(), {}, std::make_unique<LookedAtBacking>(seen),
                       SavedBlocks::where_room_may_end, OtherWriters::none, nullptr, &pending);
  auto file = volume.create(volume.root(), "f");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->write(0, random_text(4 * block_bytes), "f"), 0);
  const std::function<Result<void>()> failures[] = {
      [&] { return Result<void>(file->write(0, random_text(2 * block_bytes), "f")); },
      [&] { return Result<void>(file->write(100, random_text(2 * block_bytes), "f")); },
      [&] { return file->set_length(block_bytes + 9, "f"); },
      [&] {
        return file->allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 9, 2 * block_bytes, "f");
      },
  };
  for (const auto& fail : failures) {
    for (int round = 0; round < 2; ++round) {
      seen.fails = true;
      seen.waits = false;
      std::thread failing([&] {
        stay_on_one_processor();
        EXPECT_EQ(fail(), EIO);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::thread waiting([&] {
        stay_on_one_processor();
        seen.waits = true;
        seen.waits.notify_all();
        looks_at_notes = true;
        Text read(block_bytes);
        EXPECT_TRUE(file->read(0, read, "f"));
      });
      failing.join();
      waiting.join();
      seen.fails = false;
    }
  }
  EXPECT_EQ(seen.noted.load(), 0U);
}

TEST(PendingWrites, WaitForASlot) {
  PendingWrites pending(1);
  std::atomic<int> holders{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const PendingWrites::Slot slot = pending.take();
        EXPECT_EQ(++holders, 1);
        --holders;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace paes::volume::test
