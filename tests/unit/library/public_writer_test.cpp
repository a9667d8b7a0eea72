// SPDX-License-Identifier: Apache-2.0
// Writer: the same file whatever the order and the threads; each chunk once; all or nothing, also
// when the disk or the caller's function fails at any call.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <barrier>
#include <optional>
#include <set>

#include "cuda/cuda_device.hpp"
#include "library/public_sample.hpp"
#include "on_threads.hpp"

namespace paes {
namespace {

constexpr std::size_t piece = 3 * chunk;
const Contents text = random_buffer(10 * piece + 777, 3);

Bytes part_of(const Contents& all, std::size_t offset, std::size_t bytes) {
  return Bytes(all).subspan(offset, std::min(bytes, all.size() - offset));
}

class PublicWriter : public testing::Test {
 protected:
  // Nothing is there but what the test has put there.
  void expect_nothing() const { EXPECT_EQ(folder_.entries(), 0U); }
  [[nodiscard]] Contents text_of(const std::string& path) const {
    return all_of(Reader(path, with_own()));
  }

  Folder folder_;
  std::string path_ = folder_ / "file.paes";
};

void failure_of(const std::function<void()>& action) {
  const Error error = error_of(action);
  EXPECT_EQ(error.code, ErrorCode::failure) << error.what();
}

Error usage_of(const std::function<void()>& action) {
  const Error error = error_of(action);
  EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
  return error;
}

TEST_F(PublicWriter, TakesATextInPiecesOfAnySize) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, chunk - 1, chunk, chunk + 1,
                                  2 * chunk, piece, text.size()}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{1000}, chunk - 1, chunk, chunk + 1,
                                   piece, 2 * piece + 5, text.size()}) {
      if (step == 1 && bytes > chunk + 1) {
        continue;
      }
      Writer writer(path_, for_own(), {.threads = 2, .piece_bytes = piece, .overwrite = true});
      for (std::size_t at = 0; at < bytes; at += step) {
        writer.write(part_of(text, at, std::min(step, bytes - at)));
        writer.write({});
      }
      ASSERT_EQ(writer.commit(), bytes);
      ASSERT_TRUE(text_of(path_) == Contents(text.begin(), text.begin() + static_cast<long>(bytes)))
          << bytes << " in steps of " << step;
    }
  }
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(PublicWriter, TakesPiecesOfRandomSizes) {
  std::mt19937_64 generator(7);
  for (int round = 0; round < 10; ++round) {
    Contents file;
    Writer writer([&](Bytes bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); },
                  for_me(round % 2 == 0 ? 128 : 256),
                  {.threads = 1 + static_cast<unsigned>(round) % 3, .piece_bytes = chunk});
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t bytes = generator() % (generator() % 3 == 0 ? 5 * chunk : 300);
      const Bytes part = part_of(text, at, bytes);
      writer.write(part);
      at += part.size();
    }
    EXPECT_EQ(writer.commit(), text.size());
    EXPECT_TRUE(all_of(Reader(store(file), with_mine())) == text);
  }
}

// Ranges of whole chunks, all of them, in random order.
std::vector<Range> shuffled_ranges(std::size_t chunks, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<Range> ranges;
  for (std::size_t first = 0; first < chunks;) {
    const std::size_t end = std::min<std::size_t>(chunks, first + 1 + generator() % 7);
    ranges.push_back({first, end});
    first = end;
  }
  std::shuffle(ranges.begin(), ranges.end(), generator);
  return ranges;
}

TEST_F(PublicWriter, TakesRangesInAnyOrderFromAnyNumberOfThreads) {
  for (const std::size_t bytes : {chunk - 1, chunk, 8 * chunk, text.size(), 10 * piece}) {
    for (std::uint64_t round = 0; round < 4; ++round) {
      Writer writer(path_, for_own(), {.threads = 2, .piece_bytes = chunk, .overwrite = true});
      const auto ranges = shuffled_ranges((bytes + chunk - 1) / chunk, round);
      test::on_threads(ranges.size(), 4, [&](std::size_t i) {
        const std::size_t at = ranges[i].first * chunk;
        writer.write_at(at, part_of(text, at, std::min(ranges[i].count() * chunk, bytes - at)));
      });
      ASSERT_EQ(writer.commit(), bytes);
      ASSERT_TRUE(text_of(path_) ==
                  Contents(text.begin(), text.begin() + static_cast<long>(bytes)));
    }
  }
  EXPECT_EQ(folder_.entries(), 1U);
}

// The text ends within a chunk, whoever is the last to say so.
TEST_F(PublicWriter, KnowsItsLengthWhoeverWritesTheLastChunk) {
  for (int round = 0; round < (test::is_sanitized ? 20 : 100); ++round) {
    Writer writer(path_, for_own(), {.overwrite = true});
    std::barrier together(4);
    test::on_threads(4, 4, [&](std::size_t i) {
      together.arrive_and_wait();
      writer.write_at(i * chunk, part_of(text, i * chunk, i == 3 ? 5 : chunk));
    });
    ASSERT_EQ(writer.commit(), 3 * chunk + 5) << "round " << round;
    ASSERT_EQ(Reader(path_, with_own()).size(), 3 * chunk + 5);
  }
}

TEST_F(PublicWriter, AnEmptyFileIsWrittenByACommitAlone) {
  Writer writer(path_, for_me());
  EXPECT_EQ(writer.commit(), 0U);
  EXPECT_EQ(Reader(path_, with_mine()).size(), 0U);
  Writer other(folder_ / "other", for_own());
  other.write_at(0, {});
  EXPECT_EQ(other.commit(), 0U);
  EXPECT_EQ(Reader(folder_ / "other", with_own()).size(), 0U);
  EXPECT_EQ(inspect_file(path_).text_bytes, 0U);
}

TEST_F(PublicWriter, AChunkIsWrittenOnce) {
  Writer writer(path_, for_own(), {.piece_bytes = chunk});
  writer.write_at(4 * chunk, part_of(text, 4 * chunk, 2 * chunk));
  const Contents other = random_buffer(20 * chunk, 9);
  for (const Range wrong :
       {Range{4, 5}, Range{5, 6}, Range{4, 6}, Range{3, 5}, Range{5, 8}, Range{0, 12}}) {
    usage_of(
        [&] { writer.write_at(wrong.first * chunk, part_of(other, 0, wrong.count() * chunk)); });
  }
  writer.write_at(0, part_of(text, 0, 4 * chunk));
  writer.write_at(6 * chunk, part_of(text, 6 * chunk, chunk + 9));
  usage_of([&] { writer.write_at(7 * chunk, part_of(other, 0, 9)); });
  usage_of([&] { writer.write_at(7 * chunk, part_of(other, 0, 10)); });
  usage_of([&] { writer.write_at(8 * chunk, part_of(other, 0, chunk)); });  // after the end
  usage_of([&] { writer.write_at(100 * chunk, part_of(other, 0, 1)); });
  EXPECT_EQ(writer.commit(), 7 * chunk + 9);
  EXPECT_TRUE(text_of(path_) == Contents(text.begin(), text.begin() + 7 * chunk + 9));
}

TEST_F(PublicWriter, AnEndBeforeWhatIsWrittenIsRefused) {
  Writer writer(path_, for_own());
  writer.write_at(5 * chunk, part_of(text, 5 * chunk, chunk));
  usage_of([&] { writer.write_at(3 * chunk, part_of(text, 3 * chunk, 100)); });
  usage_of([&] { writer.write_at(0, part_of(text, 0, chunk + 1)); });
  writer.write_at(0, part_of(text, 0, 5 * chunk));
  EXPECT_EQ(writer.commit(), 6 * chunk);
  EXPECT_TRUE(text_of(path_) == Contents(text.begin(), text.begin() + 6 * chunk));
}

TEST_F(PublicWriter, GapsAndOtherPlacesAreRefused) {
  {
    Writer writer(path_, for_own());
    for (const std::uint64_t offset :
         {std::uint64_t{1}, std::uint64_t{chunk - 1}, std::uint64_t{chunk + 16}, UINT64_MAX}) {
      usage_of([&] { writer.write_at(offset, part_of(text, 0, chunk)); });
    }
    for (const std::uint64_t first : {(std::uint64_t{1} << 38) - 1, std::uint64_t{1} << 38,
                                      std::uint64_t{1} << 49, (std::uint64_t{1} << 50) - 1}) {
      usage_of([&] { writer.write_at(first * chunk, part_of(text, 0, chunk)); });
    }
    writer.write_at(chunk, part_of(text, chunk, chunk));
    const Error gap = usage_of([&] { (void)writer.commit(); });
    EXPECT_NE(std::string(gap.what()).find("missing"), std::string::npos);
    expect_nothing();
  }
  expect_nothing();
}

TEST_F(PublicWriter, WriteAndWriteAtDoNotGoTogether) {
  Writer in_order(path_, for_own());
  in_order.write(part_of(text, 0, 10));
  usage_of([&] { in_order.write_at(chunk, part_of(text, 0, 10)); });
  EXPECT_EQ(in_order.commit(), 10U);
  Writer anywhere(folder_ / "other", for_own());
  anywhere.write_at(0, part_of(text, 0, chunk));
  usage_of([&] { anywhere.write(part_of(text, 0, 10)); });
  EXPECT_EQ(anywhere.commit(), chunk);
  EXPECT_TRUE(text_of(folder_ / "other") == Contents(text.begin(), text.begin() + chunk));
}

TEST_F(PublicWriter, IsOverAfterItsCommit) {
  Writer writer(path_, for_own());
  writer.write(part_of(text, 0, 10));
  EXPECT_EQ(writer.commit(), 10U);
  const Contents file = read_file(path_);
  usage_of([&] { (void)writer.commit(); });
  usage_of([&] { writer.write(part_of(text, 0, 10)); });
  usage_of([&] { writer.write_at(0, part_of(text, 0, 10)); });
  EXPECT_TRUE(read_file(path_) == file);
}

TEST_F(PublicWriter, LeavesNothingWithoutACommit) {
  {
    Writer writer(path_, for_own());
    writer.write(text);
    Writer moved = std::move(writer);
    moved.write(text);
    expect_nothing();
  }
  expect_nothing();
  {
    Writer first(path_, for_own());
    first = Writer(folder_ / "second", for_own());
    first.write(part_of(text, 0, 5));
    EXPECT_EQ(first.commit(), 5U);
  }
  EXPECT_FALSE(exists(path_));
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(PublicWriter, ReplacesAFileOnlyIfAsked) {
  write_file(path_, Contents{1, 2, 3});
  EXPECT_EQ(error_of([&] { (void)Writer(path_, for_own()); }).code, ErrorCode::failure);
  {
    Writer abandoned(path_, for_own(), {.overwrite = true});
    abandoned.write(text);
  }
  EXPECT_EQ(read_file(path_), (Contents{1, 2, 3}));
  Writer writer(path_, for_own(), {.overwrite = true});
  writer.write(text);
  EXPECT_EQ(read_file(path_), (Contents{1, 2, 3}));
  EXPECT_EQ(writer.commit(), text.size());
  EXPECT_TRUE(text_of(path_) == text);
  // What has come in the meantime stays.
  Writer late(folder_ / "late", for_own());
  write_file(folder_ / "late", Contents{4});
  EXPECT_EQ(error_of([&] { (void)late.commit(); }).code, ErrorCode::failure);
  EXPECT_EQ(read_file(folder_ / "late"), Contents{4});
}

TEST_F(PublicWriter, HasTheModeThatTheUmaskLeaves) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
    const mode_t before = umask(mask);
    Writer writer(path_, for_own(), {.overwrite = true});
    (void)writer.commit();
    (void)umask(before);
    struct stat status = {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0666U & ~mask);
  }
}

TEST_F(PublicWriter, NoTwoFilesHaveOneSalt) {
  std::set<Contents> salts;
  for (int i = 0; i < 20; ++i) {
    const Contents file = sealed(Contents(100), for_own());
    salts.emplace(file.begin(), file.begin() + cobblestone::salt_bytes);
  }
  EXPECT_EQ(salts.size(), 20U);
}

// What a function got, by place: of no place there may be two different bytes.
TEST_F(PublicWriter, AFunctionThatThrowsAtAnyCallEndsIt) {
  struct Own {};
  for (const unsigned threads : {1U, 3U}) {
    for (int fails_at = 1;; ++fails_at) {
      int calls = 0;
      int calls_after = 0;
      Contents file;
      const auto write = [&](Bytes bytes) {
        if (++calls == fails_at) {
          throw Own{};
        }
        calls_after += calls > fails_at ? 1 : 0;
        file.insert(file.end(), bytes.begin(), bytes.end());
      };
      std::optional<Writer> writer;
      bool has_thrown = false;
      const auto attempt = [&](const std::function<void()>& action) {
        try {
          action();
        } catch (const Own&) {
          EXPECT_FALSE(has_thrown);
          has_thrown = true;
        } catch (const Error& error) {
          EXPECT_TRUE(has_thrown) << error.what();
          EXPECT_EQ(error.code, ErrorCode::failure);
        }
      };
      const FileOptions options = {.threads = threads, .piece_bytes = chunk};
      attempt([&] { writer.emplace(Writer::Write(write), for_own(), options); });
      for (std::size_t at = 0; writer && at < text.size(); at += piece - 100) {
        attempt([&] { writer->write(part_of(text, at, piece - 100)); });
      }
      if (writer) {
        attempt([&] { (void)writer->commit(); });
      }
      if (writer && has_thrown) {
        attempt([&] { (void)writer->commit(); });
      }
      EXPECT_EQ(calls_after, 0);  // nothing is sealed again, and nothing after it
      if (calls < fails_at) {
        EXPECT_FALSE(has_thrown);
        EXPECT_TRUE(all_of(Reader(store(file), with_own())) == text);
        EXPECT_GT(fails_at, 10);
        break;
      }
      EXPECT_TRUE(has_thrown);
    }
  }
}

TEST_F(PublicWriter, AFunctionIsGivenWhatIsWrittenInOrder) {
  const auto write = [](Bytes) {};
  Writer writer(write, for_own());
  usage_of([&] { writer.write_at(0, part_of(text, 0, chunk)); });
  writer.write(text);
  EXPECT_EQ(writer.commit(), text.size());
  EXPECT_EQ(error_of([] { (void)Writer(Writer::Write(), for_own()); }).code, ErrorCode::usage);
}

// A limit on the size of files, as a full disk.
TEST_F(PublicWriter, AFullDiskEndsItAndLeavesNothing) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {5 * chunk, before.rlim_max};
  for (const bool in_order : {true, false}) {
    {
      Writer writer(path_, for_own(), {.threads = 2, .piece_bytes = chunk});
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
      const Error error =
          error_of([&] { in_order ? writer.write(text) : writer.write_at(0, text); });
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
      EXPECT_EQ(error.code, ErrorCode::failure) << error.what();
      // There is room again, but other text under the same nonces is refused.
      failure_of([&] { in_order ? writer.write(text) : writer.write_at(0, text); });
      failure_of([&] { writer.write_at(50 * chunk, part_of(text, 0, chunk)); });
      failure_of([&] { (void)writer.commit(); });
    }
    expect_nothing();
  }
  if (exists("/dev/full")) {
    const auto to_full = [&] {
      Writer writer("/dev/full", for_own(), {.overwrite = true});
      writer.write(text);
    };
    EXPECT_EQ(error_of(to_full).code, ErrorCode::failure);
  }
}

TEST_F(PublicWriter, ACommitThatIsTooSoonSpoilsNothing) {
  Writer writer(path_, for_own(), {.threads = 1});
  writer.write_at(chunk, part_of(text, chunk, chunk));  // an empty file is complete
  std::atomic<bool> stop{false};
  std::atomic<int> refused{0};
  {
    const std::jthread committer([&] {
      while (!stop) {
        try {
          (void)writer.commit();  // chunk 0 is missing until the end
        } catch (const Error& error) {
          refused += error.code == ErrorCode::usage ? 1 : 0;
        }
      }
    });
    test::on_threads(28, 2, [&](std::size_t i) {
      writer.write_at((i + 2) * chunk, part_of(text, (i + 2) * chunk, chunk));
    });
    while (refused == 0) {  // the committer may not have run yet
      std::this_thread::yield();
    }
    stop = true;
  }
  writer.write_at(0, part_of(text, 0, chunk));
  EXPECT_EQ(writer.commit(), 30 * chunk);
  EXPECT_TRUE(text_of(path_) == Contents(text.begin(), text.begin() + 30 * chunk));
}

TEST_F(PublicWriter, GoesToAPipeInOrder) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  Contents file;
  std::thread reader = stream::drain(path_, file, 1000);
  {
    Writer writer(path_, for_own(), {.threads = 2, .piece_bytes = chunk, .overwrite = true});
    usage_of([&] { writer.write_at(0, part_of(text, 0, chunk)); });
    writer.write(text);
    EXPECT_EQ(writer.commit(), text.size());
  }
  reader.join();
  EXPECT_TRUE(all_of(Reader(store(file), with_own())) == text);
}

TEST_F(PublicWriter, ACancelStopsIt) {
  Cancel cancel;
  {
    Writer writer(path_, for_own(), {.piece_bytes = chunk, .cancel = &cancel});
    writer.write(part_of(text, 0, chunk));
    cancel.request();
    failure_of([&] { writer.write(text); });
    failure_of([&] { (void)writer.commit(); });
  }
  expect_nothing();
  Cancel at_end;
  {
    Writer writer(path_, for_own(), {.cancel = &at_end});
    writer.write(part_of(text, 0, 5));
    at_end.request();
    EXPECT_EQ(error_of([&] { (void)writer.commit(); }).code, ErrorCode::failure);
  }
  expect_nothing();
}

TEST_F(PublicWriter, OptionsAndKeysAreChecked) {
  usage_of([&] { (void)Writer(path_, {}); });
  usage_of([&] { (void)Writer(path_, for_me(192)); });
  usage_of(
      [&] { (void)Writer(path_, {.recipients = {my_identity().recipient()}, .key = own_key()}); });
  usage_of([&] { (void)Writer(path_, for_own(), {.kernel = "none"}); });
  usage_of([&] { (void)Writer(path_, for_own(), {.piece_bytes = SIZE_MAX}); });
  EXPECT_EQ(error_of([&] { (void)Writer(folder_ / "none/file", for_own()); }).code,
            ErrorCode::failure);
  EXPECT_EQ(error_of([&] { (void)Writer(folder_.path(), for_own()); }).code, ErrorCode::usage);
  expect_nothing();
}

TEST_F(PublicWriter, ADeviceMakesTheSameFile) {
  const auto runtime = std::make_shared<cuda::EmulatedRuntime>();
  {
    const std::shared_ptr<Device> device =
        cuda::make_device(runtime, {.slots = 2, .piece_bytes = piece});
    Writer writer(path_, for_own(), {.threads = 2, .device = device, .piece_bytes = piece});
    for (const Range range : shuffled_ranges(text.size() / chunk + 1, 3)) {
      writer.write_at(range.first * chunk,
                      part_of(text, range.first * chunk, range.count() * chunk));
    }
    EXPECT_EQ(writer.commit(), text.size());
  }
  EXPECT_NE(runtime->launches()[0], 0U);
  EXPECT_EQ(runtime->complaints(), std::vector<std::string>());
  EXPECT_TRUE(text_of(path_) == text);
}

// Two calls at a time, as a retry after "another call is still writing" may make them.
TEST_F(PublicWriter, OneOfSeveralCommitsIsIt) {
  for (int round = 0; round < 100; ++round) {
    Writer writer(path_, for_own(), {.threads = 1, .overwrite = true});
    writer.write(part_of(text, 0, 100));
    std::atomic<int> committed{0};
    test::on_threads(3, 3, [&](std::size_t) {
      try {
        EXPECT_EQ(writer.commit(), 100U);
        ++committed;
      } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
      }
    });
    EXPECT_EQ(committed.load(), 1);
  }
}

// Parent and child would seal different texts under the same nonces.
class InAForkedChild : public PublicWriter, public testing::WithParamInterface<pid_t (*)()> {};

// No handler of pthread_atfork hears of the second one.
INSTANTIATE_TEST_SUITE_P(Ways, InAForkedChild, testing::Values(&fork, &_Fork));

TEST_P(InAForkedChild, AWriterIsRefused) {
  Writer writer(path_, for_own(), {.threads = 1});
  writer.write(part_of(text, 0, 100));
  const pid_t child = GetParam()();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int refused = 0;
    for (const std::function<void()>& use : std::initializer_list<std::function<void()>>{
             [&] { writer.write(text); }, [&] { (void)writer.commit(); }}) {
      try {
        use();
      } catch (const Error& error) {
        refused += error.code == ErrorCode::failure ? 1 : 0;
      }
    }
    _exit(refused);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(writer.commit(), 100U);
  EXPECT_TRUE(text_of(path_) == Contents(text.begin(), text.begin() + 100));
}

// Independent of the library's own reading: the specification in a few lines.
TEST_F(PublicWriter, WritesWhatTheSpecificationSays) {
  for (const std::size_t key_bytes : {16U, 32U}) {
    const std::string context = "a context";
    const Contents file = sealed(text, for_own(own_key(key_bytes, context)));
    const auto suite =
        key_bytes == 16 ? container::Suite::cobblestone_128 : container::Suite::cobblestone_256;
    const auto keys = cobblestone::derive(
        suite, random_buffer(key_bytes, 77), Bytes(file).first(cobblestone::salt_bytes),
        Bytes(reinterpret_cast<const std::uint8_t*>(context.data()), context.size()));
    Contents expected(cobblestone::salt_bytes + std::size(keys->commitment));
    std::copy_n(file.begin(), cobblestone::salt_bytes, expected.begin());
    std::copy(keys->commitment, std::end(keys->commitment),
              expected.begin() + cobblestone::salt_bytes);
    const GcmKey gcm(Bytes(keys->key, key_bytes), find_kernel(Cipher::aes, "openssl"));
    for (std::uint64_t number = 0; number * chunk <= text.size(); ++number) {
      const Bytes part = part_of(text, number * chunk, chunk);
      Contents chunk_bytes(part.size() + cobblestone::tag_bytes);
      gcm.seal(cobblestone::chunk_nonce(*keys, number), {}, part,
               MutableBytes(chunk_bytes).first(part.size()),
               MutableBytes(chunk_bytes).subspan(part.size()));
      expected.insert(expected.end(), chunk_bytes.begin(), chunk_bytes.end());
    }
    EXPECT_TRUE(file == expected);
  }
}

}  // namespace
}  // namespace paes
