// SPDX-License-Identifier: Apache-2.0
// Reader: only the text comes out, whatever place is asked for, from whatever source, on however
// many threads; damage, other keys and sources that misbehave are errors, and leave zeros.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "cuda/cuda_device.hpp"
#include "library/public_sample.hpp"
#include "on_threads.hpp"

namespace paes {
namespace {

// Three chunks a piece, so that a text of a few hundred kilobytes has many.
constexpr std::size_t piece = 3 * chunk;
const Contents text = random_buffer(10 * piece + 777, 3);

// Texts at random places are compared with the text itself.
void expect_text_at_random_places(const Reader& reader, const Contents& expected, int count,
                                  std::uint64_t seed) {
  ASSERT_EQ(reader.size(), expected.size());
  std::mt19937_64 generator(seed);
  Contents to(expected.size() + 100);
  for (int i = 0; i < count; ++i) {
    const std::size_t offset = generator() % (expected.size() + 50);
    const std::size_t most = generator() % 4 == 0 ? to.size() : 20000;
    const std::size_t bytes = generator() % most;
    std::fill(to.begin(), to.end(), std::uint8_t{0xaa});
    const std::size_t left = expected.size() - std::min(expected.size(), offset);
    ASSERT_EQ(reader.read_at(offset, MutableBytes(to).first(bytes)), std::min(left, bytes));
    ASSERT_TRUE(std::equal(to.begin(), to.begin() + static_cast<long>(std::min(left, bytes)),
                           expected.end() - static_cast<long>(left)))
        << offset << " " << bytes;
    ASSERT_EQ(to[bytes], 0xaa);
  }
}

// A read that throws an Error with this code, and leaves nothing but zeros.
Error error_of_read(const Reader& reader, std::uint64_t offset, std::size_t bytes) {
  Contents to(bytes, 0xaa);
  const Error error = error_of([&] { (void)reader.read_at(offset, to); });
  EXPECT_TRUE(is_zero(to));
  return error;
}

TEST(PublicReader, ReadsAnyPlaceOfAnySuiteOnAnyNumberOfThreads) {
  for (const std::size_t key_bytes : {16U, 32U}) {
    const Contents file = sealed(text, for_own(own_key(key_bytes, "ctx")));
    for (const unsigned threads : {1U, 2U, 7U}) {
      for (const std::size_t piece_bytes : {std::size_t{0}, piece, std::size_t{4} << 20}) {
        const Reader reader(store(file), with_own(own_key(key_bytes, "ctx")),
                            {.threads = threads, .piece_bytes = piece_bytes});
        expect_text_at_random_places(reader, text, test::is_sanitized ? 10 : 25, threads);
        EXPECT_TRUE(all_of(reader) == text);
      }
    }
  }
}

TEST(PublicReader, GivesLessOnlyAtTheEnd) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, chunk - 1, chunk, chunk + 1, piece, 2 * piece}) {
    const Contents part(text.begin(), text.begin() + static_cast<long>(bytes));
    const Contents file = sealed(part, for_me());
    const Reader reader(store(file), with_mine(), {.piece_bytes = piece});
    EXPECT_EQ(reader.size(), bytes);
    EXPECT_TRUE(all_of(reader) == part);
    Contents to(100, 0xaa);
    for (const std::uint64_t offset :
         {std::uint64_t{bytes}, std::uint64_t{bytes} + 1, UINT64_MAX - 1, UINT64_MAX}) {
      EXPECT_EQ(reader.read_at(offset, to), 0U);
    }
    EXPECT_EQ(reader.read_at(0, {}), 0U);
    EXPECT_EQ(to, Contents(100, 0xaa));
    if (bytes != 0) {
      EXPECT_EQ(reader.read_at(bytes - 1, to), 1U);
      EXPECT_EQ(to[0], part.back());
      EXPECT_EQ(to[1], 0xaa);
    }
  }
}

TEST(PublicReader, ServesManyThreadsAtATime) {
  const Contents file = sealed(text, for_own());
  const Reader reader(store(file), with_own(), {.threads = 2, .piece_bytes = piece});
  test::on_threads(test::is_sanitized ? 8 : 32, 4, [&](std::size_t i) {
    expect_text_at_random_places(reader, text, test::is_sanitized ? 5 : 20, i);
  });
}

TEST(PublicReader, LargeReadsUseSeveralThreads) {
  const Contents file = sealed(text, for_own());
  std::mutex mutex;
  std::set<std::thread::id> readers;
  const ReadAt inner = reads_of(file);
  const Reader reader(FileSource::callback(
                          [&](std::uint64_t offset, MutableBytes to) {
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                            const std::lock_guard lock(mutex);
                            readers.insert(std::this_thread::get_id());
                            return inner(offset, to);
                          },
                          file.size(), "store"),
                      with_own(), {.threads = 4, .piece_bytes = chunk});
  Contents small(chunk);
  (void)reader.read_at(100 * 4096, MutableBytes(small).first(4096));
  EXPECT_EQ(readers.size(), 1U);  // the caller's alone
  EXPECT_TRUE(all_of(reader) == text);
  EXPECT_EQ(readers.size(), 4U);
}

class OnDisk : public testing::Test {
 protected:
  OnDisk() { write_file(path_, file_); }
  Folder folder_;
  std::string path_ = folder_ / "file.paes";
  Contents file_ = sealed(text, for_own());
};

TEST_F(OnDisk, IsReadByPath) {
  expect_text_at_random_places(Reader(path_, with_own()), text, 20, 1);
  expect_text_at_random_places(Reader(path_.c_str(), with_own()), text, 20, 1);
}

TEST_F(OnDisk, IsReadByADescriptorFromWhereItStands) {
  Contents shifted(1000 + file_.size(), 0x55);
  std::copy(file_.begin(), file_.end(), shifted.begin() + 1000);
  write_file(path_, shifted);
  const int number = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(number, 0);
  EXPECT_EQ(error_of([&] { (void)Reader(FileSource::descriptor(number, "it"), with_own()); }).code,
            ErrorCode::wrong_key);
  ASSERT_EQ(lseek(number, 1000, SEEK_SET), 1000);
  const FileSource source = FileSource::descriptor(number, "it");
  EXPECT_EQ(lseek(number, 0, SEEK_CUR), 1000);
  {
    const Reader reader(source, with_own(), {.piece_bytes = piece});
    ASSERT_EQ(lseek(number, 5, SEEK_SET), 5);
    expect_text_at_random_places(reader, text, 20, 1);
    EXPECT_EQ(lseek(number, 0, SEEK_CUR), 5);  // nobody moved it
  }
  EXPECT_TRUE(all_of(Reader(source, with_own())) == text);
  EXPECT_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);  // still open: it is the caller's
  close(number);
}

TEST_F(OnDisk, ADescriptorThatIsNoneOrClosedIsAnError) {
  const Error none = error_of([] { (void)FileSource::descriptor(-1, "it"); });
  EXPECT_EQ(none.code, ErrorCode::failure);
  EXPECT_EQ(std::string(none.what()).rfind("it: ", 0), 0U);
  const int number = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const Reader reader(FileSource::descriptor(number, "it"), with_own(), {.piece_bytes = piece});
  close(number);
  EXPECT_EQ(error_of_read(reader, 5, 100).code, ErrorCode::failure);
  EXPECT_EQ(error_of_read(reader, 0, text.size()).code, ErrorCode::failure);
  const int write_only = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(
      error_of([&] { (void)Reader(FileSource::descriptor(write_only, "it"), with_own()); }).code,
      ErrorCode::failure);
  close(write_only);
}

TEST_F(OnDisk, AReaderKeepsItsFileOverARenameAndItsCallersHandles) {
  std::optional<Reader> reader;
  {
    const FileSource source(path_);
    reader.emplace(source, with_own(), FileOptions{.piece_bytes = piece});
  }
  std::filesystem::rename(path_, folder_ / "other");
  write_file(path_, Contents{1, 2, 3});
  Reader moved = std::move(*reader);
  reader.reset();
  EXPECT_TRUE(all_of(moved) == text);
  Reader another(FileSource(folder_ / "other"), with_own());
  another = std::move(moved);
  EXPECT_TRUE(all_of(another) == text);
}

TEST_F(OnDisk, WhatChangesMeanwhileIsRightOrAnError) {
  const Reader reader(path_, with_own(), {.piece_bytes = piece});
  {
    const int number = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    const std::uint8_t other = file_[200] ^ 1;
    ASSERT_EQ(pwrite(number, &other, 1, 200), 1);  // in chunk 0
    close(number);
  }
  const Error damaged = error_of_read(reader, 5, 10);
  EXPECT_EQ(damaged.code, ErrorCode::corrupt);
  EXPECT_NE(std::string(damaged.what()).find("chunk 0"), std::string::npos) << damaged.what();
  EXPECT_EQ(error_of_read(reader, 0, text.size()).code, ErrorCode::corrupt);
  Contents to(10);
  EXPECT_EQ(reader.read_at(chunk, to), 10U);  // another chunk is right as before
  EXPECT_TRUE(std::equal(to.begin(), to.end(), text.begin() + chunk));
  // Longer: what was authenticated when it was opened stays the text.
  std::filesystem::resize_file(path_, file_.size() + 5000);
  EXPECT_EQ(reader.size(), text.size());
  EXPECT_EQ(reader.read_at(text.size() - 10, to), 10U);
  // Shorter.
  std::filesystem::resize_file(path_, file_.size() / 2);
  EXPECT_EQ(error_of_read(reader, text.size() - 10, 10).code, ErrorCode::failure);
  // One thread finds the damage, another the end; either may be first.
  const ErrorCode first = error_of_read(reader, 0, text.size()).code;
  EXPECT_TRUE(first == ErrorCode::corrupt || first == ErrorCode::failure);
}

TEST_F(OnDisk, AFailedReadLeavesZerosBeyondTheEndAsWell) {
  const Reader reader(path_, with_own());
  file_[file_.size() - 20] ^= 1;
  const int number = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(pwrite(number, file_.data(), file_.size(), 0), static_cast<ssize_t>(file_.size()));
  close(number);
  EXPECT_EQ(error_of_read(reader, text.size() - 10, 100).code, ErrorCode::corrupt);
}

TEST_F(OnDisk, PipesAndEmptyFilesAreRefusedInOneLine) {
  write_file(folder_ / "empty", {});
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto check = [](const FileSource& source, const std::string& name) {
    const Error error = error_of([&] { (void)Reader(source, with_own()); });
    EXPECT_EQ(error.code, ErrorCode::usage);
    EXPECT_EQ(std::string(error.what()), name + ": is empty or a pipe, which has no places");
    EXPECT_EQ(error_of([&] { (void)inspect_file(source); }).code, ErrorCode::usage);
  };
  check(folder_ / "empty", folder_ / "empty");
  check(FileSource::descriptor(ends[0], "pipe"), "pipe");
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(error_of([&] { (void)Reader(folder_.path(), with_own()); }).code, ErrorCode::failure);
  const Error missing = error_of([&] { (void)Reader(folder_ / "none", with_own()); });
  EXPECT_EQ(missing.code, ErrorCode::failure);
  EXPECT_EQ(std::string(missing.what()).rfind(folder_ / "none", 0), 0U);
}

struct NotAnError {
  int number;
};

TEST(PublicReaderCallback, ItsOwnExceptionPassesThroughFromEachCall) {
  const Contents file = sealed(text, for_me());
  for (const unsigned threads : {1U, 3U}) {
    for (int fails_at = 1;; ++fails_at) {
      std::atomic<int> calls{0};
      const ReadAt inner = reads_of(file);
      const ReadAt failing = [&](std::uint64_t offset, MutableBytes to) {
        if (++calls == fails_at) {
          throw NotAnError{42};
        }
        return inner(offset, to);
      };
      Contents to(text.size(), 0xaa);
      bool is_open = false;
      try {
        const Reader reader(FileSource::callback(failing, file.size(), "store"), with_mine(),
                            {.threads = threads, .piece_bytes = piece});
        is_open = true;
        (void)reader.read_at(0, to);
        ASSERT_TRUE(to == text);
        ASSERT_GT(fails_at, 4);
        break;
      } catch (const NotAnError& error) {
        EXPECT_EQ(error.number, 42);
        EXPECT_TRUE(!is_open || is_zero(to));
      }
    }
  }
}

TEST(PublicReaderCallback, NothingAndTooMuchAreErrors) {
  const Contents file = sealed(text, for_own());
  for (const bool too_much : {false, true}) {
    std::atomic<bool> misbehaves{false};
    const ReadAt inner = reads_of(file);
    const Reader reader(FileSource::callback(
                            [&](std::uint64_t offset, MutableBytes to) -> std::size_t {
                              if (misbehaves) {
                                return too_much ? to.size() + 1 : 0;
                              }
                              return inner(offset, to);
                            },
                            file.size(), "store"),
                        with_own(), {.piece_bytes = piece});
    misbehaves = true;
    for (const std::size_t bytes : {std::size_t{10}, text.size()}) {
      const Error error = error_of_read(reader, 3 * chunk, bytes);
      EXPECT_EQ(error.code, ErrorCode::failure);
      EXPECT_EQ(
          std::string(error.what())
              .rfind(too_much ? "store: the callback says that it read more" : "store: ended early",
                     0),
          0U)
          << error.what();
    }
  }
}

TEST(PublicReaderCallback, AWrongLengthNeverOpens) {
  const Contents file = sealed(text, for_own());
  Contents longer = file;
  longer.resize(file.size() + 2 * chunk);
  for (const std::uint64_t said :
       {file.size() - 1, file.size() - 16, file.size() - chunk, file.size() + 1,
        file.size() + chunk, std::size_t{0}, std::size_t{10}, std::size_t{56}, std::size_t{72}}) {
    const Error error = error_of(
        [&] { (void)Reader(FileSource::callback(reads_of(longer), said, "store"), with_own()); });
    EXPECT_EQ(error.code, ErrorCode::corrupt) << said << " " << error.what();
  }
  // A length that no file can have costs neither memory nor a wrong answer.
  for (const std::uint64_t said : {UINT64_MAX, UINT64_MAX / 2}) {
    const ReadAt zeros = [](std::uint64_t, MutableBytes to) {
      std::fill(to.begin(), to.end(), std::uint8_t{0});
      return to.size();
    };
    for (const OpenWith& with : {with_own(), with_mine()}) {
      const Error error =
          error_of([&] { (void)Reader(FileSource::callback(zeros, said, "store"), with); });
      EXPECT_EQ(error.code, ErrorCode::corrupt) << error.what();
    }
  }
}

TEST(PublicReaderCallback, ANullOneIsRefused) {
  EXPECT_EQ(error_of([] { (void)FileSource::callback(nullptr, 100, "store"); }).code,
            ErrorCode::usage);
}

// Small: all of it can be damaged.
TEST(PublicReaderDamage, NoDamagedFileGivesWrongBytes) {
  const Contents small = random_buffer(chunk + 30, 4);
  for (const bool has_envelope : {false, true}) {
    const Contents file = sealed(small, has_envelope ? for_me() : for_own());
    const OpenWith with = has_envelope ? with_mine() : with_own();
    std::size_t errors = 0;
    const auto check = [&](const Contents& damaged, const std::string& what) {
      Contents to(small.size(), 0xaa);
      bool is_open = false;
      try {
        const Reader reader(store(damaged), with, {.threads = 1});
        is_open = true;
        ASSERT_EQ(reader.read_at(0, to), small.size()) << what;
        ASSERT_TRUE(to == small) << what;
      } catch (const Error& error) {
        ++errors;
        EXPECT_TRUE(error.code == ErrorCode::corrupt || error.code == ErrorCode::wrong_key)
            << what << ": " << error.what();
        EXPECT_TRUE(!is_open || is_zero(to)) << what;
      }
    };
    const std::size_t step = test::is_sanitized ? 397 : 41;
    // Header, envelope, the beginning of a payload, and the end.
    const auto is_dense = [&](std::size_t at) {
      return at < 500 || (at > 4030 && at < 4130) || at + 60 > file.size();
    };
    for (std::size_t at = 0; at < file.size(); at += is_dense(at) ? 1 : step) {
      Contents damaged = file;
      damaged[at] ^= static_cast<std::uint8_t>(1U << (at % 8));
      check(damaged, "byte " + std::to_string(at));
    }
    EXPECT_GT(errors, 500U);
    for (std::size_t bytes = 0; bytes < file.size(); bytes += bytes < 80 ? 1 : 301) {
      errors = 0;
      check(Contents(file.begin(), file.begin() + static_cast<long>(bytes)),
            "cut to " + std::to_string(bytes));
      EXPECT_EQ(errors, 1U) << bytes;
      errors = 0;
      Contents longer = file;
      longer.resize(file.size() + bytes + 1);
      check(longer, "longer by " + std::to_string(bytes + 1));
      EXPECT_EQ(errors, 1U) << bytes;
    }
  }
}

TEST(PublicReaderDamage, ExchangedChunksAreErrors) {
  Contents file = sealed(text, for_own());
  const auto at = [&](std::size_t number) {
    return file.begin() + static_cast<long>(cobblestone::chunking.chunk_offset(number));
  };
  std::swap_ranges(at(1), at(2), at(2));
  const Reader reader(store(file), with_own());
  EXPECT_EQ(error_of_read(reader, chunk, 1).code, ErrorCode::corrupt);
  EXPECT_EQ(error_of_read(reader, 2 * chunk, 1).code, ErrorCode::corrupt);
  Contents to(1);
  EXPECT_EQ(reader.read_at(3 * chunk, to), 1U);
}

TEST(PublicReaderKeys, OtherKeysDoNotOpen) {
  const Contents small = random_buffer(100);
  const Contents own = sealed(small, for_own(own_key(32, "context")));
  for (const CobblestoneKey& key :
       {own_key(32, "contexT"), own_key(32, ""), own_key(32, "context2"),
        own_key(32, "context", 78), own_key(16, "context")}) {
    const Error error = error_of([&] { (void)Reader(store(own), with_own(key)); });
    EXPECT_EQ(error.code, ErrorCode::wrong_key) << error.what();
  }
  EXPECT_EQ(error_of([&] { (void)Reader(store(own), with_mine()); }).code, ErrorCode::corrupt);
  const Contents mine = sealed(small, for_me());
  const Error other =
      error_of([&] { (void)Reader(store(mine), {.identities = {Identity::generate()}}); });
  EXPECT_EQ(other.code, ErrorCode::wrong_key);
  EXPECT_EQ(error_of([&] { (void)Reader(store(mine), with_own()); }).code, ErrorCode::wrong_key);
  EXPECT_TRUE(all_of(Reader(store(mine), {.identities = {Identity::generate(), my_identity()}})) ==
              small);
  EXPECT_EQ(error_of([&] { (void)Reader(store(mine), {}); }).code, ErrorCode::usage);
  EXPECT_EQ(error_of([&] {
              (void)Reader(store(mine), {.identities = {my_identity()}, .key = own_key()});
            }).code,
            ErrorCode::usage);
}

TEST(PublicReaderOptions, AreChecked) {
  const Contents file = sealed(text, for_own());
  EXPECT_EQ(error_of([&] { (void)Reader(store(file), with_own(), {.kernel = "none"}); }).code,
            ErrorCode::usage);
  const Error piece_error = error_of(
      [&] { (void)Reader(store(file), with_own(), {.piece_bytes = (std::size_t{4} << 20) + 1}); });
  EXPECT_EQ(piece_error.code, ErrorCode::usage);
  EXPECT_EQ(std::string(piece_error.what()).rfind("piece_bytes: ", 0), 0U) << piece_error.what();
  for (const char* kernel : {"auto", "openssl"}) {
    EXPECT_TRUE(all_of(Reader(store(file), with_own(), {.kernel = kernel})) == text);
  }
  const Error many =
      error_of([&] { (void)Reader(store(file), with_own(), {.threads = UINT32_MAX}); });
  EXPECT_EQ(many.code, ErrorCode::usage);
  EXPECT_TRUE(all_of(Reader(store(file), with_own(), {.threads = 100, .piece_bytes = 0})) == text);
}

TEST(PublicReaderOptions, ACancelStopsEveryLaterRead) {
  const Contents file = sealed(text, for_own());
  Cancel cancel;
  const Reader reader(store(file), with_own(), {.piece_bytes = piece, .cancel = &cancel});
  EXPECT_TRUE(all_of(reader) == text);
  cancel.request();
  EXPECT_EQ(error_of_read(reader, 0, 10).code, ErrorCode::failure);
  EXPECT_EQ(error_of_read(reader, 0, text.size()).code, ErrorCode::failure);
}

TEST(PublicReaderOptions, ADeviceGivesTheSameText) {
  const auto runtime = std::make_shared<cuda::EmulatedRuntime>();
  {
    const std::shared_ptr<Device> device =
        cuda::make_device(runtime, {.slots = 2, .piece_bytes = piece});
    Contents file = sealed(text, for_own());
    const FileOptions options = {.threads = 2, .device = device, .piece_bytes = piece};
    {
      const Reader reader(store(file), with_own(), options);
      expect_text_at_random_places(reader, text, 5, 1);
      EXPECT_TRUE(all_of(reader) == text);
      file[5 * chunk] ^= 1;
      EXPECT_EQ(error_of_read(reader, 0, text.size()).code, ErrorCode::corrupt);
    }
    EXPECT_NE(runtime->launches()[0], 0U);
  }
  EXPECT_EQ(runtime->complaints(), std::vector<std::string>());
}

// Objects that have been moved from are destroyed and assigned to.
TEST(PublicReader, CanBeMoved) {
  const Contents file = sealed(text, for_own());
  Reader first(store(file), with_own());
  Reader second = std::move(first);
  EXPECT_TRUE(all_of(second) == text);
  first = std::move(second);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(all_of(first) == text);
}

// Threads do not survive a fork.
TEST(PublicReaderFork, AChildReadsOnSeveralThreadsToo) {
  if (test::is_sanitized) {
    GTEST_SKIP() << "a sanitizer's run-time library does not take threads in a forked child";
  }
  const Contents file = sealed(text, for_own());
  const Reader reader(store(file), with_own(), {.threads = 4, .piece_bytes = chunk});
  EXPECT_TRUE(all_of(reader) == text);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a child that hangs dies by a signal
    const bool is_right = all_of(reader) == text && all_of(reader) == text;
    bool is_right_elsewhere = false;
    std::thread([&] { is_right_elsewhere = all_of(reader) == text; }).join();
    _exit(is_right && is_right_elsewhere ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(all_of(reader) == text);
}

}  // namespace
}  // namespace paes
